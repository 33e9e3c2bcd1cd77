//! What one reader of an entity feed is told of each change, and under which ids.

use std::sync::Arc;

use super::{outgoing::Outgoing, recover::Recovery, rights::RightsGuard};
use crate::{
    binding::Namespace,
    catalog::DeclarationGuard,
    change::{ChangeEvent, PositionId, View},
    entity::{Bundle, EventId, Kept, Said},
    hub::{Item, Skipped},
    telemetry::Telemetry,
};

/// Owned by the reader's session.
#[derive(Debug)]
pub(crate) struct Edition {
    bundle: Bundle,
    telemetry: Telemetry,
    /// The event that the client came back with; until its change has passed.
    resumed: Option<Place>,
    /// The event up to which everything was told.
    last: Option<Place>,
    /// Where missed changes of further collections are read.
    more: Vec<String>,
    _guards: (DeclarationGuard, RightsGuard),
}

/// One of the events of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    position: String,
    ordinal: u32,
}

impl Place {
    /// The place that a client comes back with. `None`: it is none.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let id = EventId::parse(id).ok()?;
        Some(Self { position: id.position.to_owned(), ordinal: id.ordinal })
    }

    /// The id of the change.
    pub(crate) fn position(&self) -> &str {
        &self.position
    }
}

impl Edition {
    /// `resumed` is where the client comes back to.
    pub(crate) fn new(
        bundle: Bundle,
        telemetry: Telemetry,
        resumed: Option<Place>,
        more: Vec<String>,
        guards: (DeclarationGuard, RightsGuard),
    ) -> Self {
        let last = resumed.clone();
        Self { bundle, telemetry, last, resumed, more, _guards: guards }
    }

    /// A position as the id of an event.
    pub(crate) fn id(&self, position: &PositionId) -> PositionId {
        let last = self.last.as_ref().filter(|last| last.position == position.as_str());
        let ordinal = last.map_or(0, |last| last.ordinal);
        worded(position, ordinal)
    }

    /// Says an item of the hub. Gives what of it the reader does not get.
    pub(crate) fn tell(
        &mut self,
        item: Item,
        recovery: impl FnOnce() -> Recovery,
        into: &mut Vec<Outgoing>,
    ) -> Kept {
        match item {
            Item::Change(event, view) => return self.tell_change(&event, view, into),
            Item::Reset(reset) => {
                if self.is_news(&reset.at.id) && self.shows(|shown| reset.is_about(shown)) {
                    let reset = Arc::new(reset.with_id(self.id(&reset.at.id)));
                    let recovery = || Recovery { more: self.more.clone(), ..recovery() };
                    into.push(Outgoing::from_item(Item::Reset(reset), recovery));
                }
            }
            Item::Skipped(skipped) => {
                if self.is_news(&skipped.id) && self.shows(|shown| skipped.is_about(shown)) {
                    into.push(Outgoing::Skipped(Arc::new(skipped.with_id(self.id(&skipped.id)))));
                }
            }
            other => into.push(Outgoing::from_item(other, recovery)),
        }
        Kept::default()
    }

    /// A notice is not said again to a client that came back with it. Whatever it is about, it is the first
    /// item: the place that was come back with has passed.
    fn is_news(&mut self, notice: &PositionId) -> bool {
        let resumed = self.resumed.take();
        resumed.is_none_or(|place| place.position != notice.as_str())
    }

    /// Whether the reader is shown a collection of which something holds.
    fn shows(&self, holds: impl Fn(&Namespace) -> bool) -> bool {
        self.bundle.collections().into_iter().any(holds)
    }

    fn tell_change(
        &mut self,
        event: &Arc<ChangeEvent>,
        view: View,
        into: &mut Vec<Outgoing>,
    ) -> Kept {
        let told = self.bundle.tell(event, view, &self.telemetry);
        let here = |place: &Place| place.position == event.id().as_str();
        // The first change is the one that was come back with, or that one is no more.
        let seen = self.resumed.take().filter(here).map(|place| place.ordinal);
        let owed = |said: &Said| seen.is_none_or(|seen| said.ordinal() > seen);
        for said in told.said.iter().filter(|said| owed(said)) {
            into.push(match said {
                Said::Envelope(print) => Outgoing::Envelope(print.clone()),
                Said::Notice(ordinal, reason) => {
                    let id = worded(event.id(), *ordinal);
                    Outgoing::Skipped(Arc::new(Skipped::unsaid(event, reason, id)))
                }
            });
        }
        let ordinal = told.last.max(seen.unwrap_or_default());
        self.last = Some(Place { position: event.id().as_str().to_owned(), ordinal });
        // What was kept of a change that was come back with has been counted before.
        if seen.is_none() { told.kept() } else { Kept::default() }
    }
}

fn worded(position: &PositionId, ordinal: u32) -> PositionId {
    PositionId::worded(&EventId { position: position.as_str(), ordinal }.to_string())
}
