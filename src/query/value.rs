//! One BSON value, decoded as far as matching needs.

use bson::raw::RawBsonRef;
use bson::spec::ElementType;

use super::decimal::Decimal;
use super::error::MatchError;
use super::number::Number;
use super::raw::{Body, Raw, length_at, split_cstring};

/// A borrowed value; `Missing` stands for a field that is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Missing,
    MinKey,
    Undefined,
    Null,
    Number(Number),
    /// Strings and symbols compare as one class.
    Text(&'a [u8]),
    Object(Body<'a>),
    Array(Body<'a>),
    /// For subtype 2 the payload includes the inner length, as MongoDB compares it.
    Binary(u8, &'a [u8]),
    ObjectId([u8; 12]),
    Bool(bool),
    Date(i64),
    Timestamp(u64),
    Regex(&'a [u8], &'a [u8]),
    DbPointer(&'a [u8], [u8; 12]),
    Code(&'a [u8]),
    CodeWithScope(&'a [u8], Body<'a>),
    MaxKey,
}

impl<'a> Value<'a> {
    /// MongoDB's canonical class: values of different classes are ordered by it alone.
    pub(crate) fn class(&self) -> u8 {
        match self {
            Self::MinKey => 0,
            Self::Missing | Self::Undefined => 1,
            Self::Null => 2,
            Self::Number(_) => 3,
            Self::Text(_) => 4,
            Self::Object(_) => 5,
            Self::Array(_) => 6,
            Self::Binary(..) => 7,
            Self::ObjectId(_) => 8,
            Self::Bool(_) => 9,
            Self::Date(_) => 10,
            Self::Timestamp(_) => 11,
            Self::Regex(..) => 12,
            Self::DbPointer(..) => 13,
            Self::Code(_) => 14,
            Self::CodeWithScope(..) => 15,
            Self::MaxKey => 16,
        }
    }
}

impl<'a> Raw<'a> {
    pub(crate) fn value(self) -> Result<Value<'a>, MatchError> {
        let bytes = self.bytes;
        Ok(match self.kind {
            ElementType::MinKey => Value::MinKey,
            ElementType::MaxKey => Value::MaxKey,
            ElementType::Undefined => Value::Undefined,
            ElementType::Null => Value::Null,
            ElementType::Boolean => Value::Bool(bool_of(bytes)?),
            ElementType::Int32 => {
                Value::Number(Number::Int(i64::from(i32::from_le_bytes(chunk(bytes)?))))
            }
            ElementType::Int64 => Value::Number(Number::Int(i64::from_le_bytes(chunk(bytes)?))),
            ElementType::Double => Value::Number(Number::Double(f64::from_le_bytes(chunk(bytes)?))),
            ElementType::Decimal128 => {
                Value::Number(Number::Decimal(Decimal::from_bytes(chunk(bytes)?)))
            }
            ElementType::DateTime => Value::Date(i64::from_le_bytes(chunk(bytes)?)),
            ElementType::Timestamp => Value::Timestamp(u64::from_le_bytes(chunk(bytes)?)),
            ElementType::ObjectId => Value::ObjectId(chunk(bytes)?),
            ElementType::String | ElementType::Symbol => Value::Text(string_of(bytes)?.0),
            ElementType::EmbeddedDocument => Value::Object(Body::new(bytes)?),
            ElementType::Array => Value::Array(Body::new(bytes)?),
            _ => self.rare_value()?,
        })
    }

    fn rare_value(self) -> Result<Value<'a>, MatchError> {
        match self.kind {
            ElementType::Binary => {
                let subtype = *self.bytes.get(4).ok_or(SHORT)?;
                Ok(Value::Binary(subtype, self.bytes.get(5..).unwrap_or_default()))
            }
            ElementType::RegularExpression => {
                let (pattern, rest) = split_cstring(self.bytes)?;
                Ok(Value::Regex(pattern, split_cstring(rest)?.0))
            }
            ElementType::DbPointer => {
                let (namespace, rest) = string_of(self.bytes)?;
                Ok(Value::DbPointer(namespace, chunk(rest)?))
            }
            ElementType::JavaScriptCode => Ok(Value::Code(string_of(self.bytes)?.0)),
            _ => {
                let (code, scope) = string_of(self.bytes.get(4..).unwrap_or_default())?;
                Ok(Value::CodeWithScope(code, Body::new(scope)?))
            }
        }
    }
}

impl<'a> TryFrom<RawBsonRef<'a>> for Value<'a> {
    type Error = MatchError;

    fn try_from(bson: RawBsonRef<'a>) -> Result<Self, MatchError> {
        Ok(match bson {
            RawBsonRef::Double(value) => Self::Number(Number::Double(value)),
            RawBsonRef::Int32(value) => Self::Number(Number::Int(i64::from(value))),
            RawBsonRef::Int64(value) => Self::Number(Number::Int(value)),
            RawBsonRef::Decimal128(value) => {
                Self::Number(Number::Decimal(Decimal::from_bytes(value.bytes())))
            }
            RawBsonRef::String(text) | RawBsonRef::Symbol(text) => Self::Text(text.as_bytes()),
            RawBsonRef::Array(array) => Self::Array(Body::new(array.as_bytes())?),
            RawBsonRef::Document(document) => Self::Object(Body::new(document.as_bytes())?),
            RawBsonRef::Boolean(value) => Self::Bool(value),
            RawBsonRef::Null => Self::Null,
            RawBsonRef::Undefined => Self::Undefined,
            RawBsonRef::MinKey => Self::MinKey,
            RawBsonRef::MaxKey => Self::MaxKey,
            RawBsonRef::ObjectId(id) => Self::ObjectId(id.bytes()),
            RawBsonRef::DateTime(date) => Self::Date(date.timestamp_millis()),
            RawBsonRef::Timestamp(stamp) => {
                Self::Timestamp((u64::from(stamp.time) << 32) | u64::from(stamp.increment))
            }
            RawBsonRef::Binary(binary) => Self::Binary(binary.subtype.into(), binary.bytes),
            RawBsonRef::RegularExpression(regex) => {
                Self::Regex(regex.pattern.as_str().as_bytes(), regex.options.as_str().as_bytes())
            }
            RawBsonRef::JavaScriptCode(code) => Self::Code(code.as_bytes()),
            RawBsonRef::JavaScriptCodeWithScope(code) => {
                Self::CodeWithScope(code.code.as_bytes(), Body::new(code.scope.as_bytes())?)
            }
            RawBsonRef::DbPointer(_) => {
                return Err(MatchError::Malformed("a db pointer stands alone"));
            }
        })
    }
}

const SHORT: MatchError = MatchError::Malformed("a value is too short");

fn chunk<const N: usize>(bytes: &[u8]) -> Result<[u8; N], MatchError> {
    bytes.try_into().map_err(|_| SHORT)
}

fn bool_of(bytes: &[u8]) -> Result<bool, MatchError> {
    match bytes {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(MatchError::Malformed("a bool is neither false nor true")),
    }
}

/// Splits a length-prefixed string, its terminator checked, from what follows it.
fn string_of(bytes: &[u8]) -> Result<(&[u8], &[u8]), MatchError> {
    let length = length_at(bytes, 0)?;
    let rest = bytes.get(4..).unwrap_or_default();
    let (text, rest) = rest.split_at_checked(length).ok_or(SHORT)?;
    match text.split_last() {
        Some((0, text)) => Ok((text, rest)),
        _ => Err(MatchError::Malformed("a string has no end")),
    }
}
