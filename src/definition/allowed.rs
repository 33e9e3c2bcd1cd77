//! What a stage of a change stream may contain: a closed world, walked completely.
//!
//! The same walk runs when a stream is declared, on the template, and when it is opened, on the
//! stages with every variable filled in. A first pass looks for what is dangerous anywhere, in
//! RESTHeart's words; the second accepts only listed stages and operators, each in its own place.

mod denied;
mod event_id;
mod expression;
mod operators;
mod query;
mod stage;

use bson::{Bson, Document};

pub(crate) use operators::FIELD_OPERATORS;

use super::var::VarRef;
use super::violation::{Finding, ViolationKind};

/// Which form of the stages is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As declared: `{"$var": …}` may stand for any value, and its default is checked in its place.
    Template,
    /// As sent to MongoDB: no placeholder is left.
    Resolved,
}

type Checked = Result<(), Finding>;

/// Checks one stage. The finding's path starts inside the stage.
pub(crate) fn check_stage(stage: &Document, mode: Mode) -> Checked {
    denied::scan(stage)?;
    stage::check(stage, mode)
}

/// A value, or nothing when a variable without default stands there.
fn seen(value: &Bson, mode: Mode) -> Option<&Bson> {
    let placeholder = |document: &Document| VarRef::detect(document).is_some_and(|var| var.is_ok());
    match value {
        Bson::Document(document) if mode == Mode::Template && placeholder(document) => {
            default_of(document)
        }
        _ => Some(value),
    }
}

fn default_of(placeholder: &Document) -> Option<&Bson> {
    placeholder.get_array("$var").ok()?.get(1)
}

fn unsupported(operator: &str, reason: impl Into<String>) -> Finding {
    Finding::forbidden(ViolationKind::UnsupportedOperator, operator, reason)
}

#[cfg(test)]
mod tests;
