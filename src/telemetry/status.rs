//! The state of the service at one moment, for whoever asks.

use std::{collections::BTreeSet, sync::atomic::Ordering::Relaxed, time::Duration};

use super::{Cap, Cause, Counts, Surface, Telemetry, Transport};

/// Everything that is counted.
#[derive(Debug, Clone)]
pub struct Status {
    /// Open connections.
    pub connections: Vec<(Transport, Surface, u64)>,
    /// Ended connections.
    pub closed: Vec<(Cause, u64)>,
    /// Requests that were turned away.
    pub refused: Vec<(Cap, u64)>,
    /// What was counted on each surface since the start.
    pub totals: Vec<(Surface, Counts)>,
    /// Subscribers on each surface, and how many topics they have between them.
    pub active: Vec<(Surface, usize, usize)>,
    /// Events that came from MongoDB.
    pub read: u64,
    /// Events that were offered to subscribers of cursors.
    pub published: u64,
    /// Events of entities.
    pub entity_published: u64,
    /// Changes of entities of which it cannot be told whose they are.
    pub entity_unowned: u64,
    /// Catch-ups that run.
    pub catch_ups: u64,
    /// Open cursors, the oldest first.
    pub cursors: Vec<CursorStatus>,
    /// Subscribers, the oldest first.
    pub subscribers: Vec<SubscriberStatus>,
}

/// One open cursor.
#[derive(Debug, Clone)]
pub struct CursorStatus {
    /// The watched collection.
    pub namespace: String,
    /// Whether it serves one binding only.
    pub own: bool,
    /// Whether the source is down.
    pub degraded: bool,
    /// How far behind the reading is. `None` until it is known.
    pub lag: Option<Duration>,
    /// Who is on it.
    pub subscribers: u64,
    /// Events that were offered to them.
    pub published: u64,
}

/// One subscriber.
#[derive(Debug, Clone)]
pub struct SubscriberStatus {
    /// Its number.
    pub sub: u64,
    /// Where it came in.
    pub surface: Surface,
    /// What it asked for.
    pub topic: String,
    /// What was counted since.
    pub counts: Counts,
}

impl Status {
    /// The lag of the cursor that is furthest behind. `None` until one is known.
    pub fn lag(&self) -> Option<Duration> {
        self.cursors.iter().filter_map(|cursor| cursor.lag).max()
    }
}

impl Telemetry {
    /// How things stand.
    pub fn status(&self) -> Status {
        let mut state = self.lock();
        let totals = Surface::ALL.map(|surface| (surface, state.totals(surface))).to_vec();
        let open = |transport: Transport| {
            let row = state.open[transport as usize];
            Surface::ALL.map(|surface| (transport, surface, row[surface as usize]))
        };
        let subscribers = state.subscribers.values().map(|account| SubscriberStatus {
            sub: account.id.number(),
            surface: account.surface,
            topic: account.topic.clone(),
            counts: account.counts(),
        });
        let subscribers: Vec<_> = subscribers.collect();
        Status {
            connections: Transport::ALL.into_iter().flat_map(open).collect(),
            closed: state.closed.iter().map(|(cause, count)| (*cause, *count)).collect(),
            refused: Cap::ALL
                .map(|cap| (cap, state.refused.get(&cap).copied().unwrap_or(0)))
                .to_vec(),
            totals,
            active: Surface::ALL.map(|surface| active(surface, &subscribers)).to_vec(),
            read: self.0.read.load(Relaxed),
            published: self.0.published.load(Relaxed),
            entity_published: self.0.entity_published.load(Relaxed),
            entity_unowned: self.0.entity_unowned.load(Relaxed),
            catch_ups: self.0.catch_ups.load(Relaxed),
            cursors: state
                .cursors
                .values()
                .map(|meter| CursorStatus {
                    namespace: meter.namespace.clone(),
                    own: meter.own,
                    degraded: meter.is_degraded(),
                    lag: meter.lag(),
                    subscribers: meter.subscribers(),
                    published: meter.events(),
                })
                .collect(),
            subscribers,
        }
    }
}

fn active(surface: Surface, subscribers: &[SubscriberStatus]) -> (Surface, usize, usize) {
    let on_it = subscribers.iter().filter(|subscriber| subscriber.surface == surface);
    let topics: BTreeSet<_> = on_it.clone().map(|subscriber| &subscriber.topic).collect();
    (surface, on_it.count(), topics.len())
}
