use std::cmp::{Ordering, Reverse};

use bson::Bson;

use super::permission::Permission;
use super::set::Source;
use crate::config::AclSemantics;

/// Sorts permissions so that the first that matches is the one that counts. A permission without
/// priority comes last; `place` is where it stood.
pub(super) fn sort(
    permissions: &mut [(usize, Permission)],
    source: Source,
    semantics: AclSemantics,
) {
    let ascending = source == Source::File && semantics == AclSemantics::Legacy;
    permissions.sort_by(|(place, a), (other, b)| {
        let tie = || match source {
            Source::Mongo => compare(&b.id, &a.id),
            Source::File => other.cmp(place),
        };
        by_priority(a.priority, b.priority, ascending).then_with(tie)
    });
}

fn by_priority(a: Option<i32>, b: Option<i32>, ascending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if ascending => a.cmp(&b),
        // A priority comes before none, the higher before the lower.
        _ => Reverse(a).cmp(&Reverse(b)),
    }
}

/// The order of identifiers in MongoDB, for the types that identify permissions.
fn compare(a: &Bson, b: &Bson) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Bson::String(a), Bson::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => a.bytes().cmp(&b.bytes()),
        (Bson::Boolean(a), Bson::Boolean(b)) => a.cmp(b),
        (Bson::DateTime(a), Bson::DateTime(b)) => a.cmp(b),
        _ => number(a).partial_cmp(&number(b)).unwrap_or_else(|| a.to_string().cmp(&b.to_string())),
    })
}

/// Types in MongoDB's order.
fn rank(value: &Bson) -> u8 {
    match value {
        Bson::MinKey => 0,
        Bson::Null | Bson::Undefined => 1,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 2,
        Bson::String(_) | Bson::Symbol(_) => 3,
        Bson::Document(_) => 4,
        Bson::Array(_) => 5,
        Bson::Binary(_) => 6,
        Bson::ObjectId(_) => 7,
        Bson::Boolean(_) => 8,
        Bson::DateTime(_) => 9,
        Bson::Timestamp(_) => 10,
        _ => 11,
    }
}

/// Not a number compares with nothing, which leaves the texts to compare.
fn number(value: &Bson) -> f64 {
    match value {
        Bson::Int32(number) => f64::from(*number),
        Bson::Int64(number) => *number as f64,
        Bson::Double(number) => *number,
        Bson::Decimal128(number) => number.to_string().parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}
