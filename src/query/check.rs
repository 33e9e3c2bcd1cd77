//! A document whose every byte has been read once.

use bson::RawDocument;

use super::error::MatchError;
use super::raw::{Body, Field, Raw, text};
use super::value::Value;

/// MongoDB stores 200 levels (its own limit) and an event adds a few.
const MAX_DEPTH: usize = 220;

/// A well-formed document, with its `fullDocument` already found.
///
/// Checked once per event, however many filters then look at it: so whether a document is refused
/// does not depend on which fields a filter happens to visit, and a walk to `fullDocument` is paid
/// once.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    body: Body<'a>,
    full_document: Option<Raw<'a>>,
}

impl<'a> Checked<'a> {
    /// Reads the whole document: lengths, types, bools, and the UTF-8 of every name and string.
    ///
    /// # Errors
    /// [`MatchError::Malformed`] or [`MatchError::TooDeep`]; the document must not be delivered.
    pub fn new(document: &'a RawDocument) -> Result<Self, MatchError> {
        let body = Body::new(document.as_bytes())?;
        let mut full_document = None;
        for field in body.fields() {
            let field = field?;
            check_field(&field, 1)?;
            if field.name == FULL_DOCUMENT.as_bytes() && full_document.is_none() {
                full_document = Some(field.raw);
            }
        }
        Ok(Self { body, full_document })
    }

    pub(crate) fn body(&self) -> Body<'a> {
        self.body
    }

    pub(crate) fn full_document(&self) -> Option<Raw<'a>> {
        self.full_document
    }
}

/// The field of a change event that holds the changed document.
pub(crate) const FULL_DOCUMENT: &str = "fullDocument";

pub(crate) fn check_depth(depth: usize) -> Result<(), MatchError> {
    if depth > MAX_DEPTH {
        return Err(MatchError::TooDeep { limit: MAX_DEPTH });
    }
    Ok(())
}

/// Reads one value to its end; `depth` counts the documents around it.
pub(crate) fn check_value(raw: Raw<'_>, depth: usize) -> Result<(), MatchError> {
    match raw.value()? {
        Value::Object(body) | Value::Array(body) => check_body(body, depth + 1),
        Value::Text(bytes) | Value::Code(bytes) | Value::DbPointer(bytes, _) => {
            text(bytes).map(drop)
        }
        Value::Regex(pattern, options) => text(pattern).and(text(options)).map(drop),
        Value::CodeWithScope(code, scope) => text(code).and(check_body(scope, depth + 1)),
        _ => Ok(()),
    }
}

fn check_body(body: Body<'_>, depth: usize) -> Result<(), MatchError> {
    check_depth(depth)?;
    body.fields().try_for_each(|field| check_field(&field?, depth))
}

fn check_field(field: &Field<'_>, depth: usize) -> Result<(), MatchError> {
    field.name()?;
    check_value(field.raw, depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawDocumentBuf, rawdoc};

    fn check(bytes: Vec<u8>, well_formed: bool) {
        let document = RawDocumentBuf::from_bytes(bytes).unwrap();
        assert_eq!(Checked::new(&document).is_ok(), well_formed, "{document:?}");
    }

    #[test]
    fn refuses_malformed_values_anywhere() {
        check(
            rawdoc! { "a": [1, "x", { "b": null }], "c": bson::DateTime::MIN }.into_bytes(),
            true,
        );
        check(b"\x0e\0\0\0\x02a\0\x02\0\0\0\xff\0\0".to_vec(), false);
        check(b"\x0e\0\0\0\x02a\0\x02\0\0\0xy\0".to_vec(), false);
        check(b"\x09\0\0\0\x08a\0\x02\0".to_vec(), false);
        check(b"\x11\0\0\0\x03a\0\x09\0\0\0\x08b\0\x02\0\0".to_vec(), false);
        check(b"\x0d\0\0\0\x03a\0\x05\0\0\0\x01\0".to_vec(), false);
    }

    #[test]
    fn bounds_nesting() {
        let nested = |levels| (0..levels).fold(rawdoc! {}, |inner, _| rawdoc! { "a": inner });
        check(nested(MAX_DEPTH - 1).into_bytes(), true);
        check(nested(MAX_DEPTH + 1).into_bytes(), false);
        check(nested(20_000).into_bytes(), false);
    }

    #[test]
    fn finds_the_first_full_document() {
        let document = rawdoc! { "ns": {}, "fullDocument": { "a": 1 } };
        assert!(Checked::new(&document).unwrap().full_document().is_some());
        assert!(
            Checked::new(&rawdoc! { "a": { "fullDocument": 1 } })
                .unwrap()
                .full_document()
                .is_none()
        );
    }
}
