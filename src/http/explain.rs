//! `GET /_/explain?path=…`: the plan of a stream, in words and JSON.

use axum::{
    Json,
    extract::{Request, State},
    http::{Uri, request::Parts},
    response::{IntoResponse, Response},
};
use bson::Document;
use serde_json::{Value, json};

use super::{
    error::ApiError, lookup::find, request::Query, router::host, state::AppState, target::Target,
};
use crate::{
    access::RequestKind,
    binding::{Binding, CursorSpec},
    json::JsonMode,
};

pub(crate) async fn explain(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    explained(&state, &parts).await.unwrap_or_else(IntoResponse::into_response)
}

async fn explained(state: &AppState, parts: &Parts) -> Result<Response, ApiError> {
    let query = Query::parse(&parts.uri)?;
    let caller = state.authenticated(parts).await?;
    let asked = query.get("path").ok_or_else(|| {
        ApiError::BadRequest("give the stream's path, variables included, as ?path=".to_owned())
    })?;
    let uri: Uri = asked
        .parse()
        .map_err(|_| ApiError::BadRequest("illegal path parameter, it is no path".to_owned()))?;
    let target = Target::parse(uri.path(), &state.0.mounts, host(&parts.headers, &parts.uri))?;
    state.guard_settings(&target)?;
    let Target::Stream(namespace, name) = target else {
        return Err(ApiError::BadRequest("the path names no stream".to_owned()));
    };
    let admitted = state.admit_to(parts, caller, &uri, RequestKind::Stream)?;
    let variables = Query::parse(&uri)?.variables(&admitted.caller, None)?;
    let definition = find(state, &namespace, &name).await?;
    let scope = state.0.gate.scope(&admitted.grant, &namespace);
    let binding = Binding::plan(&namespace, &definition, &variables, &scope)?;
    let subscribers = state.0.hub.subscribers(&binding.cursor);
    Ok(Json(describe(&binding, subscribers)?).into_response())
}

fn describe(binding: &Binding, subscribers: usize) -> Result<Value, ApiError> {
    let plan = &binding.explanation;
    Ok(json!({
        "cursor": cursor(&binding.cursor, plan.shared, &plan.pipeline, subscribers)?,
        "in_process": plan.in_process,
        "scope": plan.scope,
        "warnings": plan.warnings,
    }))
}

fn cursor(
    spec: &CursorSpec,
    shared: bool,
    pipeline: &[Document],
    subscribers: usize,
) -> Result<Value, ApiError> {
    let stages = pipeline.iter().map(|stage| {
        let text = super::collections::render(stage, JsonMode::Relaxed)?;
        serde_json::from_slice(&text).map_err(|error| ApiError::Unprocessable(error.to_string()))
    });
    Ok(json!({
        "shared": shared,
        "namespace": spec.namespace.to_string(),
        "pipeline": stages.collect::<Result<Vec<Value>, _>>()?,
        "fullDocument": spec.full_document.as_str(),
        "fullDocumentBeforeChange": spec.before_change.as_str(),
        "showExpandedEvents": spec.expanded_events,
        "subscribers": subscribers,
    }))
}
