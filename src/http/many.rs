//! `GET /_/sse?stream=…&stream=…`: several streams as server-sent events on one connection, for pages
//! whose browser opens no more than six.

use axum::{
    extract::{Request, State},
    http::{Method, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;

use self::speaker::ManySpeaker;
use super::{
    error::ApiError,
    joined::Joined,
    lifetime::Lifetime,
    opening::Opening,
    record::{Line, Record},
    request::{Query, accepts_events, last_event_id},
    sse,
    state::AppState,
    visitor::{StreamPath, Visitor},
    websocket::handshake,
};
use crate::{
    change::Shape,
    definition::RESERVED,
    telemetry::{Surface, Transport},
};

mod speaker;

/// `GET /_/sse`
pub(crate) async fn open(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if parts.method != Method::GET {
        return ApiError::MethodNotAllowed(parts.method.to_string(), "GET").into_response();
    }
    opened(&state, &parts).await.unwrap_or_else(IntoResponse::into_response)
}

async fn opened(state: &AppState, parts: &Parts) -> Result<Response, ApiError> {
    let visitor = Visitor::of(state, parts).await?;
    let query = Query::parse(&parts.uri)?;
    let named_heartbeat = query.named_heartbeat()?;
    check(parts, &query)?;
    let paths = paths(&query, state.0.streams_per_connection)?;
    let texts: Vec<_> = paths.iter().map(|path| path.text.as_str()).collect();
    let mut joined = Joined::new(&texts);
    let ids = ids(&paths, &joined, last_event_id(parts, &query));
    // Planned before any is opened: what one of them is refused for has cost MongoDB nothing.
    let openings = paths.iter().map(|path| async {
        visitor.plan(state, path, None).await.map_err(|error| error.about(&path.text))
    });
    let openings: Vec<_> = join_all(openings).await.into_iter().collect::<Result<_, _>>()?;
    let mut lifetime = Lifetime::new(state.tempo());
    lifetime.expires(openings.iter().find_map(Opening::expiry));
    let shapes: Vec<Shape> = openings.iter().map(|opening| opening.shape.clone()).collect();
    let seat = visitor.seat(state)?;
    let tempo = state.tempo().shared();
    let opened = openings.into_iter().zip(ids).zip(&texts).map(|((opening, id), text)| {
        let (tempo, resume, topic) = (tempo.clone(), opening.resume(id), opening.topic());
        async {
            let session = opening.open(state, resume, tempo).await;
            let session = session.map_err(|error| error.about(text))?;
            Ok::<_, ApiError>(session.recorded(Record::stream(state, topic)))
        }
    });
    let sessions: Vec<_> = join_all(opened).await.into_iter().collect::<Result<_, _>>()?;
    for (index, session) in sessions.iter().enumerate() {
        joined.set(index, session.position());
    }
    let streams = texts.iter().zip(shapes);
    let (transport, surface) = (Transport::Sse, Surface::Streams);
    let line = Line { transport, surface, topic: parts.uri.path().to_owned() };
    let record = Record::connection(state, parts, line, seat);
    let mut speaker = ManySpeaker::new(streams, joined, lifetime, named_heartbeat, record);
    sessions.into_iter().enumerate().for_each(|(index, session)| speaker.add(index, session));
    Ok(sse::response(speaker))
}

/// A variable that was meant for one of the streams and is not part of its path binds nothing: better
/// refused than forgotten.
fn check(parts: &Parts, query: &Query) -> Result<(), ApiError> {
    let known = |name: &str| name == "stream" || RESERVED.contains(&name);
    if let Some(name) = query.names().find(|name| !known(name)) {
        let name: String = name.chars().take(100).collect();
        return Err(ApiError::BadRequest(format!(
            "unknown parameter {name}; a stream's own query is part of its path, percent-encoded"
        )));
    }
    let message = match () {
        () if handshake::is_upgrade(&parts.headers) => {
            "this is for server-sent events; open a WebSocket at /_/ws"
        }
        () if !accepts_events(&parts.headers) => "send 'Accept: text/event-stream'",
        () => return Ok(()),
    };
    Err(ApiError::BadRequest(message.to_owned()))
}

fn paths(query: &Query, most: usize) -> Result<Vec<StreamPath>, ApiError> {
    let texts: Vec<_> = query.all("stream").take(most + 1).collect();
    let refused = |message: String| Err(ApiError::BadRequest(message));
    if texts.is_empty() {
        return refused("name the streams: ?stream=<path>&stream=<path>".to_owned());
    }
    if texts.len() > most {
        return refused(format!("more than {most} streams on one connection"));
    }
    let twice = texts.iter().enumerate().find(|(index, text)| texts[..*index].contains(text));
    if let Some((_, text)) = twice {
        return Err(ApiError::BadRequest("the stream is named twice".to_owned()).about(text));
    }
    let parse = |text: &&str| StreamPath::parse(text).map_err(|error| error.about(text));
    texts.iter().map(parse).collect()
}

/// The id with which each stream begins: that of the connection wins over those in the streams' own
/// paths.
fn ids(paths: &[StreamPath], joined: &Joined, id: Option<String>) -> Vec<Option<String>> {
    let own = |path: &StreamPath| {
        let id = path.query.get("lastEventId").filter(|id| !id.is_empty());
        id.map(str::to_owned)
    };
    let Some(id) = id else { return paths.iter().map(own).collect() };
    match joined.split(&id) {
        Some(positions) => {
            let pairs = paths.iter().zip(positions);
            pairs.map(|(path, id)| id.or_else(|| own(path))).collect()
        }
        // No id of these streams is answered with a reset of each.
        None => paths.iter().map(|_| Some(id.clone())).collect(),
    }
}
