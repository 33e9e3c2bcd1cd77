//! One client on one stream: what it is told, and when. Knows no transport.

use std::time::{Duration, SystemTime};

use bson::oid::ObjectId;

use super::{
    edition::Edition,
    lifetime::{Lifetime, Tempo, Tick},
    outgoing::{Outgoing, Ready},
    record::Record,
    recover::Recovery,
    rights::RightsGuard,
};
use crate::{
    catalog::Guard,
    change::PositionId,
    hub::{CloseHandle, CloseReason, Delivery, Item, Subscription},
    telemetry::Cause,
};

/// Owned by the connection's task. Ends by saying [`Outgoing::Close`], or by being dropped.
#[derive(Debug)]
pub(crate) struct Session {
    subscription: Subscription,
    lifetime: Lifetime,
    state: State,
    collection: String,
    etag: Option<ObjectId>,
    /// Items of the hub, kept to reuse its memory.
    items: Vec<Item>,
    /// Entries in registries of open sessions, taken off when the session is dropped.
    guards: Option<(Guard, RightsGuard)>,
    /// Makes events of entities of changes, on entity feeds.
    edition: Option<Box<Edition>>,
    /// What an operator sees of it.
    record: Option<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Over,
}

impl Session {
    /// `collection` is the link to the collection, `etag` what the client says it saw last.
    pub(crate) fn new(
        subscription: Subscription,
        tempo: Tempo,
        collection: String,
        etag: Option<ObjectId>,
    ) -> Self {
        Self {
            subscription,
            lifetime: Lifetime::new(tempo),
            state: State::New,
            collection,
            etag,
            items: Vec::new(),
            guards: None,
            edition: None,
            record: None,
        }
    }

    /// Keeps the session's entries in the catalog and among the rights for as long as it lives.
    pub(crate) fn guarded(mut self, definition: Guard, rights: RightsGuard) -> Self {
        self.guards = Some((definition, rights));
        self
    }

    /// Tells of changes as the events of entities that they are.
    pub(crate) fn edited(mut self, edition: Edition) -> Self {
        self.edition = Some(Box::new(edition));
        self
    }

    /// Counts what is said, and logs the end.
    pub(crate) fn recorded(mut self, record: Record) -> Self {
        record.subscriber().follow(self.subscription.tally());
        self.record = Some(record);
        self
    }

    /// Ends the session when its credential does, without leeway.
    pub(crate) fn expires(mut self, at: Option<SystemTime>) -> Self {
        self.lifetime.expires(at);
        self
    }

    /// The same for a credential that is shown later.
    pub(crate) fn renew(&mut self, expiry: Option<SystemTime>) {
        self.lifetime.expires(expiry);
    }

    /// Ends the session from outside.
    pub(crate) fn close_handle(&self) -> CloseHandle {
        self.subscription.close_handle()
    }

    /// Where a client that were cut now would come back to.
    pub(crate) fn position(&self) -> Option<PositionId> {
        let known = !self.subscription.is_in_snapshot();
        known.then(|| self.worded(&self.subscription.last().id))
    }

    /// A position in the words of the surface.
    fn worded(&self, id: &PositionId) -> PositionId {
        self.edition.as_deref().map_or_else(|| id.clone(), |edition| edition.id(id))
    }

    /// The time between heartbeats.
    pub(crate) fn heartbeat(&self) -> Option<Duration> {
        self.lifetime.heartbeat()
    }

    /// Notes that a message was said, or that it could not be.
    pub(crate) fn said(&self, message: &Outgoing, encoded: bool) {
        if let Some(record) = &self.record {
            record.said(message, encoded);
        }
    }

    /// Notes bytes that were written.
    pub(crate) fn sent(&self, bytes: usize) {
        if let Some(record) = &self.record {
            record.sent(bytes);
        }
    }

    /// Notes why the connection ends; the first word counts.
    pub(crate) fn ends(&mut self, cause: Cause) {
        if let Some(record) = &mut self.record {
            record.ends(cause);
        }
    }

    /// Waits for something to say and appends it. False: the session is over. Cancel-safe.
    pub(crate) async fn next(&mut self, into: &mut Vec<Outgoing>) -> bool {
        match self.state {
            State::Over => return false,
            State::New => self.greet(into),
            State::Open => self.wait(into).await,
        }
        true
    }

    fn greet(&mut self, into: &mut Vec<Outgoing>) {
        self.state = State::Open;
        let number = |record: &Record| record.subscriber().id().number();
        let sub = self.record.as_ref().filter(|_| self.edition.is_some()).map(number);
        into.push(Outgoing::Ready(Ready {
            id: self.position(),
            operation_time: self.subscription.last().time,
            heartbeat: self.lifetime.heartbeat(),
            sub,
        }));
        let status = self.subscription.status();
        if !status.healthy {
            into.push(Outgoing::Status(status));
        }
    }

    async fn wait(&mut self, into: &mut Vec<Outgoing>) {
        tokio::select! {
            // In this order: nothing is delivered after the end, and a busy stream has heartbeats too.
            biased;
            tick = self.lifetime.tick() => match tick {
                Tick::Beat => self.beat(into),
                Tick::Expiring(at) => into.push(Outgoing::Expiring(at)),
                Tick::End(reason) => self.close(reason, into),
            },
            delivery = self.subscription.next(&mut self.items) => self.deliver(delivery, into),
        }
    }

    fn deliver(&mut self, delivery: Delivery, into: &mut Vec<Outgoing>) {
        for item in self.items.drain(..) {
            match &item {
                Item::Change(event, _) => self.etag = event.etag().or(self.etag),
                // In no order: the newest one counts.
                Item::Document(event, _) => self.etag = event.etag().max(self.etag),
                _ => {}
            }
            let recovery = || Recovery::of(self.collection.clone(), self.etag);
            match &mut self.edition {
                Some(edition) => {
                    let kept = edition.tell(item, recovery, into);
                    if let Some(record) = &self.record {
                        record.kept(kept);
                    }
                }
                None => into.push(Outgoing::from_item(item, recovery)),
            }
        }
        if let Delivery::Closed(reason) = delivery {
            self.close(reason, into);
        }
    }

    /// A heartbeat says that the cursor is alive; when it is not, that is said instead.
    fn beat(&mut self, into: &mut Vec<Outgoing>) {
        let status = self.subscription.status();
        into.push(if status.healthy {
            let id = self.subscription.heartbeat();
            Outgoing::Heartbeat((!self.subscription.is_in_snapshot()).then(|| self.worded(&id)))
        } else {
            Outgoing::Status(status)
        });
    }

    fn close(&mut self, reason: CloseReason, into: &mut Vec<Outgoing>) {
        self.state = State::Over;
        self.ends(reason.into());
        into.push(Outgoing::Close(reason));
    }
}
