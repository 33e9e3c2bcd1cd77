//! The second pass, one stage: which stages exist, and the shape of each one's argument.

use bson::{Bson, Document};

use super::super::path::At;
use super::super::violation::{Finding, ViolationKind};
use super::operators::{OTHER_STAGES, STAGES};
use super::{Checked, Mode, event_id, expression, query, seen};
use crate::suggest::hint;

pub(super) fn check(stage: &Document, mode: Mode) -> Checked {
    // `{"$var": …}` may stand for the whole stage; then only its default can be looked at.
    let whole = Bson::Document(stage.clone());
    let Some(whole) = seen(&whole, mode) else { return Ok(()) };
    let stage = whole.as_document().ok_or_else(|| malformed("a stage must be a document"))?;
    let (operator, argument) = only_entry(stage)?;
    let check: fn(&Bson, Mode) -> Checked = match operator {
        "$match" => query::check,
        "$addFields" | "$set" => fields,
        "$project" => some_fields,
        "$unset" => names,
        "$replaceRoot" => new_root,
        "$replaceWith" | "$redact" => expression::check,
        other => return Err(unsupported_stage(other)),
    };
    let Some(argument) = seen(argument, mode) else { return Ok(()) };
    check(argument, mode).at(operator)?;
    event_id::check(operator, argument, mode).at(operator)
}

fn only_entry(stage: &Document) -> Result<(&str, &Bson), Finding> {
    match stage.iter().next() {
        Some((operator, argument)) if stage.len() == 1 => Ok((operator, argument)),
        _ => Err(malformed("a stage has exactly one key; write one document per stage")),
    }
}

fn unsupported_stage(name: &str) -> Finding {
    let reason = match name {
        "$changeStreamSplitLargeEvent" => {
            "the service adds it by itself where the server has it; remove it".to_owned()
        }
        "$ifvar" => "an optional stage must be an element of `stages`".to_owned(),
        _ => {
            let known = if OTHER_STAGES.contains(&name) { &[][..] } else { STAGES };
            let near = hint(name, known.iter().copied());
            format!("a change stream allows only {}{near}", STAGES.join(", "))
        }
    };
    Finding::forbidden(ViolationKind::UnsupportedStage, name, reason)
}

/// The argument of `$project`; unlike `$set` it is not valid without fields.
fn some_fields(argument: &Bson, mode: Mode) -> Checked {
    if argument.as_document().is_some_and(Document::is_empty) {
        return Err(malformed("it takes a document with at least one field"));
    }
    fields(argument, mode)
}

/// The argument of `$set`, `$addFields` and `$project`: field names with an expression each.
fn fields(argument: &Bson, mode: Mode) -> Checked {
    let fields =
        argument.as_document().ok_or_else(|| malformed("it takes a document of fields"))?;
    fields.iter().try_for_each(|(field, value)| {
        if field.is_empty() || field.starts_with('$') {
            return Err(malformed(format!("`{field}` is not a field name")));
        }
        expression::check(value, mode).at(field.as_str())
    })
}

/// The argument of `$unset`: one field name or several.
fn names(argument: &Bson, mode: Mode) -> Checked {
    let is_name = |value: &Bson| match seen(value, mode) {
        Some(Bson::String(name)) => !name.is_empty() && !name.starts_with('$'),
        Some(_) => false,
        None => true,
    };
    let fine = match argument {
        Bson::Array(names) => !names.is_empty() && names.iter().all(is_name),
        other => is_name(other),
    };
    if fine { Ok(()) } else { Err(malformed("it takes a field name or an array of field names")) }
}

fn new_root(argument: &Bson, mode: Mode) -> Checked {
    let shape = || malformed("it takes {\"newRoot\": expression}");
    let argument = argument.as_document().filter(|document| document.len() == 1);
    let root = argument.and_then(|document| document.get("newRoot")).ok_or_else(shape)?;
    expression::check(root, mode).at("newRoot")
}

fn malformed(reason: impl Into<String>) -> Finding {
    Finding::malformed(reason)
}
