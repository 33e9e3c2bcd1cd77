//! `/_/asyncapi.json` and `/_/openapi.json`: the service described for machines, as far as the caller
//! may use it.

use axum::{
    Json,
    extract::{Request, State},
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};

use super::{error::ApiError, feeds::shown, state::AppState};
use crate::{
    access::{Caller, RequestKind},
    contract::{Served, ServedFeed},
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
    Ok(Served { streams, feeds: feeds(state, parts, &caller), host: host(parts) })
}

/// Entity feeds, where there are any and callers can be told apart.
fn feeds(state: &AppState, parts: &Parts, caller: &Caller) -> Vec<ServedFeed> {
    let Some(feeds) = state.0.feeds.as_ref().filter(|feeds| feeds.identity) else {
        return Vec::new();
    };
    let all = ServedFeed::all(&feeds.declarations.current(), &feeds.prefix);
    let shown = all.into_iter().filter_map(|ServedFeed { path, asked, found }| {
        let uri = path.parse().ok()?;
        let admitted = state.admit_to(parts, caller.clone(), &uri, RequestKind::Feed).ok()?;
        let found = shown(state, feeds, &admitted, &asked, found)?;
        Some(ServedFeed { path, asked, found })
    });
    shown.collect()
}

fn host(parts: &Parts) -> Option<String> {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| parts.uri.authority().map(|it| it.as_str())).map(str::to_owned)
}
