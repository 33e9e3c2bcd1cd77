//! One client on one stream: what it is told, and when. Knows no transport.

use std::{
    pin::Pin,
    time::{Duration, SystemTime},
};

use bson::oid::ObjectId;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    outgoing::{Outgoing, Ready},
    recover::Recovery,
    rights::RightsGuard,
};
use crate::{
    backoff::jitter,
    catalog::Guard,
    hub::{CloseHandle, CloseReason, Delivery, Item, Subscription},
};

/// How a session behaves over time.
#[derive(Debug, Clone)]
pub(crate) struct Tempo {
    /// Time between heartbeats; `None` sends none.
    pub(crate) heartbeat: Option<Duration>,
    /// Cancelled when the process begins to drain.
    pub(crate) draining: CancellationToken,
    /// Within this time from then on every session ends, each at a moment of its own.
    pub(crate) drain: Duration,
    /// Ends the session, jittered, after this time.
    pub(crate) max_age: Option<Duration>,
}

/// Owned by the connection's task. Ends by saying [`Outgoing::Close`], or by being dropped.
#[derive(Debug)]
pub(crate) struct Session {
    subscription: Subscription,
    tempo: Tempo,
    state: State,
    /// The next heartbeat; far away when there are none.
    beat: Pin<Box<Sleep>>,
    /// The planned end: of a connection's age, or within the drain.
    end: Pin<Box<Sleep>>,
    end_reason: CloseReason,
    collection: String,
    etag: Option<ObjectId>,
    /// Items of the hub, kept to reuse its memory.
    items: Vec<Item>,
    /// Entries in registries of open sessions, taken off when the session is dropped.
    guards: Option<(Guard, RightsGuard)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Draining,
    Over,
}

/// Stands for never in timers.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl Session {
    /// `collection` is the link to the collection, `etag` what the client says it saw last.
    pub(crate) fn new(
        subscription: Subscription,
        tempo: Tempo,
        collection: String,
        etag: Option<ObjectId>,
    ) -> Self {
        let now = Instant::now();
        let age = tempo.max_age.map_or(FAR, |age| jitter(age, 0.8, 1.0));
        let beat = tempo.heartbeat.map_or(FAR, |every| jitter(every, 0.9, 1.1));
        Self {
            subscription,
            state: State::New,
            beat: Box::pin(sleep_until(now + beat)),
            end: Box::pin(sleep_until(now + age)),
            end_reason: CloseReason::GoingAway,
            tempo,
            collection,
            etag,
            items: Vec::new(),
            guards: None,
        }
    }

    /// Keeps the session's entries in the catalog and among the rights for as long as it lives.
    pub(crate) fn guarded(mut self, definition: Guard, rights: RightsGuard) -> Self {
        self.guards = Some((definition, rights));
        self
    }

    /// Ends the session when its credential does, without leeway.
    pub(crate) fn expires(mut self, at: Option<SystemTime>) -> Self {
        let left = at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        self.plan_end(left.unwrap_or(FAR), CloseReason::CredentialsExpired);
        self
    }

    /// Plans an end, unless an earlier one is planned.
    fn plan_end(&mut self, left: Duration, reason: CloseReason) {
        let end = Instant::now() + left;
        if end < self.end.deadline() {
            self.end.as_mut().reset(end);
            self.end_reason = reason;
        }
    }

    /// Ends the session from outside.
    pub(crate) fn close_handle(&self) -> CloseHandle {
        self.subscription.close_handle()
    }

    /// The time between heartbeats.
    pub(crate) fn heartbeat(&self) -> Option<Duration> {
        self.tempo.heartbeat
    }

    /// Waits for something to say and appends it. False: the session is over. Cancel-safe.
    pub(crate) async fn next(&mut self, into: &mut Vec<Outgoing>) -> bool {
        match self.state {
            State::Over => return false,
            State::New => self.greet(into),
            State::Open | State::Draining => self.wait(into).await,
        }
        true
    }

    fn greet(&mut self, into: &mut Vec<Outgoing>) {
        self.state = State::Open;
        let last = self.subscription.last();
        into.push(Outgoing::Ready(Ready {
            id: last.id.clone(),
            operation_time: last.time,
            heartbeat: self.tempo.heartbeat,
        }));
        let status = self.subscription.status();
        if !status.healthy {
            into.push(Outgoing::Status(status));
        }
    }

    async fn wait(&mut self, into: &mut Vec<Outgoing>) {
        let draining = self.state == State::Draining;
        tokio::select! {
            // In this order: nothing is delivered after the end, and a busy stream has heartbeats too.
            biased;
            () = &mut self.end => self.close(self.end_reason, into),
            () = self.tempo.draining.cancelled(), if !draining => self.drain(),
            () = &mut self.beat => self.beat(into),
            delivery = self.subscription.next(&mut self.items) => self.deliver(delivery, into),
        }
    }

    fn deliver(&mut self, delivery: Delivery, into: &mut Vec<Outgoing>) {
        for item in self.items.drain(..) {
            if let Item::Change(event, _) = &item {
                self.etag = event.etag().or(self.etag);
            }
            let recovery = || Recovery { collection: self.collection.clone(), etag: self.etag };
            into.push(Outgoing::from_item(item, recovery));
        }
        if let Delivery::Closed(reason) = delivery {
            self.close(reason, into);
        }
    }

    /// A heartbeat says that the cursor is alive; when it is not, that is said instead.
    fn beat(&mut self, into: &mut Vec<Outgoing>) {
        let every = self.tempo.heartbeat.map_or(FAR, |every| jitter(every, 0.9, 1.1));
        self.beat.as_mut().reset(Instant::now() + every);
        let status = self.subscription.status();
        into.push(if status.healthy {
            Outgoing::Heartbeat(self.subscription.heartbeat())
        } else {
            Outgoing::Status(status)
        });
    }

    /// Plans the end within the drain, spread so that the clients do not come back all at once.
    fn drain(&mut self) {
        self.state = State::Draining;
        self.plan_end(jitter(self.tempo.drain, 0.0, 0.7), CloseReason::ServiceRestart);
    }

    fn close(&mut self, reason: CloseReason, into: &mut Vec<Outgoing>) {
        self.state = State::Over;
        into.push(Outgoing::Close(reason));
    }
}
