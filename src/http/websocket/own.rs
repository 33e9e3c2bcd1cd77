//! What a socket says of its own, besides the streams that its client opens on it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    http::{
        lifetime::{Lifetime, Tick},
        outgoing::Outgoing,
        record::Record,
        rights::RightsGuard,
        session::Session,
    },
    hub::Ending,
    telemetry::Cause,
};

/// What a socket was opened for. It ends when this does.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a socket, and it is mostly the large one"
)]
pub(crate) enum Own {
    /// The stream of its path.
    Stream(Session),
    /// Nothing but what the client asks for later.
    Nothing(Box<Quiet>),
}

/// A connection that has nothing to say of its own but its end.
pub(crate) struct Quiet {
    pub(crate) lifetime: Lifetime,
    /// Decided elsewhere: its caller is nobody any more.
    pub(crate) ending: Arc<Ending>,
    pub(crate) record: Record,
    /// Keeps it among those who are looked at when rights change.
    pub(crate) _rights: RightsGuard,
}

impl Quiet {
    async fn next(&mut self) -> Outgoing {
        loop {
            tokio::select! {
                reason = self.ending.reason() => return Outgoing::Close(reason),
                tick = self.lifetime.tick() => match tick {
                    Tick::Beat => {}
                    Tick::Expiring(at) => return Outgoing::Expiring(at),
                    Tick::End(reason) => return Outgoing::Close(reason),
                },
            }
        }
    }
}

impl Own {
    pub(super) async fn next(&mut self, into: &mut Vec<Outgoing>) -> bool {
        match self {
            Self::Stream(session) => session.next(into).await,
            Self::Nothing(quiet) => {
                into.push(quiet.next().await);
                true
            }
        }
    }

    /// The client's credential ends at another time: it has shown a newer one.
    pub(super) fn renew(&mut self, expiry: Option<SystemTime>) {
        match self {
            Self::Stream(session) => session.renew(expiry),
            Self::Nothing(quiet) => quiet.lifetime.expires(expiry),
        }
    }

    pub(super) fn heartbeat(&self) -> Option<Duration> {
        match self {
            Self::Stream(session) => session.heartbeat(),
            Self::Nothing(quiet) => quiet.lifetime.heartbeat(),
        }
    }

    pub(super) fn said(&self, message: &Outgoing, encoded: bool) {
        if let Self::Stream(session) = self {
            session.said(message, encoded);
        }
    }

    pub(super) fn sent(&self, bytes: usize) {
        match self {
            Self::Stream(session) => session.sent(bytes),
            Self::Nothing(quiet) => quiet.record.sent(bytes),
        }
    }

    /// Notes why the socket ends; the first word counts.
    pub(super) fn ends(&mut self, cause: Cause) {
        match self {
            Self::Stream(session) => session.ends(cause),
            Self::Nothing(quiet) => quiet.record.ends(cause),
        }
    }
}
