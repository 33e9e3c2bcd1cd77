//! `POST /_/tickets`: a short-lived right to open one stream, for pages that cannot set headers.

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use bson::DateTime;
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::json;

use super::{error::ApiError, link::outside, state::AppState};
use crate::access::RequestKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    path: String,
}

/// Connections that carry several streams: the permission of each stream decides when it is opened.
pub(super) const SHARED: [&str; 2] = ["/_/sse", "/_/ws"];

/// Largest body, bytes.
const MAX_BODY: usize = 16 * 1024;

pub(crate) async fn issue(State(state): State<AppState>, request: Request) -> Response {
    issued(&state, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn issued(state: &AppState, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = state.authenticated(&parts).await?;
    let body = Limited::new(body, MAX_BODY).collect().await;
    let body = body.map_err(|_| ApiError::TooLarge(MAX_BODY))?.to_bytes();
    let asked: Asked = serde_json::from_slice(&body).map_err(|error| {
        ApiError::BadRequest(format!(r#"send {{"path": "/db/coll/_streams/uri"}}: {error}"#))
    })?;
    // A page names the stream by where it is, and that may be below where a host nests these routes.
    let outside = outside(&parts);
    let path = asked.path.strip_prefix(outside).filter(|path| path.starts_with('/'));
    let uri: Uri = path
        .unwrap_or(&asked.path)
        .parse()
        .map_err(|_| ApiError::BadRequest("path is no path".to_owned()))?;
    let ticket = if SHARED.contains(&uri.path()) {
        state.0.gate.ticket(uri.path(), &caller)?
    } else {
        let admitted = state.admit_to(&parts, caller, &uri, RequestKind::Stream)?;
        state.0.gate.ticket(admitted.head.path(), &admitted.caller)?
    };
    let separator = if uri.query().is_some() { '&' } else { '?' };
    let expires = DateTime::from_system_time(ticket.expires_at).try_to_rfc3339_string();
    let body = json!({
        "ticket": ticket.text,
        "expires": expires.unwrap_or_default(),
        "url": format!("{outside}{uri}{separator}ticket={}", ticket.text),
    });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
