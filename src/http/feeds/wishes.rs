//! What a request for a feed says besides its path.

use axum::http::{HeaderMap, HeaderValue, header, request::Parts};

use super::{Target, admission::check_wildcard};
use crate::{
    entity::{Asked, Heartbeat, Operations, Topic},
    http::{
        error::ApiError,
        gate::Admitted,
        open::neither_transport,
        request::{Query, accepts_events, last_event_id},
        websocket::handshake::{self, Handshake},
    },
    suggest::nearest,
};

/// Parameters and headers, read before anything is looked up.
pub(super) struct Wishes {
    pub(super) asked: Asked,
    pub(super) ops: Operations,
    pub(super) heartbeat: Heartbeat,
    pub(super) handshake: Option<Handshake>,
    pub(super) etag: Option<bson::oid::ObjectId>,
    pub(super) resume: Option<String>,
}

impl Wishes {
    pub(super) fn read(
        parts: &Parts,
        target: &Target,
        admitted: &Admitted,
    ) -> Result<Self, ApiError> {
        let query = Query::parse(&parts.uri)?;
        let asked = asked(&query, target)?;
        check_wildcard(&asked, admitted)?;
        check_names(&query, target)?;
        let ops = Operations::from_query(once(&query, "ops")?).map_err(|error| bad(&error))?;
        let heartbeat = Heartbeat::from_query(once(&query, "heartbeat")?);
        let heartbeat = heartbeat.map_err(|error| bad(&error))?;
        let (etag, resume) = (query.etag()?, last_event_id(parts, &query));
        let handshake = handshake(parts)?;
        Ok(Self { asked, ops, heartbeat, handshake, etag, resume })
    }
}

fn asked(query: &Query, target: &Target) -> Result<Asked, ApiError> {
    Ok(match target {
        Target::Entity(name) | Target::Schema(name) => Asked::Entity(name.clone()),
        Target::Subscription(name) => Asked::Subscription(name.clone()),
        Target::Topic => {
            let topic = Topic::from_query(once(query, "topic")?.unwrap_or_default());
            Asked::Topic(topic.map_err(|error| bad(&error))?)
        }
    })
}

fn bad(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::BadRequest(error.to_string())
}

/// Parameters of feeds.
const NAMES: [&str; 6] = ["ops", "heartbeat", "topic", "lastEventId", "etag", "ticket"];

/// Parameters of other resources: whoever gives one expects something that is not done.
const ELSEWHERE: [&str; 5] = ["avars", "fields", "jsonMode", "snapshot", "stream"];

/// Other names are let pass, as permissions may ask for them. One that was meant to choose would widen
/// what comes if it were.
fn check_names(query: &Query, target: &Target) -> Result<(), ApiError> {
    for name in query.names() {
        let elsewhere = ELSEWHERE.contains(&name);
        let misplaced = name == "topic" && *target != Target::Topic;
        let near = nearest(name, NAMES).filter(|_| !NAMES.contains(&name));
        let reason = match near {
            Some(near) => format!("; did you mean `{near}`"),
            None if misplaced => "; it is one of `subscribe` without an entity".to_owned(),
            None if elsewhere => String::new(),
            None => continue,
        };
        return Err(ApiError::BadRequest(format!("{name} is no parameter of this feed{reason}")));
    }
    Ok(())
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
