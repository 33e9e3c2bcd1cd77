//! Which values a filter may be compared with.

use bson::RawDocument;
use bson::raw::RawBsonRef;
use bson::spec::ElementType;

use super::super::options::{Duplicates, SlotOf};
use super::super::path::Path;
use super::super::raw::{Body, Raw};
use super::super::refusal::Refusal;
use super::super::value::Value;
use super::scope::Target;
use super::{Parser, body_of, bound_depth, fields};
use crate::query::check::check_value;
use crate::query::operand::Literal;

/// The rules for one literal. The default is for bound values: no `MinKey`, no `MaxKey`.
#[derive(Clone, Default)]
pub(crate) struct LiteralRules<'r> {
    path: Option<&'r Path>,
    extremes: bool,
    duplicates: Duplicates,
    slot: Option<SlotOf<'r>>,
}

impl Parser<'_> {
    /// A literal operand; slots have been looked for before.
    pub(crate) fn literal(
        &self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Literal, Refusal> {
        let rules = LiteralRules {
            path: Some(&target.path),
            extremes: target.extremes,
            duplicates: self.options.duplicates,
            slot: self.options.slot,
        };
        rules.check_at(raw, depth)?;
        Ok(Literal::new(raw))
    }
}

impl LiteralRules<'_> {
    pub(crate) fn check(&self, raw: Raw<'_>) -> Result<(), Refusal> {
        self.check_at(raw, 0)
    }

    fn check_at(&self, raw: Raw<'_>, depth: usize) -> Result<(), Refusal> {
        bound_depth(depth)?;
        match raw.kind {
            ElementType::EmbeddedDocument if is_db_ref(body_of(raw)?)? => {
                Err(Refusal::DbRef { path: self.path() })
            }
            ElementType::EmbeddedDocument | ElementType::Array => {
                self.check_fields(body_of(raw)?, depth + 1)
            }
            kind if self.accepts(kind) => check_value(raw, 0).map_err(|_| Refusal::Malformed),
            kind => Err(Refusal::OperandType { path: self.path(), kind }),
        }
    }

    fn check_fields(&self, body: Body<'_>, depth: usize) -> Result<(), Refusal> {
        for field in fields(body, self.duplicates)? {
            field.name().map_err(|_| Refusal::Malformed)?;
            if slot_of(field.raw, self.slot).is_some() {
                return Err(Refusal::NestedSlot { path: self.path() });
            }
            self.check_at(field.raw, depth)?;
        }
        Ok(())
    }

    fn accepts(&self, kind: ElementType) -> bool {
        match kind {
            ElementType::MinKey | ElementType::MaxKey => self.extremes,
            ElementType::Undefined
            | ElementType::Symbol
            | ElementType::JavaScriptCode
            | ElementType::JavaScriptCodeWithScope
            | ElementType::DbPointer
            | ElementType::RegularExpression => false,
            _ => true,
        }
    }

    fn path(&self) -> String {
        self.path.map(Path::to_string).unwrap_or_default()
    }
}

/// The slot that a value stands for: only strings and documents can be placeholders.
pub(crate) fn slot_of(raw: Raw<'_>, slot: Option<SlotOf<'_>>) -> Option<u16> {
    let slot = slot?;
    match raw.kind {
        ElementType::String => {
            let Ok(Value::Text(bytes)) = raw.value() else { return None };
            slot(RawBsonRef::String(std::str::from_utf8(bytes).ok()?))
        }
        ElementType::EmbeddedDocument => {
            slot(RawBsonRef::Document(RawDocument::from_bytes(raw.bytes).ok()?))
        }
        _ => None,
    }
}

/// Whether a document's first name starts with `$`, as operators do.
pub(crate) fn starts_with_dollar(body: Body<'_>) -> Result<bool, Refusal> {
    let first = body.first().map_err(|_| Refusal::Malformed)?;
    Ok(first.is_some_and(|field| field.name.starts_with(b"$")))
}

pub(crate) fn is_db_ref(body: Body<'_>) -> Result<bool, Refusal> {
    let first = body.first().map_err(|_| Refusal::Malformed)?;
    Ok(first.is_some_and(|field| matches!(field.name, b"$ref" | b"$id" | b"$db")))
}
