//! Opening an entity feed: from a request to a session on a socket, in the order of the contract.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Version, header},
    response::Response,
};

use super::{Target, opening::Opening, sse::FeedVoice, wishes::Wishes};
use crate::{
    access::RequestKind,
    change::Shape,
    entity::Heartbeat,
    http::{
        error::ApiError,
        session::Session,
        sse::{Speaker, SseBody},
        state::AppState,
        surface::Feeds,
        visitor::Visitor,
        websocket::{format::WsFormat, own::Own, upgrade},
    },
    json::JsonMode,
};

/// `GET {prefix}/subscribe/{entity}` and its siblings.
pub(super) async fn open(
    state: &AppState,
    feeds: &Feeds,
    request: Request,
    target: Target,
) -> Result<Response, ApiError> {
    if !feeds.identity {
        return Err(ApiError::Unavailable("subscriptions require an identity".to_owned()));
    }
    let look = state.0.rights.look();
    let (mut parts, _) = request.into_parts();
    let head = state.0.gate.head(&parts)?;
    let admitted = state.0.gate.admit(head, &parts, RequestKind::Feed).await?.by(look);
    let visitor = Visitor::admitted(&admitted, &parts);
    let wishes = Wishes::read(&parts, &target, &admitted)?;
    let (handshake, heartbeat) = (wishes.handshake.clone(), wishes.heartbeat);
    let opening = Opening::plan(state, feeds, &target, admitted, wishes).await?;
    let session = opening.open(&parts).await?;
    let Some(handshake) = handshake else {
        return Ok(over_sse(session, heartbeat, parts.version));
    };
    let shape = Shape { mode: JsonMode::Default, dialect: state.0.dialect, reshaping: None };
    let format = WsFormat { shape, enveloped: handshake.enveloped };
    Ok(upgrade::respond(state, &mut parts, Own::Stream(session), visitor, format, &handshake))
}

fn over_sse(session: Session, heartbeat: Heartbeat, version: Version) -> Response {
    let mut response =
        Response::new(Body::new(SseBody::new(Speaker::new(session, FeedVoice { heartbeat }))));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // HTTP/2 has no such header.
    if version < Version::HTTP_2 {
        headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    }
    response
}
