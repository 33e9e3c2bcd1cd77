//! The surface of entity feeds: by entity, by topic, by declared subscription.

mod admission;
mod edition;
mod noticing;
mod open;
mod place;
mod schema;
mod sse;
mod target;

use axum::{extract::Request, http::Method, response::Response};

pub(crate) use edition::Edition;
pub(crate) use target::Target;

use super::{error::ApiError, state::AppState};
use crate::catalog::Declarations;

/// What the routes of entity feeds need besides what all routes need.
#[derive(Debug, Clone)]
pub struct Feeds {
    /// Where they are mounted, like `/api`.
    pub prefix: String,
    /// What is declared.
    pub declarations: Declarations,
    /// Whether callers can be told apart at all. Where they cannot, nobody can be held to a tenant,
    /// and no feed is opened.
    pub identity: bool,
}

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
