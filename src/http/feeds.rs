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

pub(crate) use admission::shown;
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
    if request.method() != Method::GET {
        let (parts, _) = request.into_parts();
        state.authenticated(&parts).await?;
        return Err(ApiError::MethodNotAllowed(parts.method.to_string(), "GET"));
    }
    match target {
        Target::Schema(entity) => schema::serve(state, feeds, request, &entity).await,
        target => open::open(state, feeds, request, target).await,
    }
}
