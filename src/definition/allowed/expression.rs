//! The second pass, aggregation expressions and the specifications of `$project` and `$set`.

use bson::{Bson, Document};

use super::super::path::At;
use super::operators::{EXPRESSIONS, UNUSABLE};
use super::{Checked, Mode, seen, unsupported};
use crate::suggest::hint;

/// Checks every operator below an expression; what `$literal` quotes is data and not looked into.
pub(super) fn check(value: &Bson, mode: Mode) -> Checked {
    match seen(value, mode) {
        Some(Bson::Document(document)) => check_document(document, mode),
        Some(Bson::Array(items)) => {
            items.iter().enumerate().try_for_each(|(index, item)| check(item, mode).at(index))
        }
        Some(Bson::String(text)) => check_text(text),
        _ => Ok(()),
    }
}

fn check_document(document: &Document, mode: Mode) -> Checked {
    document.iter().try_for_each(|(key, value)| {
        check_key(key, document.len())?;
        if key == "$literal" { Ok(()) } else { check(value, mode).at(key.as_str()) }
    })
}

fn check_key(key: &str, siblings: usize) -> Checked {
    if !key.starts_with('$') {
        return Ok(());
    }
    if !EXPRESSIONS.contains(&key) {
        return Err(unknown(key));
    }
    if siblings > 1 {
        return Err(unsupported(key, "an operator must be the only key of its document"));
    }
    Ok(())
}

/// The roles are those of Tailwater's own MongoDB user, not of the caller.
fn check_text(text: &str) -> Checked {
    let variable = text.split('.').next().unwrap_or_default();
    if variable == "$$USER_ROLES" {
        let reason =
            "it holds the roles of the service's own user; use {\"$var\": \"@user.roles\"}";
        return Err(unsupported(variable, reason));
    }
    Ok(())
}

fn unknown(operator: &str) -> super::Finding {
    if let Some((_, reason)) = UNUSABLE.iter().find(|(name, _)| *name == operator) {
        return unsupported(operator, *reason);
    }
    let near = hint(operator, EXPRESSIONS.iter().copied());
    unsupported(operator, format!("it is not an expression that a change stream can use{near}"))
}
