//! Opening a stream: from a request to a session on a socket, in the order of the contract.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use hyper_util::rt::TokioIo;
use percent_encoding::utf8_percent_encode;

use super::{
    error::ApiError,
    gate::Admitted,
    lookup::find,
    recover::SEGMENT,
    request::{Query, accepts_events, last_event_id},
    router::host,
    session::Session,
    sse::{SseBody, SseFormat},
    state::AppState,
    target::collection_path,
    websocket::{
        connection,
        format::WsFormat,
        handshake::{self, Handshake, HandshakeError},
    },
};
use crate::{
    binding::{Binding, Namespace},
    change::{Dialect, ResumeToken, Shape},
    hub::Resume,
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
    let reviews = state.0.rights.reviews();
    let collection = collection_link(state, &request, &namespace);
    let (mut parts, _) = request.into_parts();
    let query = Query::parse(&parts.uri)?;
    let variables = query.variables(&admitted.caller)?;
    let (mode, etag) = (query.json_mode()?, query.etag()?);
    let watch = state.0.catalog.watch(&namespace.db).await;
    let definition = find(state, &namespace, &uri).await?;
    let scope = state.0.gate.scope(&admitted.grant, &namespace);
    let binding = Binding::plan(&namespace, &definition, &variables, &scope)?;
    let shape = Shape { mode, dialect: state.0.dialect, reshaping: binding.reshaping };
    let transport = choose(&parts, &query, shape)?;
    let resume = resume(&parts, &query, state.0.dialect);
    let subscription =
        state.0.hub.subscribe(binding.cursor, Arc::new(binding.selection), resume).await?;
    let expiry = admitted.caller.principal().and_then(|principal| principal.expires_at());
    let session = Session::new(subscription, state.tempo(), collection, etag);
    let close = session.close_handle();
    let rights = state.0.rights.register(admitted, close.clone(), reviews, &state.0.gate);
    let definition = watch.guard(&namespace.coll, definition, close);
    let session = session.expires(expiry).guarded(definition, rights);
    Ok(match transport {
        Transport::Sse(format) => over_sse(session, format),
        Transport::WebSocket(format, handshake) => {
            over_websocket(state, &mut parts, session, format, &handshake)
        }
    })
}

fn choose(parts: &Parts, query: &Query, shape: Shape) -> Result<Transport, ApiError> {
    let named_heartbeat = query.named_heartbeat()?;
    if handshake::is_upgrade(&parts.headers) {
        let handshake = Handshake::check(&parts.headers, parts.version)?;
        let format = WsFormat { shape, enveloped: handshake.enveloped };
        return Ok(Transport::WebSocket(format, handshake));
    }
    if accepts_events(&parts.headers) {
        return Ok(Transport::Sse(SseFormat { shape, named_heartbeat }));
    }
    let message = "Change Stream requires WebSocket or SSE \u{2014} send either 'Upgrade: websocket' \
                   or 'Accept: text/event-stream'";
    Err(ApiError::BadRequest(message.to_owned()))
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

fn resume(parts: &Parts, query: &Query, dialect: Dialect) -> Resume {
    match (last_event_id(parts, query), dialect) {
        (None, _) => Resume::Live,
        (Some(id), Dialect::Tailwater) => Resume::Id(id),
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

/// The collection's link: the path as the client knows it, without what follows the collection.
pub(crate) fn collection_link(
    state: &AppState,
    request: &Request,
    namespace: &Namespace,
) -> String {
    let path = collection_path(request.uri().path(), &state.0.mounts, host(request));
    path.unwrap_or_else(|| {
        let encode = |name| utf8_percent_encode(name, SEGMENT);
        format!("/{}/{}", encode(&namespace.db), encode(&namespace.coll))
    })
}

fn over_sse(session: Session, format: SseFormat) -> Response {
    let mut response = Response::new(Body::new(SseBody::new(session, format)));
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn over_websocket(
    state: &AppState,
    parts: &mut Parts,
    session: Session,
    format: WsFormat,
    handshake: &Handshake,
) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = handshake.headers();
    let Some(upgrade) = parts.extensions.remove::<hyper::upgrade::OnUpgrade>() else {
        return switching_unsupported();
    };
    let write_timeout = state.0.write_timeout;
    state.0.tasks.spawn(async move {
        match upgrade.await {
            Ok(socket) => {
                connection::serve(TokioIo::new(socket), session, format, write_timeout).await;
            }
            Err(error) => tracing::debug!(%error, "an upgrade did not come about"),
        }
    });
    response
}

/// The host's server does not hand over its sockets.
fn switching_unsupported() -> Response {
    use axum::response::IntoResponse;
    ApiError::BadRequest("this connection cannot be upgraded; use server-sent events".to_owned())
        .into_response()
}
