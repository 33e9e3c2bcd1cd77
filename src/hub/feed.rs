//! What a fan-out shares with its subscribers: the history, who hears of what, and the state of the source.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::SystemTime,
};

use super::{
    CloseReason, Item, Skipped, Status,
    history::{History, HistoryLimits},
    item::Tail,
    mailbox::{Mailbox, MailboxLimits, SubscriberId},
    routes::Routes,
};
use crate::{
    binding::{Namespace, Selection},
    change::{ChangeEvent, ClusterTime, Position, PositionId, PositionKey, ResumeToken, View},
    source::{SourceEvent, poison::Poison},
    telemetry::{CursorMeter, Tally},
};

/// Sees every change that is published, whoever reads. Quick: the fan-out waits for it.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// A change is about to be published.
    fn observe(&self, event: &ChangeEvent);
}

/// Shared by one fan-out task, which writes, and its subscribers, which read.
#[derive(Debug)]
pub(super) struct Feed {
    state: RwLock<State>,
    key: PositionKey,
    scope: String,
    /// Over several collections, which end without the cursor.
    is_wide: bool,
    /// Longest JSON text of an event, bytes.
    largest_event: usize,
    pub(super) mailbox_limits: MailboxLimits,
    meter: Arc<CursorMeter>,
}

#[derive(Debug)]
struct State {
    history: History,
    /// Subscribers that read the history themselves and only want to be woken.
    readers: HashMap<SubscriberId, Arc<Mailbox>>,
    /// Subscribers to whose mailboxes selected items are brought.
    routes: Routes,
    /// Everything up to here was read from MongoDB.
    reach: ResumeToken,
    /// The newest place in the history, however long ago it left that.
    newest: Option<Tail>,
    status: Status,
    ended: Option<CloseReason>,
    /// By name; they stay for as long as the feed does.
    observers: HashMap<String, Arc<dyn Observer>>,
    meter: Arc<CursorMeter>,
}

/// What reading the history gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Some items; there may be more.
    Items,
    /// The reader has seen everything.
    AtHead,
    /// The reader has seen everything and there will be no more.
    Ended(CloseReason),
    /// What the reader wants next is gone.
    Gone,
}

impl Feed {
    pub(super) fn new(
        floor: ResumeToken,
        namespace: &Namespace,
        key: PositionKey,
        history: HistoryLimits,
        mailbox_limits: MailboxLimits,
        meter: Arc<CursorMeter>,
    ) -> Self {
        let state = State {
            history: History::new(floor.clone(), history),
            readers: HashMap::new(),
            routes: Routes::default(),
            reach: floor,
            newest: None,
            status: Status { healthy: true, since: SystemTime::now() },
            ended: None,
            observers: HashMap::new(),
            meter: meter.clone(),
        };
        let (state, scope) = (RwLock::new(state), namespace.to_string());
        let (is_wide, largest_event) = (!namespace.is_collection(), usize::MAX);
        Self { state, key, scope, is_wide, largest_event, mailbox_limits, meter }
    }

    /// Events whose JSON text is longer than this many bytes are not delivered.
    pub(super) fn bounded(self, largest_event: usize) -> Self {
        Self { largest_event, ..self }
    }

    // ---- the fan-out's side ----

    /// Publishes a batch and wakes everybody once.
    pub(super) fn publish(&self, events: Vec<SourceEvent>, reach: Option<ResumeToken>) {
        // Ids are made before the lock is taken: they cost two hashes each.
        let items: Vec<_> = events.into_iter().map(|event| self.item(event)).collect();
        let observers: Vec<_> = self.lock().observers.values().cloned().collect();
        for observer in observers {
            items.iter().filter_map(Item::change).for_each(|change| observer.observe(change));
        }
        let mut state = self.write();
        for item in items {
            state.push(item);
        }
        if let Some(reach) = reach.filter(|reach| *reach > state.reach) {
            state.reach = reach;
        }
        state.wake_all();
    }

    /// Publishes something that is said between changes.
    pub(super) fn announce(&self, item: Item) {
        let mut state = self.write();
        if let Item::Status(status) = &item {
            state.status = Status::clone(status);
        }
        if let Item::Reset(reset) = &item {
            state.status = Status { healthy: true, since: SystemTime::now() };
            state.reach = ResumeToken::before(reset.at.time);
        }
        state.push(item);
        state.wake_all();
    }

    /// There will be no more items.
    pub(super) fn end(&self, reason: CloseReason) {
        let mut state = self.write();
        state.ended.get_or_insert(reason);
        state.wake_all();
    }

    /// An event as the feed holds it.
    pub(super) fn item(&self, event: SourceEvent) -> Item {
        let dropped = if self.is_wide { event.replaced() } else { Vec::new() };
        let id = self.id_of(&self.key.after(&event.token));
        let event = ChangeEvent::new(event.raw, event.token, id).bounded(self.largest_event);
        if dropped.is_empty() {
            Item::Change(Arc::new(event), View::Whole)
        } else {
            Item::dropped(&event, dropped)
        }
    }

