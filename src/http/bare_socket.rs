//! `GET /_/ws`: a socket that opens with no stream; its client subscribes to those it wants.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{Method, request::Parts},
    response::{IntoResponse, Response},
};

use super::{
    error::ApiError,
    lifetime::Lifetime,
    record::{Line, Record},
    state::AppState,
    visitor::Visitor,
    websocket::{
        format::WsFormat,
        handshake::{self, Handshake, SUBPROTOCOL},
        own::{Own, Quiet},
        upgrade,
    },
};
use crate::{
    change::{Dialect, Shape},
    hub::Ending,
    json::JsonMode,
    telemetry::{Surface, Transport},
};

/// `GET /_/ws`
pub(crate) async fn open(State(state): State<AppState>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    if parts.method != Method::GET {
        return ApiError::MethodNotAllowed(parts.method.to_string(), "GET").into_response();
    }
    opened(&state, &mut parts).await.unwrap_or_else(IntoResponse::into_response)
}

async fn opened(state: &AppState, parts: &mut Parts) -> Result<Response, ApiError> {
    let visitor = Visitor::of(state, parts).await?;
    if !handshake::is_upgrade(&parts.headers) {
        let message = "this is for WebSockets; server-sent events of several streams are at /_/sse";
        return Err(ApiError::BadRequest(message.to_owned()));
    }
    let handshake = Handshake::check(&parts.headers, parts.version)?;
    if !handshake.enveloped {
        let message =
            format!("offer the subprotocol {SUBPROTOCOL}; without it nothing can be asked");
        return Err(ApiError::BadRequest(message));
    }
    let mut lifetime = Lifetime::new(state.tempo());
    lifetime.expires(visitor.expiry());
    let ending = Arc::new(Ending::default());
    let rights = visitor.register(state, ending.handle());
    let shape = Shape { mode: JsonMode::Default, dialect: Dialect::Tailwater, reshaping: None };
    let format = WsFormat { shape, enveloped: true };
    let seat = visitor.seat(state)?;
    let (transport, surface) = (Transport::WebSocket, Surface::Streams);
    let line = Line { transport, surface, topic: parts.uri.path().to_owned() };
    let record = Record::connection(state, parts, line, seat);
    let own = Own::Nothing(Box::new(Quiet { lifetime, ending, record, _rights: rights }));
    Ok(upgrade::respond(state, parts, own, visitor, format, &handshake))
}
