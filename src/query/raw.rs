//! A walker over BSON bytes: borrows, never allocates, and checks every length it follows.
//!
//! The driver's accessors search from the first byte on each call and build a value for each step;
//! this walker skips what it does not need, which is most of an event.

use bson::spec::ElementType;

use super::error::MatchError;

/// The bytes of one document or array, its length and terminator already checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a>(&'a [u8]);

/// One value as it stands in a document: its type and its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) kind: ElementType,
    pub(crate) bytes: &'a [u8],
}

/// A named value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) raw: Raw<'a>,
}

/// The fields of a [`Body`], in order; an iterator that ends after the first error.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, MatchError> {
        let declared = length_at(bytes, 0)?;
        if declared != bytes.len() || declared < 5 || bytes.last() != Some(&0) {
            return Err(MatchError::Malformed("a document's length is wrong"));
        }
        Ok(Self(bytes))
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { rest: self.0.get(4..).unwrap_or_default() }
    }

    /// The first field of that name: MongoDB's matcher never looks at a repeated one.
    pub(crate) fn find(self, name: &[u8]) -> Result<Option<Raw<'a>>, MatchError> {
        for field in self.fields() {
            let field = field?;
            if field.name == name {
                return Ok(Some(field.raw));
            }
        }
        Ok(None)
    }

    pub(crate) fn first(self) -> Result<Option<Field<'a>>, MatchError> {
        self.fields().next().transpose()
    }
}

impl<'a> Fields<'a> {
    fn advance(&mut self) -> Result<Option<Field<'a>>, MatchError> {
        let (&tag, rest) = self.rest.split_first().ok_or(ENDS_EARLY)?;
        if tag == 0 {
            return if rest.is_empty() { Ok(None) } else { Err(TRAILING) };
        }
        let kind = ElementType::from(tag).ok_or(MatchError::Malformed("a type is unknown"))?;
        let end = position_of_nul(rest)?;
        let (name, value) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..));
        let value = value.unwrap_or_default();
        let width = width(kind, value)?;
        let (bytes, rest) = value.split_at_checked(width).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(Some(Field { name, raw: Raw { kind, bytes } }))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, MatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.rest = &[0];
        }
        next
    }
}

impl<'a> Field<'a> {
    pub(crate) fn name(&self) -> Result<&'a str, MatchError> {
        text(self.name)
    }
}

const ENDS_EARLY: MatchError = MatchError::Malformed("a value ends early");
const TRAILING: MatchError = MatchError::Malformed("a document ends before its length");

pub(crate) fn text(bytes: &[u8]) -> Result<&str, MatchError> {
    std::str::from_utf8(bytes).map_err(|_| MatchError::Malformed("text is not utf-8"))
}

/// Splits a C string from what follows its terminator.
pub(crate) fn split_cstring(bytes: &[u8]) -> Result<(&[u8], &[u8]), MatchError> {
    let end = position_of_nul(bytes)?;
    Ok((bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default()))
}

/// A non-negative little-endian int32, the way BSON writes every length.
pub(crate) fn length_at(bytes: &[u8], at: usize) -> Result<usize, MatchError> {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(ENDS_EARLY)?;
    usize::try_from(i32::from_le_bytes(*four))
        .map_err(|_| MatchError::Malformed("a length is negative"))
}

fn position_of_nul(bytes: &[u8]) -> Result<usize, MatchError> {
    bytes.iter().position(|&byte| byte == 0).ok_or(ENDS_EARLY)
}

/// How many bytes the value at the start of `rest` takes.
fn width(kind: ElementType, rest: &[u8]) -> Result<usize, MatchError> {
    Ok(match kind {
        ElementType::Null | ElementType::Undefined | ElementType::MinKey | ElementType::MaxKey => 0,
        ElementType::Boolean => 1,
        ElementType::Int32 => 4,
        ElementType::Double
        | ElementType::Int64
        | ElementType::DateTime
        | ElementType::Timestamp => 8,
        ElementType::ObjectId => 12,
        ElementType::Decimal128 => 16,
        ElementType::String | ElementType::Symbol | ElementType::JavaScriptCode => {
            4 + length_at(rest, 0)?
        }
        ElementType::Binary => 5 + length_at(rest, 0)?,
        ElementType::DbPointer => 16 + length_at(rest, 0)?,
        ElementType::EmbeddedDocument
        | ElementType::Array
        | ElementType::JavaScriptCodeWithScope => length_at(rest, 0)?,
        ElementType::RegularExpression => {
            let (pattern, after) = split_cstring(rest)?;
            let (options, _) = split_cstring(after)?;
            pattern.len() + options.len() + 2
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], names: Result<&[&str], ()>) {
        let read = Body::new(bytes).and_then(|body| {
            body.fields().map(|field| field?.name()).collect::<Result<Vec<_>, _>>()
        });
        assert_eq!(read.as_deref().map_err(|_| ()), names, "{bytes:?}");
    }

    #[test]
    fn walks_what_is_well_formed_and_refuses_the_rest() {
        check(b"\x05\0\0\0\0", Ok(&[]));
        check(b"\x08\0\0\0\x0aa\0\0", Ok(&["a"]));
        check(b"\x0c\0\0\0\x0aa\0\x08b\0\x01\0", Ok(&["a", "b"]));
        check(b"\x05\0\0\0\x01", Err(()));
        check(b"\x06\0\0\0\0\0", Err(()));
        check(b"\x04\0\0\0", Err(()));
        check(b"\xff\xff\xff\xff\0", Err(()));
        check(b"\x08\0\0\0\x55a\0\0", Err(()));
        check(b"\x08\0\0\0\x0aaa\0", Err(()));
        check(b"\x09\0\0\0\x10a\0\x01\0", Err(()));
        check(b"\x0c\0\0\0\x02a\0\xff\xff\xff\xff\0", Err(()));
        check(b"\x08\0\0\0\x0a\xff\0\0", Err(()));
    }

    #[test]
    fn finds_the_first_of_repeated_names() {
        let bytes = b"\x0d\0\0\0\x08a\0\x01\x08a\0\0\0";
        let found = Body::new(bytes).unwrap().find(b"a").unwrap().unwrap();
        assert_eq!(found.bytes, [1]);
        assert!(Body::new(bytes).unwrap().find(b"b").unwrap().is_none());
    }
}
