//! A plan as JSON.

use bson::Document;
use serde_json::{Value, json};

use crate::{
    access::{Caller, Grant},
    binding::{Binding, CursorSpec, Explanation},
    http::{collections::render, error::ApiError},
    json::JsonMode,
};

pub(super) fn allowed(
    path: &str,
    caller: &Caller,
    grant: &Grant,
    binding: &Binding,
    subscribers: usize,
) -> Result<Value, ApiError> {
    let plan = &binding.explanation;
    Ok(json!({
        "path": path,
        "principal": principal(caller),
        "allowed": true,
        "permission": grant.permission,
        "cursor": cursor(&binding.cursor, plan, subscribers)?,
        "in_process": plan.in_process,
        "scope": plan.scope,
        "projection": plan.projection.as_ref().map(value).transpose()?,
        "warnings": plan.warnings,
        "words": plan.words(),
    }))
}

pub(super) fn denied(path: &str, caller: &Caller, reason: &str) -> Value {
    json!({
        "path": path,
        "principal": principal(caller),
        "allowed": false,
        "reason": reason,
        "cursor": null,
        "in_process": [],
        "scope": [],
        "projection": null,
        "warnings": [],
        "words": [format!("this caller may not open the stream: {reason}")],
    })
}

fn principal(caller: &Caller) -> Value {
    let user = caller.principal().map(|principal| principal.id());
    json!({ "user": user, "roles": caller.roles() })
}

fn cursor(spec: &CursorSpec, plan: &Explanation, subscribers: usize) -> Result<Value, ApiError> {
    Ok(json!({
        "shared": plan.shared,
        "shared_with": plan.shared_with,
        "namespace": spec.namespace.to_string(),
        "pipeline": plan.pipeline.iter().map(value).collect::<Result<Vec<_>, _>>()?,
        "fullDocument": spec.full_document.as_str(),
        "fullDocumentBeforeChange": spec.before_change.as_str(),
        "showExpandedEvents": spec.expanded_events,
        "subscribers": subscribers,
    }))
}

fn value(document: &Document) -> Result<Value, ApiError> {
    let text = render(document, JsonMode::Relaxed)?;
    serde_json::from_slice(&text).map_err(|error| ApiError::Unprocessable(error.to_string()))
}
