//! `$elemMatch` and `$all`.

use bson::spec::ElementType;

use super::super::expr::{Expr, Predicate};
use super::super::operand::Operand;
use super::super::raw::{Body, Raw};
use super::super::refusal::Refusal;
use super::super::slot::SlotUse;
use super::arguments::refusal;
use super::field::refuse_operators;
use super::scope::{Scope, Target};
use super::{Parser, body_of, elements};

impl Parser<'_> {
    /// A first key that is an operator, other than `$and`, `$or` and `$nor`, asks about elements
    /// themselves; anything else asks about elements as documents.
    pub(crate) fn elem_match(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        if raw.kind != ElementType::EmbeddedDocument {
            return Err(refusal("$elemMatch", target, "a document"));
        }
        let body = body_of(raw)?;
        let predicate = if asks_about_elements(body)? {
            let expr = self.operators(&target.itself(), raw, depth + 1)?;
            Predicate::ElementItself(Box::new(expr))
        } else {
            let expr = self.document(body, &Scope::inside(target), depth + 1)?;
            Predicate::ElementDocument(Box::new(expr))
        };
        Ok(Expr::Leaf(target.path.clone(), predicate))
    }

    /// All equalities hold, or all `$elemMatch`es; an empty list matches nothing.
    pub(crate) fn all(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        if raw.kind != ElementType::Array {
            return Err(refusal("$all", target, "an array"));
        }
        let items = elements(body_of(raw)?)?;
        let Some(first) = items.first() else { return Ok(Expr::Any(Box::default())) };
        let matches = only_elem_match(*first)?.is_some();
        let parts = items.iter().map(|item| match only_elem_match(*item)? {
            Some(inner) if matches => self.elem_match(target, inner, depth + 1),
            None if !matches => self.all_member(target, *item, depth + 1),
            _ => Err(refusal("$all", target, "only values, or only $elemMatch")),
        });
        Ok(Expr::all(parts.collect::<Result<_, _>>()?))
    }

    fn all_member(&mut self, target: &Target, raw: Raw<'_>, depth: usize) -> Result<Expr, Refusal> {
        if let Some(slot) = self.slot(raw, SlotUse::One, &target.path)? {
            return Ok(Expr::equal(target.path.clone(), Operand::Slot(slot)));
        }
        refuse_operators("$all", target, raw)?;
        self.equality(target, raw, depth)
    }
}

fn asks_about_elements(body: Body<'_>) -> Result<bool, Refusal> {
    let first = body.first().map_err(|_| Refusal::Malformed)?;
    Ok(first.is_some_and(|field| {
        field.name.starts_with(b"$") && !matches!(field.name, b"$and" | b"$or" | b"$nor")
    }))
}

/// The argument of `{$elemMatch: …}` when that is all the document says.
fn only_elem_match(raw: Raw<'_>) -> Result<Option<Raw<'_>>, Refusal> {
    if raw.kind != ElementType::EmbeddedDocument {
        return Ok(None);
    }
    let mut fields = body_of(raw)?.fields();
    match (fields.next(), fields.next()) {
        (Some(Ok(field)), None) if field.name == b"$elemMatch" => Ok(Some(field.raw)),
        (Some(Err(_)), _) | (_, Some(Err(_))) => Err(Refusal::Malformed),
        _ => Ok(None),
    }
}
