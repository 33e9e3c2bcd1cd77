//! What became of the events of one cursor for one subscription.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::{Counts, CursorMeter};

/// What keeps an event from a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sieve {
    /// A stage that runs in process.
    Stage,
    /// The client's own choice.
    NotifyWhen,
    /// What the caller's permission lets it read, its tenant and user included.
    Scope,
    /// A condition or a filter of an entity's event.
    Script,
}

impl Sieve {
    /// Every one, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::Stage, Self::NotifyWhen, Self::Scope, Self::Script];

    /// The word for it in metrics and in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::NotifyWhen => "notify_when",
            Self::Scope => "scope",
            Self::Script => "script",
        }
    }
}

/// Stands for a subscription that nobody brings anything.
const NOT_ROUTED: u64 = u64::MAX;

/// Counts for one subscription. A subscription looks at events itself, or is brought those that are
/// meant for it; then what it has seen is what its cursor published meanwhile.
#[derive(Debug)]
pub struct Tally {
    cursor: Arc<CursorMeter>,
    /// Keeps from the subscriber whatever the index does not name it for.
    index: Sieve,
    /// Events seen, without those since `routed_at`.
    seen: AtomicU64,
    /// What the cursor had published when the bringing began.
    routed_at: AtomicU64,
    selected: AtomicU64,
    kept: [AtomicU64; Sieve::ALL.len()],
}

impl Tally {
    /// `index` is what the index that finds the subscription stands for.
    pub fn new(cursor: Arc<CursorMeter>, index: Option<Sieve>) -> Self {
        Self {
            cursor,
            // Only an event that cannot be read is kept from one who is asked about all of them.
            index: index.unwrap_or(Sieve::Scope),
            seen: AtomicU64::new(0),
            routed_at: AtomicU64::new(NOT_ROUTED),
            selected: AtomicU64::new(0),
            kept: Default::default(),
        }
    }

    /// The subscription looked at an event; `None`: it was meant for it.
    pub fn looked(&self, kept_by: Option<Sieve>) {
        self.seen.fetch_add(1, Relaxed);
        match kept_by {
            None => self.brought(),
            Some(sieve) => self.kept(sieve),
        }
    }

    /// An event was left for the subscription.
    pub fn brought(&self) {
        self.selected.fetch_add(1, Relaxed);
    }

    /// The index named the subscription, and a closer look said no.
    pub fn kept(&self, sieve: Sieve) {
        self.kept[sieve as usize].fetch_add(1, Relaxed);
    }

    /// From now on the subscription is brought what is meant for it.
    pub fn routed(&self) {
        self.routed_at.store(self.cursor.events(), Relaxed);
    }

    /// From now on it looks itself again.
    pub fn unrouted(&self) {
        let since = self.routed_at.swap(NOT_ROUTED, Relaxed);
        if since != NOT_ROUTED {
            self.seen.fetch_add(self.cursor.events().saturating_sub(since), Relaxed);
        }
    }

    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        let mut filtered = [0; Sieve::ALL.len()];
        for (place, kept) in filtered.iter_mut().zip(&self.kept) {
            *place = kept.load(Relaxed);
        }
        let selected = self.selected.load(Relaxed);
        let seen = self.seen.load(Relaxed) + self.since_routed();
        let asked = selected + filtered.iter().sum::<u64>();
        filtered[self.index as usize] += seen.saturating_sub(asked);
        Counts { seen, filtered, ..Counts::default() }
    }

    fn since_routed(&self) -> u64 {
        match self.routed_at.load(Relaxed) {
            NOT_ROUTED => 0,
            since => self.cursor.events().saturating_sub(since),
        }
    }
}
