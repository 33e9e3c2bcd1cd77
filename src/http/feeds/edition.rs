//! What one reader of an entity feed is told of each change, and under which ids.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    catalog::DeclarationGuard,
    change::{ChangeEvent, PositionId, View},
    entity::{Bundle, EventId, Registered, Told},
    http::{outgoing::Outgoing, recover::Recovery, rights::RightsGuard},
    hub::{CloseReason, Item, Skipped},
};

/// Owned by the reader's session.
#[derive(Debug)]
pub(crate) struct Edition {
    bundle: Bundle,
    reader: Registered,
    /// The event that the client came back with; until its change has passed.
    resumed: Option<Place>,
    /// The event up to which everything was told.
    last: Option<Place>,
    /// Where missed changes of further collections are read.
    more: Vec<String>,
    /// Why the session ended; `None` while it lives, and when the client left.
    ended: Option<CloseReason>,
    _guards: (DeclarationGuard, RightsGuard),
}

/// One of the events of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    position: String,
    ordinal: u32,
}

impl Place {
    /// The place that a client comes back with. `None`: it is none.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let id = EventId::parse(id).ok()?;
        Some(Self { position: id.position.to_owned(), ordinal: id.ordinal })
    }

    /// The id of the change.
    pub(super) fn position(&self) -> &str {
        &self.position
    }
}

impl Edition {
    /// `resumed` is where the client comes back to.
    pub(super) fn new(
        bundle: Bundle,
        reader: Registered,
        resumed: Option<Place>,
        more: Vec<String>,
        guards: (DeclarationGuard, RightsGuard),
    ) -> Self {
        tracing::info!(sub = reader.sub, topic = %reader.topic, "an entity feed is open");
        let last = resumed.clone();
        Self { bundle, reader, last, resumed, more, ended: None, _guards: guards }
    }

    /// The number of the subscriber.
    pub(crate) fn sub(&self) -> u64 {
        self.reader.sub
    }

    /// A position as the id of an event.
    pub(crate) fn id(&self, position: &PositionId) -> PositionId {
        let last = self.last.as_ref().filter(|last| last.position == position.as_str());
        let ordinal = last.map_or(0, |last| last.ordinal);
        PositionId::worded(&EventId { position: position.as_str(), ordinal }.to_string())
    }

    /// Says an item of the hub.
    pub(crate) fn tell(
        &mut self,
        item: Item,
        recovery: impl FnOnce() -> Recovery,
        into: &mut Vec<Outgoing>,
    ) {
        match item {
            Item::Change(event, view) => self.tell_change(&event, view, into),
            Item::Reset(reset) => {
                self.count(&self.reader.resets, 1);
                let reset = Arc::new(reset.with_id(self.id(&reset.at.id)));
                let recovery = || Recovery { more: self.more.clone(), ..recovery() };
                into.push(Outgoing::from_item(Item::Reset(reset), recovery));
            }
            other => into.push(Outgoing::from_item(other, recovery)),
        }
    }

    /// Notes why the session ends.
    pub(crate) fn ends(&mut self, reason: CloseReason) {
        if reason == CloseReason::SlowConsumer {
            self.count(&self.reader.dropped, 1);
        }
        self.ended = Some(reason);
    }

    fn tell_change(&mut self, event: &Arc<ChangeEvent>, view: View, into: &mut Vec<Outgoing>) {
        let told = self.bundle.tell(event, view, &self.reader);
        let here = |place: &Place| place.position == event.id().as_str();
        // The first change is the one that was come back with, or that one is no more.
        let seen = self.resumed.take().filter(here).map(|place| place.ordinal);
        let owed = |ordinal: u32| seen.is_none_or(|seen| ordinal > seen);
        let mut delivered = 0;
        for print in told.events.iter().filter(|print| owed(print.event().ordinal)) {
            delivered += 1;
            into.push(Outgoing::Envelope(print.clone()));
        }
        if told.unshowable > 0 && seen.is_none() {
            into.push(Outgoing::Skipped(Arc::new(Skipped::unshowable(event))));
        }
        self.count(&self.reader.delivered, delivered);
        if seen.is_none() {
            self.count_kept(&told);
        }
        let ordinal = told.last.max(seen.unwrap_or_default());
        self.last = Some(Place { position: event.id().as_str().to_owned(), ordinal });
    }

    fn count_kept(&self, told: &Told) {
        self.count(&self.reader.dropped, told.withheld + told.unshowable);
        self.count(&self.reader.filtered, told.filtered);
    }

    fn count(&self, counter: &AtomicU64, more: usize) {
        counter.fetch_add(more as u64, Ordering::Relaxed);
    }
}

impl Drop for Edition {
    fn drop(&mut self) {
        let reason = self.ended.map_or("the client left", CloseReason::text);
        tracing::info!(
            sub = self.reader.sub, topic = %self.reader.topic, reason,
            delivered = self.reader.delivered.load(Ordering::Relaxed),
            "an entity feed is closed"
        );
    }
}
