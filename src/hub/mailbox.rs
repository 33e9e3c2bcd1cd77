//! The hub's half of a subscriber: references to what was selected for it, bounded.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{CloseHandle, CloseReason, Item, ending::Ending, portion::portion};

/// Names a subscriber within a process.
pub type SubscriberId = u64;

/// Bounds of a mailbox. What does not fit stays in the history, where the subscriber reads it later.
#[derive(Debug, Clone, Copy)]
pub struct MailboxLimits {
    /// Most items held.
    pub events: usize,
    /// Most bytes held. One item larger than this is admitted to an empty mailbox.
    pub bytes: usize,
}

/// Where the fan-out leaves items for one subscriber. Written by the fan-out, read by the session.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    ending: Arc<Ending>,
    limits: MailboxLimits,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<(u64, Item)>,
    bytes: usize,
    /// The first item that did not fit. Nothing is queued from then on.
    overrun: Option<u64>,
}

/// What a subscriber finds when it looks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Items were appended to the caller's buffer.
    Items,
    /// Nothing for now.
    Nothing,
    /// The mailbox was overrun: read the history from this number on.
    Overrun(u64),
    /// The session has to end.
    Closed(CloseReason),
}

impl Mailbox {
    pub(super) fn new(limits: MailboxLimits) -> Self {
        Self { state: Mutex::default(), ending: Arc::default(), limits }
    }

    /// Leaves an item. False: it did not fit, and the subscriber has to be taken off the routes.
    pub(super) fn leave(&self, number: u64, item: Item) -> bool {
        let mut state = self.lock();
        let weight = item.weight();
        let full = state.items.len() >= self.limits.events
            || (state.bytes + weight > self.limits.bytes && !state.items.is_empty());
        if full || state.overrun.is_some() {
            state.overrun.get_or_insert(number);
            return false;
        }
        state.bytes += weight;
        state.items.push_back((number, item));
        true
    }

    /// Wakes the session; a wake while it is busy is kept.
    pub(super) fn wake(&self) {
        self.ending.wake();
    }

    pub(super) async fn woken(&self) {
        self.ending.woken().await;
    }

    pub(super) fn take(&self, into: &mut Vec<(u64, Item)>) -> Found {
        if let Some(reason) = self.closed() {
            return Found::Closed(reason);
        }
        let mut state = self.lock();
        let count = portion(state.items.iter().map(|(_, item)| item));
        if count > 0 {
            let taken = state.items.drain(..count);
            let before = into.len();
            into.extend(taken);
            state.bytes -= into[before..].iter().map(|(_, item)| item.weight()).sum::<usize>();
            return Found::Items;
        }
        state.overrun.take().map_or(Found::Nothing, Found::Overrun)
    }

    /// Whether the session has to end, before anything that is queued and whatever it is doing.
    pub(super) fn closed(&self) -> Option<CloseReason> {
        self.ending.decided()
    }

    /// What ends the session from outside.
    pub(super) fn close_handle(&self) -> CloseHandle {
        self.ending.handle()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.items.is_empty() && state.overrun.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
