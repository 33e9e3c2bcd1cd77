//! The constants and constructors of the shell.

use bson::Bson;

use super::convert;
use super::error::Problem;

/// A constructor, with or without `new`.
pub(super) struct Call {
    name: &'static str,
    wants: &'static str,
    convert: fn(&[Bson]) -> Option<Bson>,
}

/// The value of a word that needs no parentheses.
pub(super) fn constant(word: &str) -> Option<Bson> {
    Some(match word {
        "true" => Bson::Boolean(true),
        "false" => Bson::Boolean(false),
        "null" => Bson::Null,
        "undefined" => Bson::Undefined,
        "NaN" => Bson::Double(f64::NAN),
        "Infinity" => Bson::Double(f64::INFINITY),
        "MinKey" => Bson::MinKey,
        "MaxKey" => Bson::MaxKey,
        _ => return None,
    })
}

/// The constructor of that name.
pub(super) fn find(name: &str) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.name == name)
}

impl Call {
    const fn new(
        name: &'static str,
        wants: &'static str,
        convert: fn(&[Bson]) -> Option<Bson>,
    ) -> Self {
        Self { name, wants, convert }
    }

    pub(super) fn apply(&self, arguments: &[Bson]) -> Result<Bson, Problem> {
        let problem = || Problem::BadContent { name: self.name, wants: self.wants };
        (self.convert)(arguments).ok_or_else(problem)
    }
}

/// None of them may depend on the moment: `ObjectId()` and `new Date()` are refused, because a
/// text that means something else every time cannot be cached or shared.
static CALLS: [Call; 19] = [
    Call::new("ObjectId", "24 hex digits as text", convert::object_id),
    Call::new("ISODate", "an ISO 8601 date such as \"2019-09-12T13:42:49.26Z\"", convert::date),
    Call::new("Date", "milliseconds or an ISO 8601 date as text", convert::date),
    Call::new("NumberLong", "a 64-bit integer", convert::int64),
    Call::new("Long", "a 64-bit integer", convert::int64),
    Call::new("NumberInt", "a 32-bit integer", convert::int32),
    Call::new("Int32", "a 32-bit integer", convert::int32),
    Call::new("Double", "a number", convert::double),
    Call::new("NumberDecimal", "a number of at most 34 digits", convert::decimal128),
    Call::new("Decimal128", "a number of at most 34 digits", convert::decimal128),
    Call::new("UUID", "a UUID as text", convert::uuid),
    Call::new("BinData", "a subtype from 0 to 255 and base64 text", convert::bin_data),
    Call::new("Timestamp", "two unsigned 32-bit integers", convert::timestamp),
    Call::new("RegExp", "a pattern and options, without NUL", convert::regular_expression),
    Call::new("DBPointer", "a namespace and an ObjectId", convert::db_pointer),
    Call::new("Symbol", "a string", convert::symbol),
    Call::new("Code", "a string and optionally a scope document", convert::code),
    Call::new("MinKey", "no arguments", convert::min_key),
    Call::new("MaxKey", "no arguments", convert::max_key),
];
