//! One client on one stream or feed, as an operator knows it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{Counts, Sieve, Surface, Tally, Telemetry};

/// Grows with every subscriber of a process. Logs, the status and feeds name it as `sub`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriberId(pub(super) u64);

impl SubscriberId {
    /// The bare number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SubscriberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Held by whoever serves the subscriber. Dropping it adds what was counted to the totals.
#[derive(Debug)]
pub struct Subscriber {
    telemetry: Telemetry,
    account: Arc<Account>,
}

#[derive(Debug)]
pub(super) struct Account {
    pub(super) id: SubscriberId,
    pub(super) surface: Surface,
    pub(super) topic: String,
    delivered: AtomicU64,
    dropped: AtomicU64,
    skipped: AtomicU64,
    resets: AtomicU64,
    bytes: AtomicU64,
    kept: [AtomicU64; Sieve::ALL.len()],
    tallies: Mutex<Vec<Arc<Tally>>>,
}

impl Subscriber {
    pub(super) fn new(
        telemetry: Telemetry,
        id: SubscriberId,
        surface: Surface,
        topic: String,
    ) -> Self {
        let account = Arc::new(Account {
            id,
            surface,
            topic,
            delivered: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            resets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            kept: Default::default(),
            tallies: Mutex::default(),
        });
        telemetry.lock().subscribers.insert(id, account.clone());
        Self { telemetry, account }
    }

    /// Its number.
    pub fn id(&self) -> SubscriberId {
        self.account.id
    }

    /// What it asked for.
    pub fn topic(&self) -> &str {
        &self.account.topic
    }

    /// Counts what a subscription sees and keeps back as this subscriber's. A feed over several
    /// collections has several.
    pub fn follow(&self, tally: &Arc<Tally>) {
        self.account.tallies().push(tally.clone());
    }

    /// An event was handed to its connection.
    pub fn delivered(&self) {
        self.account.delivered.fetch_add(1, Relaxed);
    }

    /// Events that were meant for it could not be given to it.
    pub fn dropped(&self, events: usize) {
        self.account.dropped.fetch_add(events as u64, Relaxed);
    }

    /// Events were kept from it after its subscription had let them pass.
    pub fn kept(&self, sieve: Sieve, events: usize) {
        self.account.kept[sieve as usize].fetch_add(events as u64, Relaxed);
    }

    /// It was told that an event could not be delivered to anybody.
    pub fn skipped(&self) {
        self.account.skipped.fetch_add(1, Relaxed);
    }

    /// It was told that events were missed.
    pub fn reset(&self) {
        self.account.resets.fetch_add(1, Relaxed);
    }

    /// Bytes were written to it.
    pub fn sent(&self, bytes: usize) {
        self.account.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        self.account.counts()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut state = self.telemetry.lock();
        if state.subscribers.remove(&self.account.id).is_some() {
            let place = self.account.surface as usize;
            state.retired[place] = state.retired[place] + self.account.counts();
        }
    }
}

impl Account {
    pub(super) fn counts(&self) -> Counts {
        let tallies = self.tallies();
        let watched = tallies.iter().fold(Counts::default(), |sum, tally| sum + tally.counts());
        let mut kept = [0; Sieve::ALL.len()];
        for (place, count) in kept.iter_mut().zip(&self.kept) {
            *place = count.load(Relaxed);
        }
        watched
            + Counts {
                seen: 0,
                delivered: self.delivered.load(Relaxed),
                dropped: self.dropped.load(Relaxed),
                filtered: kept,
                skipped: self.skipped.load(Relaxed),
                resets: self.resets.load(Relaxed),
                bytes: self.bytes.load(Relaxed),
            }
    }

    fn tallies(&self) -> MutexGuard<'_, Vec<Arc<Tally>>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
