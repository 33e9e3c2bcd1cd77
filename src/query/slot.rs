//! Values for the slots of a filter.

use bson::raw::{RawBson, RawDocumentBuf, cstr};
use bson::spec::ElementType;

use super::error::MatchError;
use super::operand::{List, Literal};
use super::parse::literal::LiteralRules;
use super::raw::{Body, Raw};
use super::refusal::Refusal;

/// More values than a caller's list may hold; a longer one is refused.
const MAX_LIST: usize = 1_000;

/// A value to bind, and whose word it is. It is always a literal, never an operator or a pattern.
#[derive(Debug, Clone)]
pub struct SlotValue {
    value: RawBson,
    claim: bool,
}

/// What a slot of a parsed filter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotUse {
    One,
    List,
}

/// What a slot of a bound filter holds.
#[derive(Debug, Clone)]
pub(crate) enum BoundValue {
    One(Literal),
    List(List),
}

/// Why values do not fit the slots of a filter; the subscription is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Too few or too many values.
    #[error("bind {given} values to a filter with {expected} slots")]
    Count {
        /// Slots of the filter.
        expected: usize,
        /// Values given.
        given: usize,
    },
    /// A list where one value belongs, or the other way round.
    #[error("bind slot {slot}: expected {expected}")]
    Kind {
        /// The slot.
        slot: usize,
        /// What it takes.
        expected: &'static str,
    },
    /// A value that no filter may be compared with.
    #[error("bind slot {slot}")]
    Refused {
        /// The slot.
        slot: usize,
        /// Why.
        source: Refusal,
    },
}

impl SlotValue {
    /// What a token or an account says about the caller: one plain value, or a list of them where
    /// the filter says `$in`. Never `null`, which would match documents that lack the field.
    #[must_use]
    pub fn claim(value: RawBson) -> Self {
        Self { value, claim: true }
    }

    /// What a client or a default says: any literal.
    #[must_use]
    pub fn variable(value: RawBson) -> Self {
        Self { value, claim: false }
    }

    pub(crate) fn bind(&self, slot: usize, usage: SlotUse) -> Result<BoundValue, BindError> {
        let mut holder = RawDocumentBuf::new();
        holder.append(cstr!("value"), self.value.as_raw_bson_ref());
        match (usage, first_of(&holder)) {
            (SlotUse::One, Ok(raw)) => self.one(raw, slot).map(BoundValue::One),
            (SlotUse::List, Ok(raw)) => self.list(raw, slot).map(BoundValue::List),
            (_, Err(_)) => Err(BindError::Refused { slot, source: Refusal::Malformed }),
        }
    }

    fn one(&self, raw: Raw<'_>, slot: usize) -> Result<Literal, BindError> {
        let plain = !matches!(
            raw.kind,
            ElementType::Null | ElementType::EmbeddedDocument | ElementType::Array
        );
        if self.claim && !plain {
            return Err(BindError::Kind { slot, expected: "one plain value from a claim" });
        }
        LiteralRules::default()
            .check(raw)
            .map_err(|source| BindError::Refused { slot, source })
            .map(|()| Literal::new(raw))
    }

    fn list(&self, raw: Raw<'_>, slot: usize) -> Result<List, BindError> {
        let malformed = |_| BindError::Refused { slot, source: Refusal::Malformed };
        if raw.kind != ElementType::Array {
            return Err(BindError::Kind { slot, expected: "a list" });
        }
        let fields = Body::new(raw.bytes).map_err(malformed)?.fields();
        let fields: Vec<_> =
            fields.take(MAX_LIST + 1).collect::<Result<_, _>>().map_err(malformed)?;
        if fields.len() > MAX_LIST {
            return Err(BindError::Kind { slot, expected: "a list of at most 1000 values" });
        }
        let items = fields.iter().map(|field| self.one(field.raw, slot));
        List::new(items.collect::<Result<_, _>>()?).map_err(malformed)
    }
}

fn first_of(holder: &RawDocumentBuf) -> Result<Raw<'_>, MatchError> {
    let first = Body::new(holder.as_bytes())?.first()?;
    first.map(|field| field.raw).ok_or(MatchError::Malformed("a value is missing"))
}
