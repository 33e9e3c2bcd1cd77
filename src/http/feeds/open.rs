//! Opening an entity feed: from a request to a session on a socket, in the order of the contract.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Version, header, request::Parts},
    response::Response,
};

use super::{
    Target,
    admission::{Admitting, unknown_topic},
    noticing::Noticing,
    place,
    sse::FeedVoice,
};
use crate::{
    access::RequestKind,
    binding::Namespace,
    change::Shape,
    entity::{
        Asked, Bundle, FeedError, Found, Heartbeat, Operations, SubscriptionDef, Topic, Transport,
    },
    http::{
        edition::{Edition, Place},
        error::ApiError,
        gate::Admitted,
        lifetime::Tempo,
        open::neither_transport,
        opening,
        record::{Line, Record},
        request::{Query, accepts_events, last_event_id},
        session::Session,
        sse::{Speaker, SseBody},
        state::AppState,
        surface::Feeds,
        visitor::Visitor,
        websocket::{
            connection::Own,
            format::WsFormat,
            handshake::{self, Handshake},
            upgrade,
        },
    },
    hub::Resume,
    json::JsonMode,
    telemetry::{self, Surface},
};

/// What a request says besides its path.
struct Wishes {
    asked: Asked,
    ops: Operations,
    heartbeat: Heartbeat,
    handshake: Option<Handshake>,
    etag: Option<bson::oid::ObjectId>,
    resume: Option<String>,
}

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
    let reviews = state.0.rights.reviews();
    let (mut parts, _) = request.into_parts();
    let head = state.0.gate.head(&parts)?;
    let admitted = state.0.gate.admit(head, &parts, RequestKind::Feed).await?;
    let wishes = Wishes::read(&parts, &target)?;
    check_wildcard(&wishes.asked, &admitted)?;
    let entities = feeds.declarations.current();
    let found = entities.find(&wishes.asked).ok_or_else(|| unknown(&target))?;
    check_transport(found.subscription.as_deref(), wishes.handshake.is_some())?;
    let admitting =
        Admitting { state, feeds, target: &target, admitted: &admitted, ops: wishes.ops };
    let admission = admitting.admit(&found)?;
    let images = records_images(state, &found).await?;
    let planned = Bundle::plan(admission.feeds, &found.parts, images)?;
    let resumed = wishes.resume.as_deref().and_then(Place::parse);
    let resume = resume(&wishes, resumed.as_ref(), &planned.bundle);
    let selection = Arc::new(planned.selection);
    let topic = wishes.asked.topic(&found);
    let seat = state.seat(&admitted.caller, &admitted.head)?;
    let owner = planned.own.then(|| opening::owner(state, &admitted, &topic));
    let subscribed = state.0.hub.subscribe_for(owner, planned.cursor, selection, resume);
    let subscription = subscribed.await?;
    let telemetry = state.0.hub.telemetry();
    for entity in planned.bundle.entities() {
        subscription.observe(&entity.name, Noticing::of(entity, telemetry));
    }
    let expiry = admitted.caller.principal().and_then(|principal| principal.expires_at());
    let (collection, more) = links(state, planned.bundle.collections());
    let tempo = Tempo { heartbeat: Some(wishes.heartbeat.duration()), ..state.tempo() };
    let session = Session::new(subscription, tempo, collection, wishes.etag);
    let close = session.close_handle();
    let visitor = Visitor::admitted(&admitted, &parts);
    let rights = state.0.rights.register_all(
        admitted.caller,
        admission.decided,
        close.clone(),
        reviews,
        &state.0.gate,
    );
    let declared = feeds.declarations.guard(wishes.asked, found, close);
    let guards = (declared, rights);
    let edition = Edition::new(planned.bundle, telemetry.clone(), resumed, more, guards);
    let transport = match wishes.handshake {
        Some(_) => telemetry::Transport::WebSocket,
        None => telemetry::Transport::Sse,
    };
    let line = Line { transport, surface: Surface::Entities, topic };
    let record = Record::connection(state, &parts, line, seat);
    tracing::info!(
        sub = record.subscriber().id().number(),
        topic = record.subscriber().topic(),
        "an entity feed is open"
    );
    let session = session.expires(expiry).edited(edition).recorded(record);
    Ok(match &wishes.handshake {
        Some(handshake) => {
            let shape =
                Shape { mode: JsonMode::Default, dialect: state.0.dialect, reshaping: None };
            let format = WsFormat { shape, enveloped: handshake.enveloped };
            let own = Own::Stream(session);
            upgrade::respond(state, &mut parts, own, visitor, format, handshake)
        }
        None => over_sse(session, wishes.heartbeat, parts.version),
    })
}

