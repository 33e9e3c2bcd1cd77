//! `GET /_/explain?path=…`: the plan of a stream, in words and JSON, for the caller or for somebody that an
//! administrator asks about.

mod answer;

use axum::{
    Json,
    extract::{Request, State},
    http::{Uri, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::Value;

use super::{
    error::ApiError,
    lookup::find,
    request::Query,
    state::AppState,
    target::{Target, host},
};
use crate::{
    access::{Caller, RequestKind, StandIn},
    binding::Binding,
    json::{self, Limits},
};

pub(crate) async fn explain(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let explained = explained(&state, &parts).await;
    explained.map_or_else(IntoResponse::into_response, |plan| Json(plan).into_response())
}

async fn explained(state: &AppState, parts: &Parts) -> Result<Value, ApiError> {
    let query = Query::parse(&parts.uri)?;
    let caller = state.authenticated(parts).await?;
    let path = query.get("path").ok_or_else(|| {
        ApiError::BadRequest("give the stream's path, variables included, as ?path=".to_owned())
    })?;
    match stand_in(&query)? {
        None => {
            let uri = read_path(path)?;
            let target = target(state, &uri, host(&parts.headers, &parts.uri))?;
            let admitted = state.admit_to(parts, caller, &uri, RequestKind::Stream)?;
            let plan = plan(state, &target, &uri, &admitted.caller, &admitted.grant).await?;
            Ok(plan)
        }
        Some(_) if !state.0.gate.permissions().is_root(&caller) => Err(ApiError::Denied),
        Some(asked) => for_another(state, parts, path, &asked).await,
    }
}

/// The plan for somebody who is not calling; also why there is none for them.
///
/// # Errors
/// What is wrong with the path or the stream; nobody is known by that name.
pub(super) async fn for_another(
    state: &AppState,
    parts: &Parts,
    path: &str,
    asked: &StandIn,
) -> Result<Value, ApiError> {
    let uri = read_path(path)?;
    let target = target(state, &uri, host(&parts.headers, &parts.uri))?;
    let caller = state.0.gate.stand_in(asked).await?;
    match state.judge(parts, caller.clone(), &uri, RequestKind::Stream)? {
        Ok(admitted) => plan(state, &target, &uri, &admitted.caller, &admitted.grant).await,
        Err(reason) => Ok(answer::denied(path, &caller, &reason)),
    }
}

fn read_path(path: &str) -> Result<Uri, ApiError> {
    path.parse()
        .map_err(|_| ApiError::BadRequest("illegal path parameter, it is no path".to_owned()))
}

fn target(state: &AppState, uri: &Uri, host: Option<&str>) -> Result<Target, ApiError> {
    let target = Target::parse(uri.path(), &state.0.mounts, host)?;
    state.guard_settings(&target)?;
    match target {
        Target::Stream(..) => Ok(target),
        _ => Err(ApiError::BadRequest("the path names no stream".to_owned())),
    }
}

async fn plan(
    state: &AppState,
    target: &Target,
    uri: &Uri,
    caller: &Caller,
    grant: &crate::access::Grant,
) -> Result<Value, ApiError> {
    let Target::Stream(namespace, name) = target else {
        return Err(ApiError::BadRequest("the path names no stream".to_owned()));
    };
    let variables = Query::parse(uri)?.variables(caller, grant, None)?;
    let definition = find(state, namespace, name).await?;
    let scope = state.0.gate.scope(grant, namespace);
    let binding = Binding::plan(namespace, &definition, &variables, &scope)?;
    let subscribers = state.0.hub.subscribers(&binding.cursor);
    answer::allowed(&uri.to_string(), caller, grant, &binding, subscribers)
}

/// `user`, `role` and `claims`; `None` when nobody else is asked about.
fn stand_in(query: &Query) -> Result<Option<StandIn>, ApiError> {
    let claims = query.get("claims").map(|text| {
        json::parse_document(text, Limits::default()).map_err(|error| {
            ApiError::BadRequest(format!(
                "illegal claims parameter, it is not a json object: {error}"
            ))
        })
    });
    let asked = StandIn {
        user: query.get("user").unwrap_or_default().to_owned(),
        roles: query.all("role").map(str::to_owned).collect(),
        claims: claims.transpose()?,
    };
    Ok((asked != StandIn::default()).then_some(asked))
}
