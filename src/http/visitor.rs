//! A caller on a connection that carries streams which are named inside it.

use std::{borrow::Cow, time::SystemTime};

use axum::http::{Uri, request::Parts};
use bson::Bson;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    caps::Seat,
    error::ApiError,
    gate::{Admitted, Change},
    head,
    link::{collection_link, outside},
    look::Look,
    opening::{Asked, Opening},
    request::Query,
    rights::RightsGuard,
    state::AppState,
    target::{Target, host},
    tickets,
};
use crate::{
    access::{Caller, Carrier, RequestHead, RequestKind},
    change::Dialect,
    config::Secret,
    hub::CloseHandle,
};

/// Whoever opened the connection.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) caller: Caller,
    head: RequestHead,
    host: Option<String>,
    /// Where a host program nests the routes.
    outside: String,
    look: Look,
}

/// A stream's path as it stands in a parameter or a message, the stream's own query included.
#[derive(Debug, Clone)]
pub(crate) struct StreamPath {
    /// As the client wrote it: what it is called on the connection.
    pub(crate) text: String,
    uri: Uri,
    pub(crate) query: Query,
}

/// What no URI holds: a client that encodes a path once less than it might is understood.
const UNSAFE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'#').add(b'`');

impl Visitor {
    /// A caller who is known, or anybody where authentication is off.
    pub(crate) async fn of(state: &AppState, parts: &Parts) -> Result<Self, ApiError> {
        let look = state.0.rights.look();
        let caller = state.authenticated(parts).await?;
        let host = host(&parts.headers, &parts.uri).map(str::to_owned);
        let (head, outside) = (state.0.gate.head(parts)?, outside(parts).to_owned());
        Ok(Self { caller, head, host, outside, look })
    }

    /// Whoever was let in to open one stream, and goes on to others.
    pub(crate) fn admitted(admitted: &Admitted, parts: &Parts) -> Self {
        let Admitted { caller, head, look, .. } = admitted.clone();
        let host = host(&parts.headers, &parts.uri).map(str::to_owned);
        Self { caller, head, host, outside: outside(parts).to_owned(), look }
    }

    /// A place among those who may be connected.
    pub(crate) fn seat(&self, state: &AppState) -> Result<Seat, ApiError> {
        state.seat(&self.caller, &self.head)
    }

    /// The same caller as it is by now: users and permissions change while a connection is open.
    pub(crate) async fn again(&self, state: &AppState) -> Result<Self, ApiError> {
        let look = state.0.rights.look_again(self.look);
        let caller = state.0.gate.again(&self.caller).await.map_err(|change| match change {
            Some(Change::Ended | Change::Access) => ApiError::Unauthorized(Vec::new()),
            None => ApiError::Unavailable("users cannot be looked up now".to_owned()),
        })?;
        Ok(Self { caller, look, ..self.clone() })
    }

    /// The same caller by a credential that they show later. What is open goes on with it, but for what it
    /// shows otherwise.
    pub(crate) async fn renewed(
        &self,
        state: &AppState,
        credential: &Secret,
    ) -> Result<Self, ApiError> {
        let look = state.0.rights.look_again(self.look);
        let caller = state.0.gate.renewed(&self.head, &self.caller, credential).await?;
        Ok(Self { caller, look, ..self.clone() })
    }

    /// Tells the sessions of the connection who is calling by now.
    pub(crate) fn renew(&self, state: &AppState) {
        state.0.rights.renew(self.look, &self.caller, &state.0.gate);
    }

    /// Registers the connection itself, which ends when its caller is nobody any more.
    pub(crate) fn register(&self, state: &AppState, close: CloseHandle) -> RightsGuard {
        let (rights, gate) = (&state.0.rights, &state.0.gate);
        rights.register(self.look, self.caller.clone(), Vec::new(), close, gate)
    }

