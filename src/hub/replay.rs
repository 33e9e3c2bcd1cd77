//! One reading of what was missed, shared by everyone who wants it at the same time.
//!
//! The reading moves a bounded window from the oldest position to the present. Members who take what there
//! is keep it waiting as long as they need; whoever takes nothing for a while is out, and gets another
//! round when it asks.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    CloseReason, Item,
    history::{History, HistoryLimits},
    mailbox::{Mailbox, SubscriberId},
    origin::Origin,
};
use crate::change::ResumeToken;

/// How long in all a member may take nothing of what there is while the reading waits for it.
const GRACE: Duration = Duration::from_millis(500);

/// Why there is nothing more for a member here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The round is over, or the member has fallen out of it: it goes on in another one.
    Round,
    /// The collection was dropped or renamed after the position.
    Dropped,
    /// MongoDB no longer holds what follows the position.
    Lost,
    /// The event that the position names is not to be found.
    Unknown,
    /// The session has to end.
    Failed(CloseReason),
}

/// What a member finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Items were appended.
    Items,
    /// Nothing for now; the member's mailbox is woken when that changes.
    Nothing,
    /// There will be nothing more.
    Over(End),
}

/// Written by one reading task, read by its members.
#[derive(Debug)]
pub(super) struct Replay {
    state: Mutex<State>,
    /// A member took something or left.
    moved: Notify,
}

#[derive(Debug)]
struct State {
    members: HashMap<SubscriberId, Member>,
    /// Members who come before the start, while there is room.
    boarding: Option<Vec<(SubscriberId, Origin)>>,
    /// Where members begin that the reading has not come to.
    ahead: BTreeSet<(ResumeToken, SubscriberId)>,
    window: History,
    /// Everything up to here is or was in the window.
    reached: ResumeToken,
    end: Option<End>,
    /// Counts what members took.
    taken: u64,
}

#[derive(Debug)]
struct Member {
    mailbox: Arc<Mailbox>,
    place: Place,
    /// Where it begins, once that is known.
    start: Option<ResumeToken>,
    /// The count of takings when it took something last.
    took: u64,
    /// How long it has kept the reading waiting.
    waited_for: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The reading has not come to where it begins.
    Ahead,
    /// The next item is this one.
    At(u64),
    /// There is nothing more for it here.
    Out(End),
}

impl Replay {
    pub(super) fn new(limits: HistoryLimits) -> Self {
        let nowhere = ResumeToken::before(Default::default());
        let state = State {
            members: HashMap::new(),
            boarding: Some(Vec::new()),
            ahead: BTreeSet::new(),
            window: History::new(nowhere.clone(), limits),
            reached: nowhere,
            end: None,
            taken: 0,
        };
        Self { state: Mutex::new(state), moved: Notify::new() }
    }

    // ---- the members' side ----

    /// Takes a member on. False: the replay has started without it.
    pub(super) fn board(&self, id: SubscriberId, mailbox: &Arc<Mailbox>, from: Origin) -> bool {
        let mut state = self.lock();
        let Some(boarding) = &mut state.boarding else { return false };
        boarding.push((id, from));
        state.members.insert(id, Member::new(mailbox.clone()));
        true
    }

    pub(super) fn leave(&self, id: SubscriberId) {
        let mut state = self.lock();
        if let Some(Member { start: Some(start), .. }) = state.members.remove(&id) {
            state.ahead.remove(&(start, id));
        }
        drop(state);
        self.moved.notify_one();
    }

    /// Takes what there is, and moves `newest` to behind it.
    pub(super) fn take(
        &self,
        id: SubscriberId,
        newest: &mut Option<ResumeToken>,
        into: &mut Vec<(u64, Item)>,
    ) -> Found {
        let mut state = self.lock();
        let found = state.take(id, newest, into);
        drop(state);
        if found == Found::Items {
            self.moved.notify_one();
        }
        found
    }

    // ---- the reading's side ----

    /// How many have come so far.
    pub(super) fn boarded(&self) -> usize {
        self.lock().boarding.as_ref().map_or(0, Vec::len)
    }

    /// From now on nobody boards. Gives those who are still there.
    pub(super) fn depart(&self) -> Vec<(SubscriberId, Origin)> {
        let mut state = self.lock();
        let boarded = state.boarding.take().unwrap_or_default();
        boarded.into_iter().filter(|(id, _)| state.members.contains_key(id)).collect()
    }

    /// Tells a member where it begins.
    pub(super) fn place(&self, id: SubscriberId, start: &ResumeToken) {
        let mut state = self.lock();
        if let Some(member) = state.members.get_mut(&id) {
            member.start = Some(start.clone());
            member.mailbox.wake();
            state.ahead.insert((start.clone(), id));
        }
    }

    /// There is nothing for one member here.
    pub(super) fn turn_out(&self, id: SubscriberId, end: End) {
        let mut state = self.lock();
        if let Some(member) = state.members.get_mut(&id) {
            member.turn_out(end);
            if let Some(start) = member.start.clone() {
                state.ahead.remove(&(start, id));
            }
        }
    }

    /// The reading begins after a token.
    pub(super) fn begin(&self, start: ResumeToken) {
        let mut state = self.lock();
        state.window = History::new(start.clone(), state.window.limits());
        state.reached = start;
    }