    /// The notice of an event that could not be read.
    pub(super) fn skipped(&self, poison: Arc<Poison>) -> Item {
        let id = self.id_of(&self.key.after(&poison.token));
        Skipped::of(Arc::unwrap_or_clone(poison), id)
    }

    // ---- the subscribers' side ----

    pub(super) fn meter(&self) -> &Arc<CursorMeter> {
        &self.meter
    }

    pub(super) fn key(&self) -> &PositionKey {
        &self.key
    }

    /// The full name of the collection, to which ids are bound.
    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn id_of(&self, position: &Position) -> PositionId {
        self.key.seal(position, &self.scope)
    }

    /// A reset in the words of the contract: the stream goes on at `time`.
    pub(super) fn reset(&self, reason: &'static str, message: String, time: ClusterTime) -> Item {
        Item::reset(reason, message, self.start_of(time))
    }

    /// Registers a subscriber that reads the history. Gives the number of the next item, and where the
    /// feed stands before it. Looked up together: an item that came in between would count as delivered
    /// and never be.
    pub(super) fn join(&self, id: SubscriberId, mailbox: &Arc<Mailbox>) -> (u64, Tail) {
        self.meter.joined();
        let mut state = self.write();
        state.readers.insert(id, mailbox.clone());
        self.head_of(&state)
    }

    /// The number of the next item, and where the feed stands before it.
    pub(super) fn head(&self) -> (u64, Tail) {
        self.head_of(&self.lock())
    }

    fn head_of(&self, state: &State) -> (u64, Tail) {
        (state.history.head(), self.tail_of(state))
    }

    /// Lets an observer see what is published from now on, in place of one with the same name.
    pub(super) fn observe(&self, name: String, observer: Arc<dyn Observer>) {
        self.write().observers.insert(name, observer);
    }

    pub(super) fn leave(&self, id: SubscriberId) {
        self.meter.left();
        let mut state = self.write();
        state.readers.remove(&id);
        state.routes.remove(id);
    }

    /// From now on, selected items are brought. False: the subscriber has not read everything yet.
    pub(super) fn route(
        &self,
        id: SubscriberId,
        next: u64,
        selection: &Arc<Selection>,
        tally: &Arc<Tally>,
    ) -> bool {
        let mut state = self.write();
        if state.history.head() != next || state.ended.is_some() {
            return false;
        }
        if let Some(mailbox) = state.readers.remove(&id) {
            state.routes.insert(id, mailbox, selection.clone(), tally.clone());
        }
        true
    }

    /// Back to reading the history, after an overrun.
    pub(super) fn unroute(&self, id: SubscriberId, mailbox: &Arc<Mailbox>) {
        let mut state = self.write();
        state.routes.remove(id);
        state.readers.insert(id, mailbox.clone());
    }

    /// Whether the item with this number is the next one to come.
    pub(super) fn is_head(&self, number: u64) -> bool {
        let state = self.lock();
        state.history.head() == number && state.ended.is_none()
    }

    /// Copies items from a number on.
    pub(super) fn read(&self, from: u64, into: &mut Vec<(u64, Item)>) -> Read {
        let state = self.lock();
        let Some(items) = state.history.read(from) else { return Read::Gone };
        let before = into.len();
        into.extend(items.map(|(number, item)| (number, item.clone())));
        match state.ended {
            _ if into.len() > before => Read::Items,
            Some(reason) => Read::Ended(reason),
            None => Read::AtHead,
        }
    }

    /// The number of the first item after a token, when everything after it is held or still to come.
    pub(super) fn after(&self, token: &ResumeToken) -> Option<u64> {
        self.lock().history.after(token)
    }

    /// The number of the first item after the event that a position names, when it is held.
    pub(super) fn after_position(&self, position: &Position) -> Option<u64> {
        let id = self.id_of(position);
        self.lock().history.after_id(&id)
    }

    /// Where the feed stands, for a reader that has seen all of it.
    pub(super) fn tail(&self) -> Tail {
        self.tail_of(&self.lock())
    }

    fn tail_of(&self, state: &State) -> Tail {
        let reach = state.reach.cluster_time();
        // The batch token is used only once it stands for a later point than the newest event.
        match &state.newest {
            Some(newest) if newest.time >= reach => newest.clone(),
            _ => self.start_of(reach),
        }
    }

    fn start_of(&self, time: ClusterTime) -> Tail {
        Tail { id: self.id_of(&self.key.before(time)), time }
    }

    pub(super) fn ended(&self) -> Option<CloseReason> {
        self.lock().ended
    }

    pub(super) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    fn lock(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, item: Item) {
        let number = self.history.head();
        if let Some(place) = item.place() {
            self.newest = Some(place);
        }
        for overrun in self.routes.bring(number, &item) {
            // It finds its way back to the history when it next looks.
            self.routes.remove(overrun);
        }
        if item.change().is_some() {
            self.meter.published();
        }
        self.history.push(item);
    }

    fn wake_all(&mut self) {
        self.readers.values().for_each(|mailbox| mailbox.wake());
        self.routes.wake(self.ended.is_some());
    }
}
