//! Opening a stream: from a request to a session on a socket, in the order of the contract.

use axum::{extract::Request, http::request::Parts, response::Response};

use super::{
    error::ApiError,
    gate::Admitted,
    link::{collection_link, outside},
    opening::{Asked, Opening},
    record::{Line, Record},
    request::{Query, accepts_events, last_event_id},
    sse::{self, Speaker, SseFormat},
    state::AppState,
    target::host,
    visitor::Visitor,
    websocket::{
        format::WsFormat,
        handshake::{self, Handshake, HandshakeError},
        own::Own,
        upgrade,
    },
};
use crate::{
    binding::Namespace,
    change::{Dialect, ResumeToken},
    hub::Resume,
    telemetry::{self, Surface},
};

/// How the client wants to be served.
enum Transport {
    Sse(SseFormat),
    WebSocket(WsFormat, Handshake),
}

/// `GET /<db>/<coll>/_streams/<uri>`
pub(crate) async fn open(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    uri: String,
    admitted: Admitted,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    let (path, host) = (parts.uri.path(), host(&parts.headers, &parts.uri));
    let collection = collection_link(state, outside(&parts), path, host, &namespace);
    let query = Query::parse(&parts.uri)?;
    let dialect = state.0.dialect;
    let asked = Asked { namespace, uri, collection, admitted, query: &query, vars: None, dialect };
    let opening = Opening::plan(state, asked).await?;
    let transport = choose(&parts, &query, &opening)?;
    let resume = resume(&parts, &query, &opening);
    let expiry = opening.expiry();
    let visitor = Visitor::admitted(&opening.admitted, &parts);
    let (seat, topic) = (opening.seat(state)?, opening.topic());
    let session = opening.open(state, resume, state.tempo()).await?.expires(expiry);
    let line = Line { transport: transport.name(), surface: Surface::Streams, topic };
    let session = session.recorded(Record::connection(state, &parts, line, seat));
    Ok(match transport {
        Transport::Sse(format) => sse::response(Speaker::new(session, format)),
        Transport::WebSocket(format, handshake) => {
            let own = Own::Stream(session);
            upgrade::respond(state, &mut parts, own, visitor, format, &handshake)
        }
    })
}

impl Transport {
    fn name(&self) -> telemetry::Transport {
        match self {
            Self::Sse(_) => telemetry::Transport::Sse,
            Self::WebSocket(..) => telemetry::Transport::WebSocket,
        }
    }
}

fn choose(parts: &Parts, query: &Query, opening: &Opening) -> Result<Transport, ApiError> {
    let named_heartbeat = query.named_heartbeat()?;
    let shape = opening.shape.clone();
    let snapshot_in = |transport: &str| {
        Err(ApiError::BadRequest(format!(
            "{transport} have no form for a snapshot; use server-sent events or tailwater.v1"
        )))
    };
    if opening.snapshot && shape.dialect == Dialect::RestHeart {
        return snapshot_in("restheart's frames");
    }
    if handshake::is_upgrade(&parts.headers) {
        let handshake = Handshake::check(&parts.headers, parts.version)?;
        if opening.snapshot && !handshake.enveloped {
            return snapshot_in("plain WebSocket messages");
        }
        let format = WsFormat { shape, enveloped: handshake.enveloped };
        return Ok(Transport::WebSocket(format, handshake));
    }
    if accepts_events(&parts.headers) {
        return Ok(Transport::Sse(SseFormat { shape, named_heartbeat }));
    }
    Err(neither_transport())
}

/// The request asks for no transport that there is.
pub(super) fn neither_transport() -> ApiError {
    let message = "Change Stream requires WebSocket or SSE \u{2014} send either 'Upgrade: websocket' \
                   or 'Accept: text/event-stream'";
    ApiError::BadRequest(message.to_owned())
}

impl From<HandshakeError> for ApiError {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Version => Self::UpgradeRequired(error.to_string()),
            HandshakeError::Key | HandshakeError::HttpVersion => {
                Self::BadRequest(error.to_string())
            }
        }
    }
}

fn resume(parts: &Parts, query: &Query, opening: &Opening) -> Resume {
    match (last_event_id(parts, query), opening.shape.dialect) {
        (id, Dialect::Tailwater) => opening.resume(id),
        (None, Dialect::RestHeart) => Resume::Live,
        (Some(id), Dialect::RestHeart) => raw_token(&id).map_or(Resume::Live, Resume::Token),
    }
}

/// RESTHeart's ids are resume tokens; what cannot be read is ignored with a warning, as there.
fn raw_token(id: &str) -> Option<ResumeToken> {
    let token = crate::json::parse_document(id, crate::json::Limits::default()).ok();
    let token = token.and_then(|token| ResumeToken::from_hex(token.get_str("_data").ok()?));
    if token.is_none() {
        tracing::warn!("a Last-Event-ID that is no resume token is ignored");
    }
    token
}
