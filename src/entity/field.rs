//! A field of a document, by its path.

use std::fmt;

use bson::{RawDocument, raw::RawBsonRef};

use crate::{envelope::plain, query::Path};

/// A dotted path through documents inside documents. Lists on the way end it: whose of many would
/// be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field(Vec<String>);

/// A path that names no field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a field; write its name, or a path such as `owner.tenant`")]
pub struct FieldError(String);

const MAX_BYTES: usize = 512;

impl Field {
    /// Reads a path. Its parts are not empty, not numbers, and hold no `$`, `:` or control
    /// character.
    ///
    /// # Errors
    /// It is not such a path.
    pub fn parse(path: &str) -> Result<Self, FieldError> {
        let refused = || FieldError(path.chars().take(64).flat_map(char::escape_debug).collect());
        let names: Vec<_> = path.split('.').map(str::to_owned).collect();
        let usable = path.len() <= MAX_BYTES
            && Path::parse(path).is_ok()
            && names.iter().all(|name| is_name(name));
        if usable { Ok(Self(names)) } else { Err(refused()) }
    }

    /// The value in a document.
    pub fn value<'a>(&self, document: &'a RawDocument) -> Option<RawBsonRef<'a>> {
        let (last, outer) = self.0.split_last()?;
        let holder =
            outer.iter().try_fold(document, |inner, name| inner.get_document(name).ok())?;
        holder.get(last).ok().flatten()
    }

    /// The value as the name of somebody: a string that is not empty, an ObjectId, a whole number or a
    /// UUID. Anything else names nobody.
    pub fn name(&self, document: &RawDocument) -> Option<String> {
        match self.value(document)? {
            RawBsonRef::Int32(number) => Some(number.to_string()),
            RawBsonRef::Int64(number) => Some(number.to_string()),
            RawBsonRef::Double(number) if is_whole(number) => Some(format!("{number}")),
            value @ (RawBsonRef::String(_) | RawBsonRef::ObjectId(_)) => plain::scalar_text(value),
            value @ RawBsonRef::Binary(binary)
                if binary.subtype == bson::spec::BinarySubtype::Uuid
                    && binary.bytes.len() == 16 =>
            {
                plain::scalar_text(value)
            }
            _ => None,
        }
        .filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Whether a number stands for one integer: a shell stores what is typed as an integer as a double.
fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0
}

fn is_name(name: &str) -> bool {
    let refused = |c: char| "$:".contains(c) || c.is_control();
    !name.is_empty() && !name.contains(refused) && !name.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use bson::{Uuid, oid::ObjectId, rawdoc};

    use super::*;

    #[test]
    fn a_field_names_somebody_only_when_it_can() {
        let id = ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap();
        let uuid = bson::Binary::from_uuid(Uuid::from_bytes([1; 16]));
        for (document, expected) in [
            (rawdoc! { "o": { "t": "acme" } }, Some("acme")),
            (rawdoc! { "o": { "t": id } }, Some("5f9d88b9a9f8e8b0c0a1b2c3")),
            (rawdoc! { "o": { "t": 42 } }, Some("42")),
            (rawdoc! { "o": { "t": -7_i64 } }, Some("-7")),
            (rawdoc! { "o": { "t": 42.0 } }, Some("42")),
            (rawdoc! { "o": { "t": f64::INFINITY } }, None),
            (rawdoc! { "o": { "t": f64::NAN } }, None),
            (rawdoc! { "o": { "t": 1e300 } }, None),
            (rawdoc! { "o": { "t": uuid } }, Some("01010101-0101-0101-0101-010101010101")),
            (rawdoc! { "o": { "t": "" } }, None),
            (rawdoc! { "o": { "t": 1.5 } }, None),
            (rawdoc! { "o": { "t": true } }, None),
            (rawdoc! { "o": { "t": null } }, None),
            (rawdoc! { "o": { "t": ["acme"] } }, None),
            (rawdoc! { "o": { "t": {} } }, None),
            (rawdoc! { "o": [{ "t": "acme" }] }, None),
            (rawdoc! { "o.t": "acme" }, None),
            (rawdoc! { "o": "acme" }, None),
            (rawdoc! {}, None),
        ] {
            let field = Field::parse("o.t").unwrap();
            assert_eq!(field.name(&document).as_deref(), expected, "{document:?}");
        }
    }

    #[test]
    fn a_path_is_made_of_names() {
        for path in ["tenantId", "owner.tenant", "a.b.c", "größe", "_id", "a1", "with space"] {
            assert_eq!(Field::parse(path).unwrap().to_string(), path);
        }
        let long = "x".repeat(513);
        for path in [
            "", ".", "a.", ".a", "a..b", "$a", "a.$b", "a$b", "_$a", "a::b", "a.0", "0", "a\0b",
            &long,
        ] {
            assert!(Field::parse(path).is_err(), "{path}");
        }
    }
}