    /// Appends an item. Gives it back when there is no room before the slowest member takes some.
    pub(super) fn push(&self, item: Item) -> Result<(), Item> {
        self.lock().push(item)
    }

    /// Everything up to a token is in the window: wakes everyone.
    pub(super) fn reach(&self, token: &ResumeToken) {
        let mut state = self.lock();
        if *token > state.reached {
            state.begin_before(token);
            state.reached = token.clone();
        }
        state.wake_all();
    }

    /// There will be no more items. Members take what is left, and hear of `end` after it.
    pub(super) fn finish(&self, end: End) {
        let mut state = self.lock();
        state.end = Some(end);
        state.ahead.clear();
        // Whoever has not begun begins beyond what could be read here.
        let beyond = if let End::Failed(_) = end { end } else { End::Round };
        let not_begun = |member: &&mut Member| matches!(member.place, Place::Ahead);
        for member in state.members.values_mut().filter(not_begun) {
            member.turn_out(beyond);
        }
        state.wake_all();
    }

    /// Ends the round for everyone, and lets go of what it holds.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.boarding = None;
        state.ahead.clear();
        for member in state.members.values_mut() {
            if let Place::At(_) | Place::Ahead = member.place {
                member.turn_out(End::Round);
            }
        }
        let (reached, limits) = (state.reached.clone(), state.window.limits());
        state.window = History::new(reached, limits);
    }

    /// Whether every member is served or gone.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.members.values().all(|member| matches!(member.place, Place::Out(_)))
    }

    /// How often members have taken something.
    pub(super) fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// Waits until a member takes something or leaves.
    pub(super) async fn moved(&self) {
        self.moved.notified().await;
    }

    /// The reading has waited: members who took nothing of what there is since `taken` are charged, and
    /// turned out when it was too long. When `all` is read, whoever is still here counts.
    pub(super) fn charge(&self, waited: Duration, taken: u64, all: bool) {
        let mut state = self.lock();
        let head = state.window.head();
        for member in state.members.values_mut() {
            let idle = match member.place {
                Place::At(next) => all || next < head,
                Place::Ahead => all,
                Place::Out(_) => false,
            };
            if idle && member.took <= taken {
                member.waited_for += waited;
                if member.waited_for > GRACE {
                    member.turn_out(End::Round);
                }
            }
        }
    }

    pub(super) fn wake_all(&self) {
        self.lock().wake_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(
        &mut self,
        id: SubscriberId,
        newest: &mut Option<ResumeToken>,
        into: &mut Vec<(u64, Item)>,
    ) -> Found {
        let Some(member) = self.members.get_mut(&id) else { return Found::Over(End::Round) };
        if newest.is_none() {
            newest.clone_from(&member.start);
        }
        let next = match member.place {
            Place::Ahead => return Found::Nothing,
            Place::Out(end) => return Found::Over(end),
            Place::At(next) => next,
        };
        let Some(items) = self.window.read(next) else {
            member.place = Place::Out(End::Round);
            return Found::Over(End::Round);
        };
        let before = into.len();
        into.extend(items.map(|(number, item)| (number, item.clone())));
        let after = next + (into.len() - before) as u64;
        member.place = Place::At(after);
        if after == self.window.head() {
            *newest = Some(self.reached.clone());
        } else if let Some(token) = into.last().and_then(|(_, item)| item.token()) {
            *newest = Some(token.clone());
        }
        if after > next {
            self.taken += 1;
            member.took = self.taken;
            return Found::Items;
        }
        self.end.map_or(Found::Nothing, Found::Over)
    }

    fn push(&mut self, item: Item) -> Result<(), Item> {
        if !self.make_room(item.weight()) {
            return Err(item);
        }
        if let Some(token) = item.token() {
            self.begin_before(token);
            self.reached = token.clone();
        }
        self.window.push(item);
        Ok(())
    }

    /// Lets go of what every member has taken, as far as needed.
    fn make_room(&mut self, weight: usize) -> bool {
        if self.window.has_room(weight) {
            return true;
        }
        let slowest = self.slowest();
        while !self.window.has_room(weight) && self.window.first() < slowest {
            self.window.evict();
        }
        self.window.has_room(weight)
    }

    /// Those who begin before a token begin with the item that bears it.
    fn begin_before(&mut self, token: &ResumeToken) {
        let next = self.window.head();
        while self.ahead.first().is_some_and(|(start, _)| start < token) {
            let Some((_, id)) = self.ahead.pop_first() else { return };
            if let Some(member) = self.members.get_mut(&id) {
                member.place = Place::At(next);
            }
        }
    }

    /// How far the slowest member has come. Whoever has not begun wants the reading to move on.
    fn slowest(&self) -> u64 {
        let place = |member: &Member| match member.place {
            Place::At(next) => Some(next),
            Place::Ahead | Place::Out(_) => None,
        };
        self.members.values().filter_map(place).min().unwrap_or(u64::MAX)
    }

    fn wake_all(&self) {
        self.members.values().for_each(|member| member.mailbox.wake());
    }
}

impl Member {
    fn new(mailbox: Arc<Mailbox>) -> Self {
        let (place, waited_for) = (Place::Ahead, Duration::ZERO);
        Self { mailbox, place, start: None, took: 0, waited_for }
    }

    fn turn_out(&mut self, end: End) {
        self.place = Place::Out(end);
        self.mailbox.wake();
    }
}
