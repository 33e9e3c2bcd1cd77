//! The second pass, `$match`: its operators, and data wherever MongoDB compares with data.

use bson::{Bson, Document};

use super::super::path::At;
use super::super::violation::Finding;
use super::operators::{FIELD_OPERATORS, LOGICAL, UNUSABLE, VALUE_KEYS};
use super::{Checked, Mode, expression, seen, unsupported};
use crate::suggest::hint;

/// A whole query.
pub(super) fn check(query: &Bson, mode: Mode) -> Checked {
    let Some(query) = seen(query, mode) else { return Ok(()) };
    let query = query.as_document().ok_or_else(|| Finding::malformed("a query is a document"))?;
    query.iter().try_for_each(|(key, value)| check_entry(key, value, mode))
}

fn check_entry(key: &str, value: &Bson, mode: Mode) -> Checked {
    let checked = match key {
        "$and" | "$or" | "$nor" => queries(value, mode),
        "$expr" => expression::check(value, mode),
        "$comment" => Ok(()),
        "$jsonSchema" => data(value, mode),
        field if !field.starts_with('$') => operand(value, mode),
        // The operator is named; its place is the document around it.
        other => return Err(unknown(other, LOGICAL)),
    };
    checked.at(key)
}

fn queries(value: &Bson, mode: Mode) -> Checked {
    let Some(value) = seen(value, mode) else { return Ok(()) };
    let queries = value.as_array().filter(|queries| !queries.is_empty());
    let queries = queries.ok_or_else(|| Finding::malformed("it takes an array of queries"))?;
    queries.iter().enumerate().try_for_each(|(index, query)| check(query, mode).at(index))
}

/// What a field is compared with: operators, or a value to be equal to.
fn operand(value: &Bson, mode: Mode) -> Checked {
    match seen(value, mode) {
        Some(Bson::Document(document)) if is_operators(document) => operators(document, mode),
        Some(value) => data(value, mode),
        None => Ok(()),
    }
}

/// MongoDB looks at the first key alone; a reference to a document starts with `$` too.
fn is_operators(document: &Document) -> bool {
    let first = document.keys().next().map_or("", String::as_str);
    first.starts_with('$') && first != "$ref"
}

fn operators(document: &Document, mode: Mode) -> Checked {
    document.iter().try_for_each(|(operator, value)| check_operator(operator, value, mode))
}

fn check_operator(operator: &str, value: &Bson, mode: Mode) -> Checked {
    let checked = match operator {
        "$not" => negated(value, mode),
        "$elemMatch" => element(value, mode),
        "$all" => all(value, mode),
        "$in" | "$nin" => list(value, mode).and_then(|_| data(value, mode)),
        known if FIELD_OPERATORS.contains(&known) => data(value, mode),
        other => return Err(unknown(other, FIELD_OPERATORS)),
    };
    checked.at(operator)
}

fn negated(value: &Bson, mode: Mode) -> Checked {
    match seen(value, mode) {
        Some(Bson::Document(document)) if is_operators(document) => operators(document, mode),
        Some(Bson::RegularExpression(_)) | None => Ok(()),
        Some(_) => Err(Finding::malformed("it takes operators or a regular expression")),
    }
}

fn element(value: &Bson, mode: Mode) -> Checked {
    match seen(value, mode) {
        Some(Bson::Document(document)) if is_value_form(document) => operators(document, mode),
        Some(value) => check(value, mode),
        None => Ok(()),
    }
}

fn is_value_form(document: &Document) -> bool {
    let first = document.keys().next().map_or("", String::as_str);
    is_operators(document) && !["$and", "$or", "$nor"].contains(&first)
}

fn all(value: &Bson, mode: Mode) -> Checked {
    let each = |item: &Bson| match item {
        Bson::Document(document)
            if document.keys().next().is_some_and(|key| key == "$elemMatch") =>
        {
            operators(document, mode)
        }
        item => data(item, mode),
    };
    let items = list(value, mode)?;
    items.iter().enumerate().try_for_each(|(index, item)| each(item).at(index))
}

fn list(value: &Bson, mode: Mode) -> Result<&[Bson], Finding> {
    match seen(value, mode) {
        Some(Bson::Array(items)) => Ok(items),
        None => Ok(&[]),
        Some(_) => Err(Finding::malformed("it takes an array")),
    }
}

/// A value that is compared as it stands. An operator inside it would be a mere field name there,
/// which is never what was meant.
fn data(value: &Bson, mode: Mode) -> Checked {
    match seen(value, mode) {
        Some(Bson::Document(document)) => document.iter().try_for_each(|(key, value)| {
            check_data_key(key)?;
            data(value, mode).at(key.as_str())
        }),
        Some(Bson::Array(array)) => {
            array.iter().enumerate().try_for_each(|(index, value)| data(value, mode).at(index))
        }
        _ => Ok(()),
    }
}

fn check_data_key(key: &str) -> Checked {
    if !key.starts_with('$') || VALUE_KEYS.contains(&key) {
        return Ok(());
    }
    let reason = match UNUSABLE.iter().find(|(name, _)| *name == key) {
        Some((_, reason)) => reason,
        None => "inside a value an operator is compared as a field name; use the dotted path",
    };
    Err(unsupported(key, reason))
}

fn unknown(operator: &str, known: &[&str]) -> Finding {
    if let Some((_, reason)) = UNUSABLE.iter().find(|(name, _)| *name == operator) {
        return unsupported(operator, *reason);
    }
    let near = hint(operator, known.iter().copied());
    unsupported(operator, format!("it is not an operator that `$match` can use here{near}"))
}
