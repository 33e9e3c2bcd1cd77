//! `/_/metrics` and `/_/status`: for operators, who have the root role or come in by a listener of
//! their own.

use std::time::Duration;

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    error::ApiError, outgoing::timestamp, request::Query, state::AppState, surface::Feeds,
};
use crate::telemetry::{Counts, CursorStatus, Sieve, Status, SubscriberStatus, Telemetry};

/// Put on requests that come in by the operators' own listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnListener;

/// `GET /_/metrics`: the counters, for Prometheus.
pub(crate) async fn metrics(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(error) = state.operator(&parts).await {
        return error.into_response();
    }
    let mut response = state.0.hub.telemetry().prometheus().into_response();
    let text = HeaderValue::from_static(Telemetry::MEDIA_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

/// `GET /_/status`: the same and every cursor and subscriber, for people.
pub(crate) async fn status(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(error) = state.operator(&parts).await {
        return error.into_response();
    }
    let mut body = describe(&state.0.hub.telemetry().status());
    body["draining"] = state.0.draining.is_cancelled().into();
    if let Some(feeds) = &state.0.feeds {
        body["declarations"] = declarations(feeds);
    }
    Json(body).into_response()
}

/// `DELETE /_/sessions?user=…`: closes whatever a user has open.
pub(crate) async fn disconnect(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    disconnected(&state, &parts).await.unwrap_or_else(IntoResponse::into_response)
}

async fn disconnected(state: &AppState, parts: &Parts) -> Result<Response, ApiError> {
    state.root(parts).await?;
    let query = Query::parse(&parts.uri)?;
    let user = query.get("user").filter(|user| !user.is_empty());
    let missing = || ApiError::BadRequest("name the user: ?user=<id>".to_owned());
    let closed = state.0.rights.disconnect(user.ok_or_else(missing)?);
    Ok(Json(json!({ "closed": closed })).into_response())
}

impl AppState {
    /// Lets an operator in.
    async fn operator(&self, parts: &Parts) -> Result<(), ApiError> {
        if parts.extensions.get::<OwnListener>().is_some() {
            return Ok(());
        }
        self.root(parts).await
    }

    /// Lets the root role in, on every listener.
    async fn root(&self, parts: &Parts) -> Result<(), ApiError> {
        let caller = self.authenticated(parts).await?;
        let root = self.0.gate.permissions().is_root(&caller);
        if root { Ok(()) } else { Err(ApiError::Denied) }
    }
}

/// Whether the folder of entities is in use as it stands, else what is wrong with it since when.
fn declarations(feeds: &Feeds) -> Value {
    match feeds.declarations.problem() {
        None => json!({ "state": "valid" }),
        Some(problem) => json!({
            "state": "invalid",
            "since": timestamp(problem.since),
            "errors": problem.errors,
        }),
    }
}

fn describe(status: &Status) -> Value {
    let totals = status.totals.iter().map(|(surface, totals)| {
        let active = status.active.iter().find(|(known, ..)| known == surface);
        let (subscribers, topics) = active.map_or((0, 0), |(_, s, t)| (*s, *t));
        let mut described = json!({ "subscribers": subscribers, "topics": topics });
        extend(&mut described, counts(totals));
        (surface.as_str().to_owned(), described)
    });
    let connections = status.connections.iter().map(|(transport, surface, open)| {
        json!({ "transport": transport.as_str(), "surface": surface.as_str(), "open": open })
    });
    let closed = status.closed.iter().map(|(cause, n)| (cause.as_str().to_owned(), json!(n)));
    let refused = status.refused.iter().map(|(cap, n)| (cap.as_str().to_owned(), json!(n)));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "connections": connections.collect::<Vec<_>>(),
        "closed": Value::Object(closed.collect()),
        "refused": Value::Object(refused.collect()),
        "read": status.read,
        "published": status.published,
        "entity_published": status.entity_published,
        "entity_unowned": status.entity_unowned,
        "catch_ups": status.catch_ups,
        "lag": seconds(status.lag()),
        "totals": Value::Object(totals.collect()),
        "cursors": status.cursors.iter().map(cursor).collect::<Vec<_>>(),
        "subscribers": status.subscribers.iter().map(subscriber).collect::<Vec<_>>(),
    })
}

fn cursor(cursor: &CursorStatus) -> Value {
    json!({
        "namespace": cursor.namespace,
        "sharing": if cursor.own { "own" } else { "shared" },
        "state": if cursor.degraded { "degraded" } else { "healthy" },
        "lag": seconds(cursor.lag),
        "subscribers": cursor.subscribers,
        "published": cursor.published,
    })
}

fn subscriber(subscriber: &SubscriberStatus) -> Value {
    let mut described = json!({
        "sub": subscriber.sub,
        "surface": subscriber.surface.as_str(),
        "topic": subscriber.topic,
    });
    extend(&mut described, counts(&subscriber.counts));
    described
}

fn counts(counts: &Counts) -> Value {
    let by =
        Sieve::ALL.map(|sieve| (sieve.as_str().to_owned(), counts.filtered[sieve as usize].into()));
    json!({
        "seen": counts.seen,
        "delivered": counts.delivered,
        "dropped": counts.dropped,
        "filtered": counts.filtered(),
        "filtered_by": Value::Object(by.into_iter().collect()),
        "skipped": counts.skipped,
        "resets": counts.resets,
        "bytes": counts.bytes,
    })
}

fn extend(described: &mut Value, more: Value) {
    if let (Some(described), Value::Object(more)) = (described.as_object_mut(), more) {
        described.extend(more);
    }
}

/// Absent numbers are `null`: not known is not zero.
fn seconds(lag: Option<Duration>) -> Value {
    lag.map_or(Value::Null, |lag| lag.as_secs_f64().into())
}
