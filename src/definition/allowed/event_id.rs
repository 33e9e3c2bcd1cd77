//! The event's own `_id` is its resume token: a stage that changes or drops it makes MongoDB end
//! the stream at the first event that reaches the end of the pipeline (error 280), so such a stage
//! is refused before it is ever opened.

use bson::{Bson, Document};

use super::super::path::At;
use super::super::violation::Finding;
use super::{Checked, Mode, seen};

/// Checks the argument of a stage whose shape is known to be right.
pub(super) fn check(operator: &str, argument: &Bson, mode: Mode) -> Checked {
    match (operator, argument) {
        ("$addFields" | "$set", Bson::Document(fields)) => set(fields, mode),
        ("$project", Bson::Document(fields)) => project(fields, mode),
        ("$unset", names) => unset(names, mode),
        ("$replaceRoot", Bson::Document(root)) => {
            root.get("newRoot").map_or(Ok(()), |root| replace(root, mode)).at("newRoot")
        }
        ("$replaceWith", root) => replace(root, mode),
        _ => Ok(()),
    }
}

fn set(fields: &Document, mode: Mode) -> Checked {
    fields.iter().filter(|(field, _)| is_id(field)).try_for_each(|(field, value)| {
        if field == "_id" && keeps_itself(value, mode) {
            Ok(())
        } else {
            Err(touched()).at(field.as_str())
        }
    })
}

fn project(fields: &Document, mode: Mode) -> Checked {
    fields.iter().filter(|(field, _)| is_id(field)).try_for_each(|(field, value)| {
        let kept = field == "_id" && (is_inclusion(value) || keeps_itself(value, mode));
        if kept { Ok(()) } else { Err(touched()).at(field.as_str()) }
    })
}

fn is_inclusion(value: &Bson) -> bool {
    match value {
        Bson::Boolean(included) => *included,
        Bson::Int32(number) => *number != 0,
        Bson::Int64(number) => *number != 0,
        Bson::Double(number) => *number != 0.0,
        _ => false,
    }
}

fn unset(names: &Bson, mode: Mode) -> Checked {
    match seen(names, mode) {
        Some(Bson::String(name)) if is_id(name) => Err(touched()),
        Some(Bson::Array(names)) => {
            names.iter().enumerate().try_for_each(|(index, name)| unset(name, mode).at(index))
        }
        _ => Ok(()),
    }
}

fn replace(root: &Bson, mode: Mode) -> Checked {
    match identity(root, mode) {
        Identity::Kept => Ok(()),
        Identity::Absent | Identity::Lost => Err(Finding::malformed(
            "the new root must keep the event's `_id`, which MongoDB needs: write \
             {\"$mergeObjects\": [\"$$ROOT\", {…}]}, or give the new root `_id: \"$_id\"`",
        )),
    }
}

/// What an expression does with the event's `_id`.
#[derive(Clone, Copy, PartialEq)]
enum Identity {
    /// Its result has the event's `_id`.
    Kept,
    /// Its result has no `_id`.
    Absent,
    /// Its result has another `_id`, or may have.
    Lost,
}

/// Recognises the forms whose result can be told without evaluating; every other is `Lost`.
fn identity(expression: &Bson, mode: Mode) -> Identity {
    match seen(expression, mode) {
        Some(Bson::String(text)) if text == "$$ROOT" || text == "$$CURRENT" => Identity::Kept,
        Some(Bson::Document(document)) => match document.iter().next() {
            Some((operator, argument)) if operator.starts_with('$') => {
                computed(operator, argument, mode)
            }
            _ => object(document, mode),
        },
        // A variable that is filled in later is looked at again then.
        None => Identity::Absent,
        Some(_) => Identity::Lost,
    }
}

fn object(document: &Document, mode: Mode) -> Identity {
    let touches: Vec<_> = document.iter().filter(|(field, _)| is_id(field)).collect();
    match touches.as_slice() {
        [] => Identity::Absent,
        [(field, value)] if *field == "_id" && keeps_itself(value, mode) => Identity::Kept,
        _ => Identity::Lost,
    }
}

fn computed(operator: &str, argument: &Bson, mode: Mode) -> Identity {
    match (operator, argument) {
        ("$mergeObjects", Bson::Array(parts)) => merged(parts, mode),
        ("$mergeObjects", part) => identity(part, mode),
        ("$setField" | "$unsetField", Bson::Document(argument)) => one_field(argument, mode),
        ("$literal", Bson::Document(quoted)) if !quoted.contains_key("_id") => Identity::Absent,
        _ => Identity::Lost,
    }
}

/// Later objects win, so the last one that has an `_id` decides.
fn merged(parts: &[Bson], mode: Mode) -> Identity {
    parts.iter().fold(Identity::Absent, |before, part| match identity(part, mode) {
        Identity::Absent => before,
        other => other,
    })
}

fn one_field(argument: &Document, mode: Mode) -> Identity {
    let input = argument.get("input").map_or(Identity::Lost, |input| identity(input, mode));
    match argument.get("field") {
        Some(Bson::String(field)) if field != "_id" && !field.starts_with('$') => input,
        _ => Identity::Lost,
    }
}

fn keeps_itself(value: &Bson, mode: Mode) -> bool {
    let itself = ["$_id", "$$ROOT._id", "$$CURRENT._id"];
    matches!(seen(value, mode), Some(Bson::String(text)) if itself.contains(&text.as_str()))
}

fn is_id(path: &str) -> bool {
    path == "_id" || path.starts_with("_id.")
}

fn touched() -> Finding {
    Finding::malformed(
        "the event's own `_id` is its resume token and must stay as it is (the document's is \
         `documentKey._id`); remove this",
    )
}
