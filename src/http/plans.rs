//! Plans without a request: what the command line asks.

use axum::http::Request;
use serde_json::Value;

use super::{explain, state::AppState};
use crate::access::StandIn;

/// The plan of a stream for somebody, as `GET /_/explain` gives it to an administrator.
///
/// # Errors
/// What is wrong with the path, the stream or the name, in words.
pub async fn plan(state: &AppState, path: &str, asked: &StandIn) -> Result<Value, String> {
    let request = Request::get("/_/explain").body(()).map_err(|error| error.to_string())?;
    let (parts, ()) = request.into_parts();
    let plan = explain::for_another(state, &parts, path, asked).await;
    plan.map_err(|error| error.to_string())
}
