//! What an operator sees: counters, named once, and the record of every connection.
//!
//! Nothing here takes a lock or looks a label up for an event. What happens per event is counted in
//! the [`Tally`] of one subscription, by the tasks that own it; totals are sums, made when somebody
//! asks. What a subscriber was never asked about, because the index did not name it, is not counted
//! either: it follows from what its cursor published meanwhile.

mod cause;
mod connection;
mod counts;
mod cursor;
mod exposition;
mod status;
mod subscriber;
mod surface;
mod tally;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub use cause::{Cap, Cause};
pub use connection::Connection;
pub use counts::Counts;
pub use cursor::{Cursor, CursorMeter};
pub use status::{CursorStatus, Status, SubscriberStatus};
pub use subscriber::{Subscriber, SubscriberId};
pub use surface::{Surface, Transport};
pub use tally::{Sieve, Tally};

use self::subscriber::Account;

/// The counters of one service. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    next_cursor: AtomicU64,
    next_subscriber: AtomicU64,
    read: AtomicU64,
    published: AtomicU64,
    entity_published: AtomicU64,
    entity_unowned: AtomicU64,
    catch_ups: AtomicU64,
    state: Mutex<State>,
}

/// Changed when something opens or closes, never for an event.
#[derive(Debug, Default)]
struct State {
    cursors: BTreeMap<u64, Arc<CursorMeter>>,
    subscribers: BTreeMap<SubscriberId, Arc<Account>>,
    /// What subscribers that are gone had counted, by surface.
    retired: [Counts; Surface::ALL.len()],
    /// Never less than what was shown before: sums of counters that move meanwhile may waver.
    shown: [Counts; Surface::ALL.len()],
    open: [[u64; Surface::ALL.len()]; Transport::ALL.len()],
    closed: BTreeMap<Cause, u64>,
    refused: BTreeMap<Cap, u64>,
}

impl Telemetry {
    /// Shows these causes of closing from the start, besides those that any service has.
    pub fn knowing(causes: impl IntoIterator<Item = Cause>) -> Self {
        let telemetry = Self::default();
        let closed = causes.into_iter().chain(Cause::ALL).map(|cause| (cause, 0));
        telemetry.lock().closed.extend(closed);
        telemetry
    }

    /// A cursor was opened; it is shown until the result is dropped.
    pub fn cursor(&self, namespace: String, own: bool) -> Cursor {
        let number = next(&self.0.next_cursor);
        Cursor::new(self.clone(), number, CursorMeter::new(namespace, own))
    }

    /// A subscriber came; it is shown until the result is dropped. `topic` is what it asked for.
    pub fn subscriber(&self, surface: Surface, topic: impl Into<String>) -> Subscriber {
        let id = SubscriberId(next(&self.0.next_subscriber));
        Subscriber::new(self.clone(), id, surface, topic.into())
    }

    /// A catch-up runs until the result is dropped.
    pub fn catch_up(&self) -> CatchUp {
        self.0.catch_ups.fetch_add(1, Ordering::Relaxed);
        CatchUp(self.clone())
    }

    /// Events came from MongoDB.
    pub fn read(&self, events: usize) {
        self.0.read.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Events were offered to the subscribers of a cursor.
    pub fn published(&self, events: usize) {
        self.0.published.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Changes became events of entities.
    pub fn entity_published(&self, events: usize) {
        self.0.entity_published.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Of a change it cannot be told whose it is: nobody got it who is held to a tenant.
    pub fn entity_unowned(&self) {
        self.0.entity_unowned.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody was turned away because a cap is reached.
    pub fn refused(&self, cap: Cap) {
        *self.lock().refused.entry(cap).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers from one.
fn next(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::Relaxed) + 1
}

impl State {
    /// What was counted on a surface since the start.
    fn totals(&mut self, surface: Surface) -> Counts {
        let living = self.subscribers.values().filter(|account| account.surface == surface);
        let living = living.fold(Counts::default(), |sum, account| sum + account.counts());
        let place = surface as usize;
        let (retired, shown) = (self.retired[place], self.shown[place]);
        let total = (retired + living).at_least(shown);
        self.shown[place] = total;
        total
    }
}

/// Stands for a catch-up that runs.
#[derive(Debug)]
pub struct CatchUp(Telemetry);

impl Drop for CatchUp {
    fn drop(&mut self) {
        self.0.0.catch_ups.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
