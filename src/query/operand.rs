//! What a filter compares with: a literal, or a slot that is filled per subscriber.

use std::cmp::Ordering;

use bson::spec::ElementType;

use super::compare::compare;
use super::error::MatchError;
use super::raw::Raw;
use super::slot::BoundValue;
use super::value::Value;

/// The right-hand side of a comparison.
#[derive(Debug, Clone)]
pub(crate) enum Operand {
    Literal(Literal),
    Slot(u16),
}

/// An owned value, well-formed by the time it is made.
#[derive(Debug, Clone)]
pub(crate) struct Literal {
    kind: ElementType,
    bytes: Box<[u8]>,
}

impl Operand {
    pub(crate) fn resolve<'v>(&'v self, values: &'v [BoundValue]) -> Result<Value<'v>, MatchError> {
        match self {
            Self::Literal(literal) => literal.value(),
            Self::Slot(slot) => match values.get(usize::from(*slot)) {
                Some(BoundValue::One(literal)) => literal.value(),
                _ => Err(MatchError::Unbound { slot: *slot }),
            },
        }
    }
}

impl Literal {
    pub(crate) fn new(raw: Raw<'_>) -> Self {
        Self { kind: raw.kind, bytes: raw.bytes.into() }
    }

    pub(crate) fn value(&self) -> Result<Value<'_>, MatchError> {
        self.raw().value()
    }

    pub(crate) fn raw(&self) -> Raw<'_> {
        Raw { kind: self.kind, bytes: &self.bytes }
    }
}

/// Literals in order, for lists of any length; `null` is kept apart because it also meets what is
/// missing or undefined.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    items: Box<[Literal]>,
    null: bool,
}

impl List {
    pub(crate) fn new(mut items: Vec<Literal>) -> Result<Self, MatchError> {
        for item in &items {
            item.value()?;
        }
        let nulls = |item: &Literal| item.kind == ElementType::Null;
        let null = items.iter().any(nulls);
        items.retain(|item| !nulls(item));
        items.sort_by(|one, two| order(one, two).unwrap_or(Ordering::Equal));
        Ok(Self { items: items.into(), null })
    }

    pub(crate) fn has_null(&self) -> bool {
        self.null
    }

    pub(crate) fn items(&self) -> &[Literal] {
        &self.items
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> Result<bool, MatchError> {
        if self.null && matches!(value, Value::Missing | Value::Undefined | Value::Null) {
            return Ok(true);
        }
        let mut items = &*self.items;
        while let Some(middle) = items.get(items.len() / 2) {
            let (before, after) = items.split_at(items.len() / 2);
            items = match compare(&middle.value()?, value, 0)? {
                Ordering::Equal => return Ok(!matches!(value, Value::Missing)),
                Ordering::Less => after.get(1..).unwrap_or_default(),
                Ordering::Greater => before,
            };
        }
        Ok(false)
    }
}

fn order(one: &Literal, two: &Literal) -> Result<Ordering, MatchError> {
    compare(&one.value()?, &two.value()?, 0)
}