impl Wishes {
    fn read(parts: &Parts, target: &Target) -> Result<Self, ApiError> {
        let query = Query::parse(&parts.uri)?;
        let bad = |error: &dyn std::fmt::Display| ApiError::BadRequest(error.to_string());
        let ops = Operations::from_query(once(&query, "ops")?).map_err(|error| bad(&error))?;
        let heartbeat = Heartbeat::from_query(once(&query, "heartbeat")?);
        let heartbeat = heartbeat.map_err(|error| bad(&error))?;
        let asked = match target {
            Target::Entity(name) | Target::Schema(name) => Asked::Entity(name.clone()),
            Target::Subscription(name) => Asked::Subscription(name.clone()),
            Target::Topic => {
                let topic = Topic::from_query(once(&query, "topic")?.unwrap_or_default());
                Asked::Topic(topic.map_err(|error| bad(&error))?)
            }
        };
        let (etag, resume) = (query.etag()?, last_event_id(parts, &query));
        let handshake = handshake(parts)?;
        Ok(Self { asked, ops, heartbeat, handshake, etag, resume })
    }
}

/// A parameter that may be given once: which of two is meant cannot be told.
fn once<'a>(query: &'a Query, name: &'a str) -> Result<Option<&'a str>, ApiError> {
    let mut values = query.all(name);
    let first = values.next();
    match values.next() {
        Some(_) => Err(ApiError::BadRequest(format!("{name} is given twice; give it once"))),
        None => Ok(first),
    }
}

/// `None`: server-sent events.
fn handshake(parts: &Parts) -> Result<Option<Handshake>, ApiError> {
    if handshake::is_upgrade(&parts.headers) {
        return Ok(Some(Handshake::check(&parts.headers, parts.version)?));
    }
    if takes_anything(&parts.headers) || accepts_events(&parts.headers) {
        return Ok(None);
    }
    Err(neither_transport())
}

/// Whether a client says nothing about types, or that any will do: a feed has but one.
fn takes_anything(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::ACCEPT).into_iter().peekable();
    let any = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("*/*"));
    values.peek().is_none() || values.any(any)
}

fn check_wildcard(asked: &Asked, admitted: &Admitted) -> Result<(), ApiError> {
    match asked {
        Asked::Topic(Topic::All) if !admitted.grant.all_topics => Err(ApiError::Denied),
        _ => Ok(()),
    }
}

fn check_transport(
    subscription: Option<&SubscriptionDef>,
    websocket: bool,
) -> Result<(), ApiError> {
    let Some(subscription) = subscription else { return Ok(()) };
    let (wanted, other) = match websocket {
        true => (Transport::WebSocket, "server-sent events (Accept: text/event-stream)"),
        false => (Transport::Sse, "a WebSocket (Upgrade: websocket)"),
    };
    if subscription.transports.allow(wanted) {
        return Ok(());
    }
    let name = &subscription.name;
    Err(ApiError::BadRequest(format!("subscription {name} is opened as {other} only")))
}

fn unknown(target: &Target) -> ApiError {
    match target {
        Target::Topic => unknown_topic(),
        Target::Subscription(_) => ApiError::NotFound("no such subscription".to_owned()),
        Target::Entity(_) | Target::Schema(_) => ApiError::NotFound("no such entity".to_owned()),
    }
}

/// Whether all collections record images: one cursor asks the same of all of them.
async fn records_images(state: &AppState, found: &Found) -> Result<bool, ApiError> {
    let mut seen: Vec<&Namespace> = Vec::new();
    for part in &found.parts {
        let namespace = &part.entity.namespace;
        if seen.contains(&namespace) {
            continue;
        }
        if !state.0.catalog.records_images(namespace).await? {
            return Ok(false);
        }
        seen.push(namespace);
    }
    Ok(true)
}

fn resume(wishes: &Wishes, place: Option<&Place>, bundle: &Bundle) -> Resume {
    match (&wishes.resume, place) {
        (None, _) => Resume::Live,
        (Some(_), Some(place)) if bundle.splits_changes() => {
            Resume::Within(place.position().to_owned())
        }
        (Some(_), Some(place)) => Resume::Id(place.position().to_owned()),
        // Answered with a reset, as everything that is no id of ours.
        (Some(_), None) => Resume::Id(String::new()),
    }
}

/// The links by which what was missed is read: the first, and those of further collections.
fn links(state: &AppState, collections: Vec<&Namespace>) -> (String, Vec<String>) {
    let mut links = collections.into_iter().map(|it| place::collection_path(&state.0.mounts, it));
    (links.next().unwrap_or_default(), links.collect())
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

impl From<FeedError> for ApiError {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Plan(error) => error.into(),
            FeedError::Definition(error) => error.into(),
        }
    }
}
