//! Keys by which subscribers can be found: equal values have equal keys.
//!
//! The converse need not hold, because every candidate is evaluated again. Numbers are cut to whole
//! ones, so that no type or precision can hide a match.

mod choice;

use std::ops::ControlFlow;

use ahash::RandomState;
use bson::raw::RawBsonRef;

pub use choice::{IndexChoice, IndexTerm};

use super::check::Checked;
use super::error::MatchError;
use super::evaluate::value_of;
use super::expand::{Leaf, Root, any_element};
use super::path::Path;
use super::value::Value;

/// The digest of a value; compare only keys of one [`Keyer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// Makes keys under a random state of the index's own: values are chosen by whoever writes
/// documents, and must not be able to collide on purpose.
#[derive(Debug, Clone)]
pub struct Keyer(RandomState);

impl Keyer {
    /// A keyer over the index's random state.
    #[must_use]
    pub fn new(state: RandomState) -> Self {
        Self(state)
    }

    /// The key of a value, or nothing for a value that no key can stand for: `null` (which also
    /// means missing), objects, arrays, patterns and the deprecated types.
    #[must_use]
    pub fn digest(&self, value: RawBsonRef<'_>) -> Option<Key> {
        Value::try_from(value).ok().and_then(|value| self.digest_value(&value))
    }

    /// Calls `sink` with the key of every element that `path` reaches, an element of an array each,
    /// until it breaks: the caller bounds how many keys one document may have.
    ///
    /// # Errors
    /// The document is malformed.
    pub fn keys_at(
        &self,
        path: &Path,
        document: &Checked<'_>,
        mut sink: impl FnMut(Key) -> ControlFlow<()>,
    ) -> Result<(), MatchError> {
        let root = Root::Document(*document);
        let mut test = |raw| {
            let key = self.digest_value(&value_of(raw)?);
            Ok(key.is_some_and(|key| sink(key).is_break()))
        };
        any_element(root, path, Leaf::Traverse, &mut test).map(drop)
    }

    pub(crate) fn digest_value(&self, value: &Value<'_>) -> Option<Key> {
        let class = value.class();
        let hash = match value {
            Value::Number(number) => self.0.hash_one((class, number.saturated())),
            Value::Text(bytes) => self.0.hash_one((class, bytes)),
            Value::Binary(subtype, bytes) => self.0.hash_one((class, subtype, bytes)),
            Value::ObjectId(bytes) => self.0.hash_one((class, bytes)),
            Value::Bool(value) => self.0.hash_one((class, value)),
            Value::Date(value) => self.0.hash_one((class, value)),
            Value::Timestamp(value) => self.0.hash_one((class, value)),
            _ => return None,
        };
        Some(Key(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Filter, ParseOptions, SlotValue};
    use bson::raw::RawBson;
    use bson::{RawDocumentBuf, rawdoc};

    fn keyer() -> Keyer {
        Keyer::new(RandomState::with_seeds(1, 2, 3, 4))
    }

    fn check_keys(document: &RawDocumentBuf, path: &str, expected: &[RawBson]) {
        let (keyer, mut keys) = (keyer(), Vec::new());
        let checked = Checked::new(document).unwrap();
        keyer
            .keys_at(&Path::parse(path).unwrap(), &checked, |key| {
                keys.push(key);
                ControlFlow::Continue(())
            })
            .unwrap();
        let expected: Vec<_> =
            expected.iter().filter_map(|value| keyer.digest(value.as_raw_bson_ref())).collect();
        assert_eq!(keys, expected, "{document:?} {path}");
    }

    #[test]
    fn equal_values_share_a_key() {
        check_keys(&rawdoc! { "a": 1.0 }, "a", &[1.into()]);
        check_keys(&rawdoc! { "a": 1_i64 }, "a", &[1.9.into()]);
        check_keys(&rawdoc! { "a": ["x", 2, null] }, "a", &["x".into(), 2.into()]);
        check_keys(
            &rawdoc! { "a": [{ "b": true }, { "b": [3] }] },
            "a.b",
            &[true.into(), 3.into()],
        );
        check_keys(&rawdoc! { "a": RawBson::Symbol("x".into()) }, "a", &["x".into()]);
        check_keys(&rawdoc! { "a": {} }, "a", &[]);
        check_keys(&rawdoc! {}, "a", &[]);
    }

    /// Terms are written as `path=value`, a slot's value being what is bound to it.
    fn check_choice(filter: &RawDocumentBuf, values: &[RawBson], expected: Option<&[&str]>) {
        let slot = |value: RawBsonRef<'_>| value.as_str()?.strip_prefix('@')?.parse().ok();
        let options = ParseOptions::default().with_slots(&slot);
        let filter = Filter::parse(filter, &options).unwrap();
        let values: Vec<_> = values.iter().cloned().map(SlotValue::variable).collect();
        let bound = filter.bind(&values).unwrap();
        let keys = filter.index_choice().and_then(|choice| choice.keys(&bound, &keyer()));
        let expected = expected.map(|terms| {
            let term = |term: &&str| {
                let (path, text) = term.split_once('=').unwrap();
                let key = keyer().digest(RawBsonRef::String(text)).unwrap();
                (Path::parse(path).unwrap(), key)
            };
            terms.iter().map(term).collect::<Vec<_>>()
        });
        assert_eq!(keys, expected, "{filter:?}");
    }

    #[test]
    fn picks_a_positive_condition_and_prefers_slots() {
        let (u, list) = (RawBson::from("u"), bson::rawbson!(["u", "v"]));
        let none: Option<&[&str]> = None;
        check_choice(&rawdoc! { "a": "x" }, &[], Some(&["a=x"]));
        check_choice(&rawdoc! { "a": "x", "b": "@0" }, &[u], Some(&["b=u"]));
        check_choice(&rawdoc! { "a": { "$in": ["x", "y"] } }, &[], Some(&["a=x", "a=y"]));
        check_choice(&rawdoc! { "a": { "$in": ["x", null] } }, &[], none);
        check_choice(&rawdoc! { "a": { "$in": "@0" } }, &[list], Some(&["a=u", "a=v"]));
        check_choice(&rawdoc! { "a": { "$in": [] } }, &[], Some(&[]));
        check_choice(&rawdoc! { "$or": [{ "a": "x" }, { "b": "y" }] }, &[], Some(&["a=x", "b=y"]));
        check_choice(&rawdoc! { "$or": [{ "a": "x" }, { "b": { "$gt": 1 } }] }, &[], none);
        check_choice(
            &rawdoc! { "a": { "$elemMatch": { "u": "x", "r": 1 } } },
            &[],
            Some(&["a.u=x"]),
        );
        check_choice(&rawdoc! { "a": { "$elemMatch": { "$eq": "x" } } }, &[], Some(&["a=x"]));
        let nested = rawdoc! { "$elemMatch": { "$eq": "x" } };
        check_choice(&rawdoc! { "a": { "$elemMatch": nested } }, &[], none);
        check_choice(&rawdoc! { "a.0": { "$elemMatch": { "$eq": "x" } } }, &[], none);
        check_choice(&rawdoc! { "a": { "$elemMatch": { "0": "x" } } }, &[], none);
        check_choice(&rawdoc! { "a": { "$ne": "x" } }, &[], none);
        check_choice(&rawdoc! { "$nor": [{ "a": "x" }] }, &[], none);
        check_choice(&rawdoc! { "a": null }, &[], none);
        check_choice(&rawdoc! { "a": "@0" }, &[RawBson::Null], none);
    }
}