    /// When the caller's credential ends.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.caller.principal().and_then(|principal| principal.expires_at())
    }

    /// Takes a stream through everything that opening it alone takes it through, up to its plan.
    pub(crate) async fn plan(
        &self,
        state: &AppState,
        path: &StreamPath,
        vars: Option<&Bson>,
    ) -> Result<Opening, ApiError> {
        let uri = &path.uri;
        if uri.path() == "/_" || uri.path().starts_with("/_/") {
            return Err(ApiError::NotFound("no such stream".to_owned()));
        }
        let target = Target::parse(uri.path(), &state.0.mounts, self.host.as_deref())?;
        state.guard_settings(&target)?;
        let head = self
            .head
            .for_target(uri.path(), judged(uri.query(), vars).as_deref())?
            .with_resource(head::resource_of(&target));
        if self.is_bound_elsewhere(&head) {
            return Err(ApiError::Denied);
        }
        let admitted = state.0.gate.decide(self.caller.clone(), head, RequestKind::Stream)?;
        let admitted = state.0.gate.guard(admitted, &target)?;
        let Target::Stream(namespace, name) = target else {
            return Err(ApiError::BadRequest("the path names no stream".to_owned()));
        };
        let link =
            collection_link(state, &self.outside, uri.path(), self.host.as_deref(), &namespace);
        let asked = Asked {
            namespace,
            uri: name,
            collection: link,
            admitted: admitted.by(self.look),
            query: &path.query,
            vars,
            // A connection that RESTHeart does not have speaks no dialect of RESTHeart's.
            dialect: Dialect::Tailwater,
        };
        Opening::plan(state, asked).await
    }

    /// A ticket for one stream opens no other one.
    fn is_bound_elsewhere(&self, head: &RequestHead) -> bool {
        let by_ticket =
            self.caller.principal().is_some_and(|user| user.carrier() == Carrier::Ticket);
        let path = self.head.path();
        by_ticket && !tickets::SHARED.contains(&path) && path != head.path()
    }
}

/// The query that permissions are asked about: variables that come beside it are those that would be its
/// `avars`.
fn judged<'a>(query: Option<&'a str>, vars: Option<&Bson>) -> Option<Cow<'a, str>> {
    let Some(vars) = vars else { return query.map(Cow::Borrowed) };
    let vars = vars.clone().into_relaxed_extjson().to_string();
    let avars = utf8_percent_encode(&vars, NON_ALPHANUMERIC);
    let before = query.filter(|query| !query.is_empty()).map(|query| format!("{query}&"));
    Some(Cow::Owned(format!("{}avars={avars}", before.unwrap_or_default())))
}

impl StreamPath {
    /// Reads a path.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let illegal = || {
            ApiError::BadRequest("a stream is named by its path: /db/coll/_streams/uri".to_owned())
        };
        if !text.starts_with('/') {
            return Err(illegal());
        }
        let uri: Uri =
            utf8_percent_encode(text, UNSAFE).to_string().parse().map_err(|_| illegal())?;
        let query = Query::parse(&uri)?;
        Ok(Self { text: text.to_owned(), uri, query })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, query: Option<&str>) {
        let parsed = StreamPath::parse(text).unwrap();
        assert_eq!((parsed.uri.path(), parsed.uri.query()), (path, query), "{text}");
    }

    #[test]
    fn a_path_may_carry_a_query_encoded_or_not() {
        check("/d/c/_streams/u", "/d/c/_streams/u", None);
        check("/d/c/_streams/u?x=a%26b&y", "/d/c/_streams/u", Some("x=a%26b&y"));
        check("/d/c/_streams/a b?x=c d", "/d/c/_streams/a%20b", Some("x=c%20d"));
        check(r#"/d/c/_streams/u?avars={"a": 1}"#, "/d/c/_streams/u", Some("avars={%22a%22:%201}"));
        check("/d/c/_streams/u?x=a#b", "/d/c/_streams/u", Some("x=a%23b"));
        check("/d/caf\u{e9}/_streams/u", "/d/caf%C3%A9/_streams/u", None);
    }

    #[test]
    fn variables_beside_a_query_are_judged_as_part_of_it() {
        let vars = bson::bson!({ "a&b": "x y" });
        let encoded = "avars=%7B%22a%26b%22%3A%22x%20y%22%7D";
        assert_eq!(judged(Some("q=1"), None).as_deref(), Some("q=1"));
        assert_eq!(judged(None, None), None);
        assert_eq!(judged(None, Some(&vars)).as_deref(), Some(encoded));
        assert_eq!(judged(Some("q=1"), Some(&vars)), Some(format!("q=1&{encoded}").into()));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "d/c", "http://h/d/c/_streams/u", "?x=1", "*"] {
            assert!(StreamPath::parse(text).is_err(), "{text}");
        }
    }
}
