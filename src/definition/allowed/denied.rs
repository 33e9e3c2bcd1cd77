//! The first pass: stages and operators that are dangerous wherever they stand, also inside stages
//! and values that the second pass would refuse or not look into.

use bson::{Bson, Document};

use super::super::path::At;
use super::super::violation::{Finding, ViolationKind};
use super::Checked;
use super::operators::{BLACKLISTED_OPERATORS, BLACKLISTED_STAGES};

/// Walks a whole stage; names are compared blind to case, as RESTHeart does.
pub(super) fn scan(stage: &Document) -> Checked {
    stage.iter().try_for_each(|(key, value)| {
        check_stage_name(key)?;
        scan_value(value).at(key.as_str())
    })
}

fn check_stage_name(name: &str) -> Checked {
    if listed(BLACKLISTED_OPERATORS, name) {
        let reason = "JavaScript execution is disabled by security policy";
        return Err(Finding::forbidden(ViolationKind::JavascriptExecution, name, reason));
    }
    check_key(name)
}

fn check_key(key: &str) -> Checked {
    if listed(BLACKLISTED_STAGES, key) {
        let reason = "Pipeline stage is in security blacklist";
        return Err(Finding::forbidden(ViolationKind::BlacklistedStage, key, reason));
    }
    if listed(BLACKLISTED_OPERATORS, key) {
        let reason = "Operator is in security blacklist";
        return Err(Finding::forbidden(ViolationKind::BlacklistedOperator, key, reason));
    }
    Ok(())
}

fn scan_value(value: &Bson) -> Checked {
    match value {
        Bson::Document(document) => document.iter().try_for_each(|(key, value)| {
            check_key(key)?;
            scan_value(value).at(key.as_str())
        }),
        Bson::Array(array) => {
            array.iter().enumerate().try_for_each(|(index, value)| scan_value(value).at(index))
        }
        Bson::JavaScriptCode(_) | Bson::JavaScriptCodeWithScope(_) => {
            let reason = "JavaScript execution is disabled by security policy";
            Err(Finding::forbidden(ViolationKind::JavascriptExecution, "$code", reason))
        }
        _ => Ok(()),
    }
}

fn listed(list: &[&str], name: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(name))
}
