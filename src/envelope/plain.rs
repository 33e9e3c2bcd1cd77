//! A document as plain JSON: what an application expects that has never heard of BSON.
//!
//! | BSON | JSON |
//! |---|---|
//! | string, symbol, code | string |
//! | int32, int64, double | number; a double always has a point or an exponent. `NaN` and the infinities are strings |
//! | decimal128 | string, digit for digit |
//! | boolean, null | as they are; undefined is null |
//! | ObjectId | string of 24 hexadecimal digits |
//! | date | string, RFC 3339 with milliseconds in UTC; outside the years 0 to 9999 the number of milliseconds |
//! | timestamp | string, RFC 3339 of its seconds |
//! | UUID (binary subtype 4) | string with hyphens |
//! | other binary | string, base64 |
//! | regular expression | string, `/pattern/options` |
//! | DBPointer | string, the ObjectId |
//! | MinKey, MaxKey | string, `MinKey`, `MaxKey` |
//!
//! Types are not told apart in the result; who needs them takes the stream of the collection.

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{
    DateTime, RawArray, RawDocument, Timestamp, Uuid,
    raw::{RawBinaryRef, RawBsonRef, RawElement},
    spec::BinarySubtype,
};

use super::rfc3339;

/// How deep documents and arrays may nest. MongoDB stores fewer.
pub const MAX_DEPTH: usize = 200;

/// Why a document has no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlainError {
    /// Lengths or types contradict the format.
    #[error("it is not BSON")]
    Malformed,
    /// More than [`MAX_DEPTH`] levels.
    #[error("it nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Appends a document as one line of JSON. Strings that are not UTF-8 are written with U+FFFD.
///
/// # Errors
/// It cannot be read; `out` then holds a part of it.
pub fn write_document(document: &RawDocument, out: &mut Vec<u8>) -> Result<(), PlainError> {
    document_within(document, MAX_DEPTH, out)
}

/// A value that can stand as text in a key: what [`write_document`] would write, without the quotes
/// of a string. `None`: it cannot be read.
pub fn text(value: RawBsonRef<'_>) -> Option<String> {
    if let Some(text) = scalar_text(value) {
        return Some(text);
    }
    let mut out = Vec::new();
    write_value(value, MAX_DEPTH, &mut out).ok()?;
    String::from_utf8(out).ok()
}

/// Appends text as a JSON string.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// What is written as a string, without quotes.
pub fn scalar_text(value: RawBsonRef<'_>) -> Option<String> {
    Some(match value {
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) | RawBsonRef::JavaScriptCode(text) => {
            text.to_owned()
        }
        RawBsonRef::JavaScriptCodeWithScope(code) => code.code.to_owned(),
        RawBsonRef::ObjectId(id) => id.to_hex(),
        RawBsonRef::DateTime(time) => rfc3339(time)?,
        RawBsonRef::Timestamp(timestamp) => rfc3339(seconds(timestamp))?,
        RawBsonRef::Decimal128(decimal) => decimal.to_string(),
        RawBsonRef::Binary(binary) => binary_text(binary),
        RawBsonRef::RegularExpression(regex) => {
            format!("/{}/{}", regex.pattern.as_str(), regex.options.as_str())
        }
        RawBsonRef::Double(number) if !number.is_finite() => non_finite(number).to_owned(),
        RawBsonRef::MinKey => "MinKey".to_owned(),
        RawBsonRef::MaxKey => "MaxKey".to_owned(),
        _ => return None,
    })
}

fn document_within(
    document: &RawDocument,
    levels: usize,
    out: &mut Vec<u8>,
) -> Result<(), PlainError> {
    let levels = levels.checked_sub(1).ok_or(PlainError::TooDeep)?;
    let mut separator: &[u8] = b"{";
    for element in document.iter_elements() {
        let element = element.map_err(|_| PlainError::Malformed)?;
        out.extend_from_slice(separator);
        write_text(element.key().as_str(), out);
        out.push(b':');
        write_element(&element, levels, out)?;
        separator = b",";
    }
    out.extend_from_slice(if separator == b"{" { b"{}" } else { b"}" });
    Ok(())
}

fn array_within(array: &RawArray, levels: usize, out: &mut Vec<u8>) -> Result<(), PlainError> {
    let levels = levels.checked_sub(1).ok_or(PlainError::TooDeep)?;
    let elements = RawDocument::from_bytes(array.as_bytes()).map_err(|_| PlainError::Malformed)?;
    let mut separator: &[u8] = b"[";
    for element in elements.iter_elements() {
        out.extend_from_slice(separator);
        write_element(&element.map_err(|_| PlainError::Malformed)?, levels, out)?;
        separator = b",";
    }
    out.extend_from_slice(if separator == b"[" { b"[]" } else { b"]" });
    Ok(())
}

/// A string that is not UTF-8 is repaired; whatever else cannot be read is an error.
fn write_element(
    element: &RawElement<'_>,
    levels: usize,
    out: &mut Vec<u8>,
) -> Result<(), PlainError> {
    match element.value() {
        Ok(value) => write_value(value, levels, out),
        Err(_) => {
            let repaired = element.value_utf8_lossy().map_err(|_| PlainError::Malformed)?;
            write_value(repaired.as_raw_bson_ref(), levels, out)
        }
    }
}

fn write_value(value: RawBsonRef<'_>, levels: usize, out: &mut Vec<u8>) -> Result<(), PlainError> {
    match value {
        RawBsonRef::Document(document) => return document_within(document, levels, out),
        RawBsonRef::Array(array) => return array_within(array, levels, out),
        RawBsonRef::Int32(number) => out.extend_from_slice(number.to_string().as_bytes()),
        RawBsonRef::Int64(number) => out.extend_from_slice(number.to_string().as_bytes()),
        RawBsonRef::Boolean(true) => out.extend_from_slice(b"true"),
        RawBsonRef::Boolean(false) => out.extend_from_slice(b"false"),
        RawBsonRef::Double(number) if number.is_finite() => {
            let _ = serde_json::to_writer(out, &number);
        }
        RawBsonRef::String(text) => write_text(text, out),
        other => match (scalar_text(other), other) {
            (Some(text), _) => write_text(&text, out),
            (None, RawBsonRef::DateTime(time)) => {
                out.extend_from_slice(time.timestamp_millis().to_string().as_bytes());
            }
            (None, _) => out.extend_from_slice(b"null"),
        },
    }
    Ok(())
}

fn binary_text(binary: RawBinaryRef<'_>) -> String {
    match <[u8; 16]>::try_from(binary.bytes) {
        Ok(bytes) if binary.subtype == BinarySubtype::Uuid => Uuid::from_bytes(bytes).to_string(),
        _ => STANDARD.encode(binary.bytes),
    }
}

fn seconds(timestamp: Timestamp) -> DateTime {
    DateTime::from_millis(i64::from(timestamp.time) * 1000)
}

fn non_finite(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}
