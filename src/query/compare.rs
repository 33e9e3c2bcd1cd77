//! MongoDB's order of values, total and as its comparison operators see it.

use std::cmp::Ordering;

use bson::raw::RawBsonRef;

use super::check::check_depth;
use super::error::MatchError;
use super::raw::Body;
use super::value::Value;

/// Whether MongoDB holds two values equal: numbers by mathematical value, `NaN` equal to itself,
/// strings as symbols, fields in order. Malformed values equal nothing.
#[must_use]
pub fn values_equal(one: RawBsonRef<'_>, two: RawBsonRef<'_>) -> bool {
    let order = || compare(&Value::try_from(one)?, &Value::try_from(two)?, 0);
    order().is_ok_and(Ordering::is_eq)
}

/// The total order, used inside objects, arrays and lists.
pub(crate) fn compare(
    one: &Value<'_>,
    two: &Value<'_>,
    depth: usize,
) -> Result<Ordering, MatchError> {
    Ok(match (one, two) {
        (Value::Number(one), Value::Number(two)) => one.order(*two),
        (Value::Text(one), Value::Text(two)) | (Value::Code(one), Value::Code(two)) => one.cmp(two),
        (Value::ObjectId(one), Value::ObjectId(two)) => one.cmp(two),
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        (Value::Date(one), Value::Date(two)) => one.cmp(two),
        (Value::Timestamp(one), Value::Timestamp(two)) => one.cmp(two),
        (Value::Object(one), Value::Object(two)) | (Value::Array(one), Value::Array(two)) => {
            compare_bodies(*one, *two, depth + 1)?
        }
        (Value::Binary(one_type, one), Value::Binary(two_type, two)) => {
            (one.len(), one_type, *one).cmp(&(two.len(), two_type, *two))
        }
        (Value::Regex(one, flags), Value::Regex(two, other)) => (one, flags).cmp(&(two, other)),
        (Value::DbPointer(one, id), Value::DbPointer(two, other)) => (one, id).cmp(&(two, other)),
        (Value::CodeWithScope(one, scope), Value::CodeWithScope(two, other)) => {
            match one.cmp(two) {
                Ordering::Equal => compare_bodies(*scope, *other, depth + 1)?,
                order => order,
            }
        }
        _ => one.class().cmp(&two.class()),
    })
}

/// Element by element: class, then name, then value; the shorter first. Arrays compare by the
/// names they carry too, which matters only for arrays whose names are not their positions.
fn compare_bodies(one: Body<'_>, two: Body<'_>, depth: usize) -> Result<Ordering, MatchError> {
    check_depth(depth)?;
    let (mut ones, mut twos) = (one.fields(), two.fields());
    loop {
        let (one, two) = match (ones.next().transpose()?, twos.next().transpose()?) {
            (Some(one), Some(two)) => (one, two),
            (one, two) => return Ok(one.is_some().cmp(&two.is_some())),
        };
        let (value, other) = (one.raw.value()?, two.raw.value()?);
        let order = value.class().cmp(&other.class()).then_with(|| one.name.cmp(two.name));
        let order = match order {
            Ordering::Equal => compare(&value, &other, depth)?,
            order => order,
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
}

/// What a comparison operator asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Relation {
    /// Whether `value` stands in this relation to `operand`: false across classes, but `null` also
    /// meets what is missing or undefined, and `MinKey` and `MaxKey` meet everything.
    pub(crate) fn holds(self, value: &Value<'_>, operand: &Value<'_>) -> Result<bool, MatchError> {
        match (value, operand) {
            (Value::Missing | Value::Undefined | Value::Null, Value::Null) => {
                Ok(self.includes_equal())
            }
            (Value::Number(one), Value::Number(two)) if one.is_nan() || two.is_nan() => {
                Ok(self.includes_equal() && one.is_nan() && two.is_nan())
            }
            (_, Value::MinKey | Value::MaxKey) => Ok(self.accepts(compare(value, operand, 0)?)),
            _ if value.class() != operand.class() => Ok(false),
            _ => Ok(self.accepts(compare(value, operand, 0)?)),
        }
    }

    fn includes_equal(self) -> bool {
        self.accepts(Ordering::Equal)
    }

    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawBson, rawdoc};

    fn check(one: impl Into<RawBson>, two: impl Into<RawBson>, expected: Ordering) {
        let document = rawdoc! { "one": one.into(), "two": two.into() };
        let body = Body::new(document.as_bytes()).unwrap();
        let value = |name: &str| body.find(name.as_bytes()).unwrap().unwrap().value().unwrap();
        assert_eq!(compare(&value("one"), &value("two"), 0), Ok(expected), "{document:?}");
        let equal = |name: &str| document.get(name).unwrap().unwrap();
        assert_eq!(values_equal(equal("one"), equal("two")), expected.is_eq(), "{document:?}");
    }

    #[test]
    fn orders_by_class_then_value() {
        use Ordering::{Equal, Greater, Less};
        check(RawBson::MinKey, RawBson::Undefined, Less);
        check(RawBson::Undefined, RawBson::Null, Less);
        check(i64::MAX, "", Less);
        check("a", RawBson::Symbol("a".into()), Equal);
        check("a\0", "a", Greater);
        check(rawdoc! { "a": 1, "b": 2 }, rawdoc! { "b": 2, "a": 1 }, Less);
        check(rawdoc! { "b": 1 }, rawdoc! { "a": "x" }, Less);
        check(rawdoc! { "a": 1 }, rawdoc! { "a": 1.0 }, Equal);
        check(rawdoc! { "a": f64::NAN }, rawdoc! { "a": f64::NAN }, Equal);
        check(rawdoc! { "a": 1 }, rawdoc! { "a": 1, "b": 1 }, Less);
        check(rawdoc! { "a": RawBson::Undefined }, rawdoc! { "a": RawBson::Null }, Less);
        check(bson::DateTime::MIN, bson::DateTime::MAX, Less);
        let stamp = |time| RawBson::Timestamp(bson::Timestamp { time, increment: 1 });
        check(stamp(u32::MAX), stamp(1), Greater);
        check(binary(4, &[1]), binary(0, &[1]), Greater);
        check(binary(4, &[1]), binary(0, &[0, 0]), Less);
    }

    fn binary(subtype: u8, bytes: &[u8]) -> RawBson {
        RawBson::Binary(bson::Binary { subtype: subtype.into(), bytes: bytes.to_vec() })
    }
}
