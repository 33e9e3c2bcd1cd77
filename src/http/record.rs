//! What an operator sees of a session: everything said is counted, and the end of a connection is logged.

use axum::http::request::Parts;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{caps::Seat, deadline::Stalled, error::ApiError, outgoing::Outgoing, state::AppState};
use crate::{
    access::{Caller, RequestHead},
    entity::Kept,
    telemetry::{Cause, Connection, Sieve, Subscriber, Surface, Transport},
};

/// One subscriber, as those know it who serve it.
#[derive(Debug)]
pub(crate) enum Record {
    /// It has a connection of its own, and that a place among all; shutdown waits for it.
    Connection { connection: Box<Connection>, _seat: Seat, _open: TaskTrackerToken },
    /// It is one of several on a connection, which has a record of its own.
    Stream(Subscriber),
}

/// What a connection is.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) transport: Transport,
    pub(crate) surface: Surface,
    /// What was asked for, without anything secret.
    pub(crate) topic: String,
}

impl Record {
    /// A connection is open from now on.
    pub(crate) fn connection(state: &AppState, parts: &Parts, line: Line, seat: Seat) -> Self {
        let Line { transport, surface, topic } = line;
        let stalled = parts.extensions.get::<Stalled>().map(|stalled| stalled.0.clone());
        let connection = Connection::open(state.0.hub.telemetry(), transport, surface, topic);
        let connection = Box::new(connection.watching(stalled));
        Self::Connection { connection, _seat: seat, _open: state.0.tasks.token() }
    }

    /// A stream begins on a connection that is recorded already.
    pub(crate) fn stream(state: &AppState, topic: String) -> Self {
        Self::Stream(state.0.hub.telemetry().subscriber(Surface::Streams, topic))
    }

    pub(crate) fn subscriber(&self) -> &Subscriber {
        match self {
            Self::Connection { connection, .. } => connection.subscriber(),
            Self::Stream(subscriber) => subscriber,
        }
    }

    /// Notes that a message was said, or that it could not be.
    pub(crate) fn said(&self, message: &Outgoing, encoded: bool) {
        let subscriber = self.subscriber();
        match message {
            Outgoing::Change(..) | Outgoing::Envelope(_) if encoded => subscriber.delivered(),
            Outgoing::Change(..) | Outgoing::Envelope(_) => subscriber.dropped(1),
            Outgoing::Skipped(_) => subscriber.skipped(),
            Outgoing::Reset(..) => subscriber.reset(),
            Outgoing::Ready(_)
            | Outgoing::Document(..)
            | Outgoing::SnapshotEnd(_)
            | Outgoing::Status(_)
            | Outgoing::Expiring(_)
            | Outgoing::Heartbeat(_)
            | Outgoing::Close(_) => {}
        }
    }

    /// Notes what was kept from the reader of an entity feed.
    pub(crate) fn kept(&self, kept: Kept) {
        let subscriber = self.subscriber();
        subscriber.kept(Sieve::Script, kept.filtered);
        subscriber.dropped(kept.dropped);
    }

    /// Notes bytes that were written.
    pub(crate) fn sent(&self, bytes: usize) {
        self.subscriber().sent(bytes);
    }

    /// Notes why the connection ends; the first word counts.
    pub(crate) fn ends(&mut self, cause: Cause) {
        if let Self::Connection { connection, .. } = self {
            connection.ends(cause);
        }
    }
}

impl AppState {
    /// A place among those who may be connected; none is left once the drain has begun.
    pub(crate) fn seat(&self, caller: &Caller, head: &RequestHead) -> Result<Seat, ApiError> {
        if self.0.draining.is_cancelled() {
            return Err(ApiError::Unavailable("the service is shutting down".to_owned()));
        }
        self.0.caps.open(caller.principal().map(|principal| principal.id()), head.remote_ip())
    }
}
