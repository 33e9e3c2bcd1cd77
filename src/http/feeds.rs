//! The surface of entity feeds: by entity, by topic, by declared subscription.

mod admission;
mod noticing;
mod open;
mod opening;
mod place;
mod schema;
mod sse;
pub(crate) mod target;
mod wishes;

use axum::{extract::Request, http::Method, response::Response};

use target::Target;

use super::{error::ApiError, state::AppState};

/// Serves a request below the prefix.
pub(crate) async fn serve(
    state: &AppState,
    request: Request,
    target: Target,
) -> Result<Response, ApiError> {
    let Some(feeds) = &state.0.feeds else {
        return Err(ApiError::NotFound("no such resource".to_owned()));
    };
    match (request.method(), target) {
        (&Method::GET, Target::Schema(entity)) => {
            schema::serve(state, feeds, request, &entity).await
        }
        (&Method::GET, target) => open::open(state, feeds, request, target).await,
        (method, _) => Err(ApiError::MethodNotAllowed(method.to_string(), "GET")),
    }
}
