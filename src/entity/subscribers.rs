//! Who has an entity feed open, and what it was given: counters for metrics and status.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{EntityDef, Publication};
use crate::change::ChangeEvent;

/// One open feed. Counters only grow.
#[derive(Debug)]
pub struct Subscriber {
    /// Monotonic within the process, from one; the client is told.
    pub sub: u64,
    /// The topic that it reads.
    pub topic: String,
    /// Envelopes handed to its transport.
    pub delivered: AtomicU64,
    /// Envelopes that it did not get although nothing says that they are not for it: a condition, a
    /// filter or whose they are could not be decided, or they could not be written.
    pub dropped: AtomicU64,
    /// Envelopes that its subscription's filter did not let pass.
    pub filtered: AtomicU64,
    /// How often it was told that changes were missed.
    pub resets: AtomicU64,
}

/// Sums over all subscribers, those that left included, and who is there now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Open feeds.
    pub subscribers: usize,
    /// Different topics among them.
    pub topics: usize,
    /// Events of entities that were published while somebody read.
    pub published: u64,
    /// Changes of which it cannot be told whose they are, so that nobody got them who is held to a
    /// tenant: deletes without pre-image, most of all.
    pub unowned: u64,
    /// See [`Subscriber::delivered`].
    pub delivered: u64,
    /// See [`Subscriber::dropped`].
    pub dropped: u64,
    /// See [`Subscriber::filtered`].
    pub filtered: u64,
    /// See [`Subscriber::resets`].
    pub resets: u64,
}

/// All open feeds of a process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Subscribers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    published: AtomicU64,
    unowned: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: BTreeMap<u64, Arc<Subscriber>>,
    /// Of those that left.
    left: Totals,
}

/// A subscriber for as long as its feed is open.
#[derive(Debug)]
pub struct Registered {
    subscriber: Arc<Subscriber>,
    subscribers: Subscribers,
}

impl Subscribers {
    /// Counts a feed that opens.
    pub fn register(&self, topic: String) -> Registered {
        let sub = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let zero = AtomicU64::default;
        let (delivered, dropped, filtered, resets) = (zero(), zero(), zero(), zero());
        let subscriber = Arc::new(Subscriber { sub, topic, delivered, dropped, filtered, resets });
        self.lock().open.insert(sub, subscriber.clone());
        Registered { subscriber, subscribers: self.clone() }
    }

    /// The open feeds, oldest first.
    pub fn open(&self) -> Vec<Arc<Subscriber>> {
        self.lock().open.values().cloned().collect()
    }

    /// Notices a change of an entity, once for all its readers.
    pub fn notice(&self, entity: &Arc<EntityDef>, event: &ChangeEvent) {
        if !entity.is_about(event) {
            return;
        }
        let publication = Publication::shared(entity, event, 0, self);
        if publication.is_some_and(|publication| publication.is_unowned(entity)) {
            tracing::debug!(entity = %entity.name, "it cannot be told whose a change is");
            self.0.unowned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts events that became known.
    pub(super) fn count_published(&self, events: usize) {
        self.0.published.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Sums since the process started.
    pub fn totals(&self) -> Totals {
        let state = self.lock();
        let mut totals = state.left;
        state.open.values().for_each(|subscriber| totals.add(subscriber));
        let topics: BTreeSet<&str> = state.open.values().map(|open| open.topic.as_str()).collect();
        totals.subscribers = state.open.len();
        totals.topics = topics.len();
        totals.published = self.0.published.load(Ordering::Relaxed);
        totals.unowned = self.0.unowned.load(Ordering::Relaxed);
        totals
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// All of them.
    pub(super) fn all(&self) -> &Subscribers {
        &self.subscribers
    }
}

impl Totals {
    fn add(&mut self, subscriber: &Subscriber) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.delivered += read(&subscriber.delivered);
        self.dropped += read(&subscriber.dropped);
        self.filtered += read(&subscriber.filtered);
        self.resets += read(&subscriber.resets);
    }
}

impl Deref for Registered {
    type Target = Subscriber;

    fn deref(&self) -> &Subscriber {
        &self.subscriber
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.subscribers.lock();
        state.open.remove(&self.subscriber.sub);
        state.left.add(&self.subscriber);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_outlive_those_who_left() {
        let subscribers = Subscribers::default();
        assert_eq!(subscribers.totals(), Totals::default());
        let one = subscribers.register("orders".to_owned());
        let two = subscribers.register("orders".to_owned());
        assert_eq!((one.sub, two.sub), (1, 2));
        one.delivered.fetch_add(3, Ordering::Relaxed);
        two.filtered.fetch_add(1, Ordering::Relaxed);
        subscribers.count_published(2);
        let totals = subscribers.totals();
        assert_eq!((totals.subscribers, totals.topics), (2, 1));
        drop(one);
        let left = subscribers.totals();
        assert_eq!(left, Totals { subscribers: 1, ..totals });
        assert_eq!((left.delivered, left.filtered, left.published), (3, 1, 2));
        assert_eq!(subscribers.register("x".to_owned()).sub, 3);
        assert_eq!(subscribers.open().len(), 1);
    }
}
