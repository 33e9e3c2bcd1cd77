//! The type wrappers of Extended JSON, versions 1 and 2.

use bson::{Bson, Document};

use super::convert;
use super::error::Problem;

/// A document whose key says that it stands for a value of another type.
struct Wrapper {
    name: &'static str,
    /// A second key, which some wrappers have in one of their forms.
    companion: Option<&'static str>,
    wants: &'static str,
    convert: fn(&[Bson]) -> Option<Bson>,
}

/// The value that `document` stands for: itself, unless it has the key of a wrapper.
///
/// No query operator has such a key, so a wrapper that does not fit is a mistake of the sender and
/// an error, never a document to be matched literally.
pub(super) fn interpret(document: Document, legacy_regex: bool) -> Result<Bson, Problem> {
    if !document.keys().any(|key| key.starts_with('$')) {
        return Ok(Bson::Document(document));
    }
    if legacy_regex && let Some(regex) = REGEX.read(&document) {
        return Ok(regex);
    }
    match WRAPPERS.iter().find(|wrapper| document.contains_key(wrapper.name)) {
        Some(wrapper) => wrapper.read(&document).ok_or(wrapper.problem()),
        None => Ok(Bson::Document(document)),
    }
}

impl Wrapper {
    const fn new(
        name: &'static str,
        wants: &'static str,
        convert: fn(&[Bson]) -> Option<Bson>,
    ) -> Self {
        Self { name, companion: None, wants, convert }
    }

    const fn with(self, companion: &'static str) -> Self {
        Self { companion: Some(companion), ..self }
    }

    fn read(&self, document: &Document) -> Option<Bson> {
        let companion = self.companion.and_then(|companion| document.get(companion));
        let values: Vec<Bson> =
            document.get(self.name).into_iter().chain(companion).cloned().collect();
        (values.len() == document.len()).then(|| (self.convert)(&values))?
    }

    fn problem(&self) -> Problem {
        Problem::BadContent { name: self.name, wants: self.wants }
    }
}

/// Not in the table: in a filter these two keys are operators.
const REGEX: Wrapper =
    Wrapper::new("$regex", "two strings", convert::legacy_regex).with("$options");

const WRAPPERS: [Wrapper; 16] = [
    Wrapper::new("$oid", "24 hex digits and no other key", convert::object_id),
    Wrapper::new(
        "$date",
        "milliseconds or an ISO 8601 date such as 2019-09-12T13:42:49.26Z, and no other key",
        convert::date,
    ),
    Wrapper::new("$numberLong", "a 64-bit integer as text and no other key", convert::int64),
    Wrapper::new("$numberInt", "a 32-bit integer as text and no other key", convert::int32),
    Wrapper::new("$numberDouble", "a number as text and no other key", convert::double),
    Wrapper::new(
        "$numberDecimal",
        "a number of at most 34 digits as text and no other key",
        convert::decimal128,
    ),
    Wrapper::new(
        "$binary",
        "{base64, subType} and no other key, or base64 text with $type",
        convert::binary,
    )
    .with("$type"),
    Wrapper::new("$uuid", "a UUID as text and no other key", convert::uuid),
    Wrapper::new(
        "$regularExpression",
        "{pattern, options}, two strings without NUL, and no other key",
        convert::regular_expression,
    ),
    Wrapper::new(
        "$timestamp",
        "{t, i}, two unsigned 32-bit integers, and no other key",
        convert::timestamp,
    ),
    Wrapper::new("$minKey", "1 and no other key", convert::min_key),
    Wrapper::new("$maxKey", "1 and no other key", convert::max_key),
    Wrapper::new("$symbol", "a string and no other key", convert::symbol),
    Wrapper::new("$code", "a string, and no other key but $scope with a document", convert::code)
        .with("$scope"),
    Wrapper::new("$undefined", "true and no other key", convert::undefined),
    Wrapper::new(
        "$dbPointer",
        "{$ref, $id}, a string and an ObjectId, and no other key",
        convert::db_pointer,
    ),
];
