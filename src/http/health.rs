//! Whether the process lives, and whether it can serve.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::state::AppState;

/// `GET /_/health/live`: the process answers. Says nothing of MongoDB, so that an outage there does not
/// restart every replica.
pub(crate) async fn live() -> Response {
    Json(json!({ "status": "live" })).into_response()
}

/// `GET /_/health/ready`: streams can be opened.
pub(crate) async fn ready(State(state): State<AppState>) -> Response {
    if state.0.draining.is_cancelled() {
        return not_ready("the service is shutting down");
    }
    if !state.0.gate.permissions().is_loaded() {
        return not_ready("the permissions have not been read yet");
    }
    match state.0.hub.check_source().await {
        Ok(()) => Json(json!({ "status": "ready" })).into_response(),
        Err(error) => not_ready(&error.to_string()),
    }
}

fn not_ready(reason: &str) -> Response {
    let body = Json(json!({ "status": "not ready", "reason": reason }));
    (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
}
