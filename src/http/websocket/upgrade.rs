//! From an HTTP request to a socket that speaks.

use axum::{
    body::Body,
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;

use super::{
    connection::{self, Conversation},
    format::WsFormat,
    handshake::Handshake,
    own::Own,
    subscriptions::Subscriptions,
};
use crate::{
    http::{error::ApiError, state::AppState, visitor::Visitor},
    telemetry::Cause,
};

/// Requests that wait for the speaking half. When they are full the client is not listened to: a
/// client that asks faster than it reads waits for itself.
const REQUESTS: usize = 16;

/// Answers `101` and serves the socket in a task of its own. A client of the subprotocol may open
/// further streams, as the visitor that it is.
pub(crate) fn respond(
    state: &AppState,
    parts: &mut Parts,
    own: Own,
    visitor: Visitor,
    format: WsFormat,
    handshake: &Handshake,
) -> Response {
    let mut own = own;
    let Some(upgrade) = parts.extensions.remove::<hyper::upgrade::OnUpgrade>() else {
        own.ends(Cause::NO_UPGRADE);
        return unsupported();
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = handshake.headers();
    let (requests, asked) = mpsc::channel(REQUESTS);
    let subscriptions = format.enveloped.then(|| Subscriptions::new(state.clone(), visitor, asked));
    let requests = subscriptions.is_some().then_some(requests);
    let conversation = Conversation {
        own,
        format,
        subscriptions,
        requests,
        write_timeout: state.0.write_timeout,
        inbound_message: state.0.inbound_message,
    };
    state.0.tasks.spawn(async move {
        match upgrade.await {
            Ok(socket) => connection::serve(TokioIo::new(socket), conversation).await,
            Err(error) => {
                let mut own = conversation.own;
                own.ends(Cause::NO_UPGRADE);
                tracing::debug!(%error, "an upgrade did not come about");
            }
        }
    });
    response
}

/// The host's server does not hand over its sockets.
fn unsupported() -> Response {
    ApiError::BadRequest("this connection cannot be upgraded; use server-sent events".to_owned())
        .into_response()
}
