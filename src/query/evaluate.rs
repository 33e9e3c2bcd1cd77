//! Whether a condition holds; nothing here allocates.

use bson::spec::ElementType;

use super::compare::{Relation, compare};
use super::error::MatchError;
use super::expand::{Root, any_element};
use super::expr::{Expr, Membership, Predicate};
use super::operand::Operand;
use super::options::UndefinedRule;
use super::raw::{Body, Raw};
use super::slot::BoundValue;
use super::value::Value;

/// What an evaluation reads besides the condition and the document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evaluation<'v> {
    pub(crate) values: &'v [BoundValue],
    pub(crate) undefined: UndefinedRule,
}

impl Evaluation<'_> {
    /// An error reaches the caller through every negation. A part that is already decided ends the
    /// evaluation: what the remaining parts would say cannot change the answer.
    pub(crate) fn holds(&self, expr: &Expr, root: Root<'_>) -> Result<bool, MatchError> {
        match expr {
            Expr::All(parts) => self.none(parts, root, false),
            Expr::Any(parts) => self.none(parts, root, true).map(|none| !none),
            Expr::Not(inner) => self.holds(inner, root).map(|holds| !holds),
            Expr::Leaf(path, predicate) => {
                any_element(root, path, predicate.leaf(), &mut |raw| self.test(predicate, raw))
            }
        }
    }

    /// Whether no part answers `answer`.
    fn none(&self, parts: &[Expr], root: Root<'_>, answer: bool) -> Result<bool, MatchError> {
        for part in parts {
            if self.holds(part, root)? == answer {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn test(&self, predicate: &Predicate, raw: Option<Raw<'_>>) -> Result<bool, MatchError> {
        match (predicate, raw) {
            (Predicate::Compare(relation, operand), raw) => self.compare(*relation, operand, raw),
            (Predicate::In(list), raw) => self.contains(list, raw),
            (_, None) => Ok(false),
            (Predicate::Exists, Some(_)) => Ok(true),
            (Predicate::Pattern(pattern), Some(raw)) => pattern.holds(&raw.value()?),
            (Predicate::Type(types), Some(raw)) => Ok(types.contains(raw.kind)),
            (Predicate::Size(size), Some(raw)) => has_size(raw, *size),
            (Predicate::Mod { divisor, remainder }, Some(raw)) => {
                has_remainder(&raw.value()?, *divisor, *remainder)
            }
            (Predicate::ElementItself(expr), Some(raw)) => {
                self.any_in_array(raw, |raw| self.holds(expr, Root::Element(raw)))
            }
            (Predicate::ElementDocument(expr), Some(raw)) => {
                self.any_in_array(raw, |raw| self.holds_as_document(expr, raw))
            }
        }
    }

    fn compare(
        &self,
        relation: Relation,
        operand: &Operand,
        raw: Option<Raw<'_>>,
    ) -> Result<bool, MatchError> {
        let (value, operand) = (value_of(raw)?, operand.resolve(self.values)?);
        self.guard(&value, matches!(operand, Value::Null))?;
        relation.holds(&value, &operand)
    }

    fn contains(&self, list: &Membership, raw: Option<Raw<'_>>) -> Result<bool, MatchError> {
        let value = value_of(raw)?;
        self.guard(&value, list.literals.has_null())?;
        if list.literals.contains(&value)? {
            return Ok(true);
        }
        for pattern in &list.patterns {
            if pattern.holds(&value)? {
                return Ok(true);
            }
        }
        Ok(self.in_slots(list, &value)? || self.in_bound_list(list, &value)?)
    }

    fn in_slots(&self, list: &Membership, value: &Value<'_>) -> Result<bool, MatchError> {
        for slot in &list.slots {
            let operand = Operand::Slot(*slot);
            let operand = operand.resolve(self.values)?;
            self.guard(value, matches!(operand, Value::Null))?;
            let null = matches!(operand, Value::Null) && Relation::Equal.holds(value, &operand)?;
            let present = !matches!(value, Value::Missing);
            if null || (present && compare(value, &operand, 0)?.is_eq()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn in_bound_list(&self, list: &Membership, value: &Value<'_>) -> Result<bool, MatchError> {
        let Some(slot) = list.list else { return Ok(false) };
        let Some(BoundValue::List(bound)) = self.values.get(usize::from(slot)) else {
            return Err(MatchError::Unbound { slot });
        };
        self.guard(value, bound.has_null())?;
        bound.contains(value)
    }

    /// Fails when *undefined* meets a test for `null` whose answer the version decides.
    fn guard(&self, value: &Value<'_>, tests_null: bool) -> Result<(), MatchError> {
        let meets = tests_null && matches!(value, Value::Undefined);
        if meets && self.undefined == UndefinedRule::Fail {
            return Err(MatchError::UndefinedMeetsNull);
        }
        Ok(())
    }

    fn any_in_array<'a>(
        &self,
        raw: Raw<'a>,
        mut holds: impl FnMut(Raw<'a>) -> Result<bool, MatchError>,
    ) -> Result<bool, MatchError> {
        if raw.kind != ElementType::Array {
            return Ok(false);
        }
        for field in Body::new(raw.bytes)?.fields() {
            if holds(field?.raw)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds_as_document(&self, expr: &Expr, raw: Raw<'_>) -> Result<bool, MatchError> {
        match raw.kind {
            ElementType::EmbeddedDocument | ElementType::Array => {
                self.holds(expr, Root::Body(Body::new(raw.bytes)?))
            }
            _ => Ok(false),
        }
    }
}

pub(crate) fn value_of(raw: Option<Raw<'_>>) -> Result<Value<'_>, MatchError> {
    raw.map_or(Ok(Value::Missing), Raw::value)
}

fn has_size(raw: Raw<'_>, size: usize) -> Result<bool, MatchError> {
    if raw.kind != ElementType::Array {
        return Ok(false);
    }
    let mut fields = Body::new(raw.bytes)?.fields();
    let count = fields.try_fold(0, |count, field| field.map(|_| count + 1))?;
    Ok(count == size)
}

/// The value loses its fraction first; the remainder takes the dividend's sign.
fn has_remainder(value: &Value<'_>, divisor: i64, remainder: i64) -> Result<bool, MatchError> {
    let Value::Number(number) = value else { return Ok(false) };
    let rest = number.truncated().map(|dividend| dividend.wrapping_rem(divisor));
    Ok(rest == Some(remainder))
}
