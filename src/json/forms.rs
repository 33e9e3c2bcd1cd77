//! What each scalar type looks like in each [`JsonMode`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bson::Decimal128;

use super::date;
use super::mode::JsonMode::{Default, Extended, Relaxed, Shell, Strict};
use super::number::{non_finite, write_display, write_double};
use super::regex_literal::write_regex_literal;
use super::text::{write_hex, write_text};
use super::walk::RawValue;
use super::writer::Writer;

impl Writer<'_> {
    /// Writes anything but documents, arrays and code with scope, which nest.
    pub(super) fn scalar(&mut self, value: &RawValue<'_>) {
        match *value {
            RawValue::Text(text) => write_text(text, self.out),
            RawValue::Int32(number) => self.int32(number),
            RawValue::Int64(number) => self.int64(number),
            RawValue::Double(number) => self.double(number),
            RawValue::Decimal128(bytes) => self.decimal128(*bytes),
            RawValue::Boolean(yes) => self.raw(if yes { "true" } else { "false" }),
            RawValue::Null => self.raw("null"),
            RawValue::ObjectId(id) => self.object_id(id),
            RawValue::DateTime(millis) => self.date(millis),
            RawValue::Timestamp { time, increment } => self.timestamp(time, increment),
            RawValue::Binary { subtype, data } => self.binary(subtype, data),
            RawValue::Regex { pattern, options } => self.regex(pattern, options),
            RawValue::Code(code) => self.wrapped_text("$code", code),
            RawValue::Symbol(symbol) => self.wrapped_text("$symbol", symbol),
            RawValue::DbPointer { namespace, id } => self.db_pointer(namespace, id),
            RawValue::Undefined => self.constant("undefined", "{\"$undefined\": true}"),
            RawValue::MinKey => self.constant("MinKey", "{\"$minKey\": 1}"),
            RawValue::MaxKey => self.constant("MaxKey", "{\"$maxKey\": 1}"),
            RawValue::Document(_) | RawValue::Array(_) | RawValue::CodeWithScope { .. } => {}
        }
    }

    fn int32(&mut self, number: i32) {
        match self.mode {
            Extended => self.wrapped("$numberInt", number),
            _ => write_display(number, self.out),
        }
    }

    fn int64(&mut self, number: i64) {
        match self.mode {
            Default | Relaxed => write_display(number, self.out),
            Strict | Extended => self.wrapped("$numberLong", number),
            // The shell's numbers are doubles: beyond 32 bits only text is exact.
            Shell if i32::try_from(number).is_ok() => {
                write_display(format_args!("NumberLong({number})"), self.out);
            }
            Shell => write_display(format_args!("NumberLong(\"{number}\")"), self.out),
        }
    }

    fn double(&mut self, number: f64) {
        match self.mode {
            Shell if !number.is_finite() => self.raw(non_finite(number)),
            _ if !number.is_finite() => self.wrapped("$numberDouble", non_finite(number)),
            Extended => {
                self.raw("{\"$numberDouble\": \"");
                write_double(number, self.out);
                self.raw("\"}");
            }
            _ => write_double(number, self.out),
        }
    }

    fn decimal128(&mut self, bytes: [u8; 16]) {
        let decimal = Decimal128::from_bytes(bytes);
        match self.mode {
            Shell => write_display(format_args!("NumberDecimal(\"{decimal}\")"), self.out),
            _ => self.wrapped("$numberDecimal", decimal),
        }
    }

    fn object_id(&mut self, id: &[u8; 12]) {
        let (open, close) = match self.mode {
            Shell => ("ObjectId(\"", "\")"),
            _ => ("{\"$oid\": \"", "\"}"),
        };
        self.raw(open);
        write_hex(id, self.out);
        self.raw(close);
    }

    fn date(&mut self, millis: i64) {
        match self.mode {
            Default | Strict => write_display(format_args!("{{\"$date\": {millis}}}"), self.out),
            Extended => self.canonical_date(millis),
            Relaxed => match date::iso(millis).filter(|_| millis >= 0) {
                Some(iso) => self.wrapped("$date", iso),
                None => self.canonical_date(millis),
            },
            Shell => match date::iso_with_millis(millis) {
                Some(iso) => write_display(format_args!("ISODate(\"{iso}\")"), self.out),
                None => write_display(format_args!("new Date({millis})"), self.out),
            },
        }
    }

    fn canonical_date(&mut self, millis: i64) {
        self.raw("{\"$date\": ");
        self.wrapped("$numberLong", millis);
        self.raw("}");
    }

    fn timestamp(&mut self, time: u32, increment: u32) {
        match self.mode {
            Shell => write_display(format_args!("Timestamp({time}, {increment})"), self.out),
            _ => write_display(
                format_args!("{{\"$timestamp\": {{\"t\": {time}, \"i\": {increment}}}}}"),
                self.out,
            ),
        }
    }

    fn binary(&mut self, subtype: u8, data: &[u8]) {
        let data = STANDARD.encode(data);
        match self.mode {
            Shell => write_display(format_args!("new BinData({subtype}, \"{data}\")"), self.out),
            Strict => write_display(
                format_args!("{{\"$binary\": \"{data}\", \"$type\": \"{subtype:02X}\"}}"),
                self.out,
            ),
            _ => write_display(
                format_args!(
                    "{{\"$binary\": {{\"base64\": \"{data}\", \"subType\": \"{subtype:02X}\"}}}}"
                ),
                self.out,
            ),
        }
    }

    fn regex(&mut self, pattern: &[u8], options: &[u8]) {
        let (open, between, close) = match self.mode {
            Shell => return write_regex_literal(pattern, options, self.out),
            Strict => ("{\"$regex\": ", ", \"$options\": ", "}"),
            _ => ("{\"$regularExpression\": {\"pattern\": ", ", \"options\": ", "}}"),
        };
        self.raw(open);
        write_text(pattern, self.out);
        self.raw(between);
        write_text(options, self.out);
        self.raw(close);
    }

    /// The legacy strict form is the one of a DBRef.
    fn db_pointer(&mut self, namespace: &[u8], id: &[u8; 12]) {
        let (open, between, close) = match self.mode {
            Shell => ("DBPointer(", ", ", ")"),
            Strict => ("{\"$ref\": ", ", \"$id\": ", "}"),
            _ => ("{\"$dbPointer\": {\"$ref\": ", ", \"$id\": ", "}}"),
        };
        self.raw(open);
        write_text(namespace, self.out);
        self.raw(between);
        self.object_id(id);
        self.raw(close);
    }

    fn constant(&mut self, shell: &str, json: &str) {
        self.raw(if self.mode == Shell { shell } else { json });
    }

    fn wrapped_text(&mut self, name: &str, text: &[u8]) {
        write_display(format_args!("{{\"{name}\": "), self.out);
        write_text(text, self.out);
        self.raw("}");
    }

    /// For text that needs no escape.
    fn wrapped(&mut self, name: &str, text: impl std::fmt::Display) {
        write_display(format_args!("{{\"{name}\": \"{text}\"}}"), self.out);
    }
}
