//! `/_/asyncapi.json` and `/_/openapi.json`: the service described for machines, as far as the caller
//! may use it.

use axum::{
    Json,
    extract::{Request, State},
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};

use super::{error::ApiError, state::AppState};
use crate::{
    access::Caller,
    contract::{Served, encode},
};

/// `GET /_/asyncapi.json`: every stream that the caller may open, and no other.
pub(crate) async fn asyncapi(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let served = served(&state, &parts).await;
    served.map_or_else(IntoResponse::into_response, |it| Json(it.asyncapi()).into_response())
}

/// `GET /_/openapi.json`: what every deployment answers.
pub(crate) async fn openapi(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match state.authenticated(&parts).await {
        Ok(_) => {
            let served = Served { host: host(&parts), ..Served::default() };
            Json(served.openapi()).into_response()
        }
        Err(error) => error.into_response(),
    }
}

async fn served(state: &AppState, parts: &Parts) -> Result<Served, ApiError> {
    let caller = state.authenticated(parts).await?;
    let declared = state.0.catalog.all().await?;
    let declared = declared.into_iter().filter(|(namespace, _)| *namespace != state.0.settings);
    let mut streams = Served::streams_of(declared, &state.0.mounts);
    streams.retain(|stream| state.may_open(parts, &caller, &stream.path));
    Ok(Served { streams, host: host(parts), ..feeds(state, parts, &caller) })
}

/// Entity feeds, where there are any and callers can be told apart.
fn feeds(state: &AppState, parts: &Parts, caller: &Caller) -> Served {
    let Some(feeds) = state.0.feeds.as_ref().filter(|feeds| feeds.identity) else {
        return Served::default();
    };
    let prefix = feeds.prefix.clone();
    let may = |path: String| state.may_open(parts, caller, &path);
    let entities = feeds.declarations.current().only(
        |entity| may(format!("{prefix}/subscribe/{}", encode(entity))),
        |subscription| may(format!("{prefix}/subscriptions/{}", encode(subscription))),
    );
    let topics = entities.topics().into_iter().map(str::to_owned);
    let topics = topics.filter(|it| may(format!("{prefix}/subscribe?topic={}", encode(it))));
    Served { topics: topics.collect(), entities, prefix, ..Served::default() }
}

fn host(parts: &Parts) -> Option<String> {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| parts.uri.authority().map(|it| it.as_str())).map(str::to_owned)
}
