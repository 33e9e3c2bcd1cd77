//! The client's half of a subscriber: reads what is meant for it, in order, without gap or repeat.

use std::sync::Arc;

use bson::Document;

use super::{
    CloseHandle, CloseReason, Item,
    catch_up::{CatchUp, Caught},
    feed::{Feed, Observer, Read},
    item::{Status, Tail},
    mailbox::{Found, Mailbox, SubscriberId},
    origin::Origin,
    registry::Lease,
    replays::Replays,
    snapshot::{Snapshot, Step},
};
use crate::{
    binding::Selection,
    change::{PositionId, ResumeToken},
    telemetry::Tally,
};

/// Where a client wants to begin.
#[derive(Debug, Clone)]
pub enum Resume {
    /// With what comes.
    Live,
    /// With the documents that are there, of those that fulfil a filter, and then with what comes.
    Snapshot(Document),
    /// After an event that it was given the id of. An id that cannot be used is answered with a reset.
    Id(String),
    /// With the event that it was given the id of: one change may be several events elsewhere.
    Within(String),
    /// After a raw resume token, as RESTHeart's clients send it.
    Token(ResumeToken),
}

/// A client's place in a feed. Leaving is dropping it.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    replays: Arc<Replays>,
    id: SubscriberId,
    mailbox: Arc<Mailbox>,
    selection: Arc<Selection>,
    tally: Arc<Tally>,
    phase: Phase,
    /// The id that a client would come back with, and its time.
    last: Tail,
    /// Where it stands, until it has come to the head for the first time: if the history forgets that
    /// meanwhile, it is read from MongoDB once more.
    behind: Option<Behind>,
    /// Everything up to here was given by another cursor, which may be ahead of the feed.
    seen: Option<ResumeToken>,
    /// Taken items, not yet looked at. Kept to reuse its memory.
    taken: Vec<(u64, Item)>,
    _lease: Lease,
}

/// A client that has not caught up yet.
#[derive(Debug)]
struct Behind {
    from: Origin,
    /// Where it joined the feed.
    joined: (u64, Tail),
}

#[derive(Debug)]
enum Phase {
    /// Reading the documents that are there; where it joined the feed.
    Snapshot(Snapshot, u64),
    /// Reading what was missed from MongoDB.
    CatchingUp(CatchUp),
    /// Reading the history from a number on.
    Reading(u64),
    /// Being brought what is selected.
    Routed,
}

/// What [`Subscription::next`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Items were appended.
    Items,
    /// The session has to end.
    Closed(CloseReason),
}

impl Subscription {
    pub(super) fn live(
        replays: Arc<Replays>,
        id: SubscriberId,
        selection: Arc<Selection>,
        lease: Lease,
    ) -> Self {
        let feed = replays.feed.clone();
        let mailbox = Arc::new(Mailbox::new(feed.mailbox_limits));
        let (next, last) = feed.join(id, &mailbox);
        let (phase, taken) = (Phase::Reading(next), Vec::new());
        let tally = Arc::new(Tally::new(feed.meter().clone(), selection.indexed_by()));
        Self {
            feed,
            replays,
            id,
            mailbox,
            selection,
            tally,
            phase,
            last,
            behind: None,
            seen: None,
            taken,
            _lease: lease,
        }
    }

    /// Begins in the past instead of now, in the history when that reaches far enough. `last` is the
    /// position that the client asked for, and `next` the item after it where that is known.
    pub(super) fn rewind(&mut self, from: Origin, next: Option<u64>, last: Tail) {
        let Phase::Reading(joined) = self.phase else { return };
        let joined = (joined, std::mem::replace(&mut self.last, last));
        // Another replica may have told a token before this one's cursor has come to it.
        let token = if let Origin::Token(token) = &from { Some(token.clone()) } else { None };
        let after = token.as_ref().and_then(|token| self.feed.after(token));
        self.behind = Some(Behind { from, joined });
        match next.or(after) {
            Some(next) => (self.phase, self.seen) = (Phase::Reading(next), token),
            None => drop(self.catch_up()),
        }
    }

    /// Reads from MongoDB what the history does not hold. False: it has been live, and was too slow.
    fn catch_up(&mut self) -> bool {
        let Some(Behind { from, joined }) = &self.behind else { return false };
        let (replays, from, joined) = (self.replays.clone(), from.clone(), joined.clone());
        let place = CatchUp::board(replays, self.id, &self.mailbox, from, joined);
        self.phase = Phase::CatchingUp(place);
        true
    }

    /// Everything up to a token has been taken.
    fn came_to(&mut self, token: Option<&ResumeToken>) {
        if let (Some(behind), Some(token)) = (&mut self.behind, token) {
            behind.from = Origin::Token(token.clone());
        }
    }

    /// Begins with documents.
    pub(super) fn begin_with(&mut self, snapshot: Snapshot) {
        if let Phase::Reading(joined) = self.phase {
            self.phase = Phase::Snapshot(snapshot, joined);
        }
    }

    /// Says something before anything else.
    pub(super) fn say(&mut self, item: Item) {
        self.taken.push((0, item));
    }

    /// Whether documents are still to come, so that no id stands for what the client has.
    pub fn is_in_snapshot(&self) -> bool {
        matches!(self.phase, Phase::Snapshot(..))
    }

    /// The id that a client would come back with if it were cut now.
    pub fn last(&self) -> &Tail {
        &self.last
    }

    /// Whether the source is being read.
    pub fn status(&self) -> Status {
        self.feed.status()
    }

    /// Lets an observer see what the cursor brings, whoever it is for, in place of one with the same
    /// name. It stays for as long as the cursor does.
    pub fn observe(&self, name: impl Into<String>, observer: Arc<dyn Observer>) {
        self.feed.observe(name.into(), observer);
    }

    /// What became of the events of its cursor.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// Ends the session from outside.
    pub fn close_handle(&self) -> CloseHandle {
        self.mailbox.close_handle()
    }

    /// Waits for items and appends them. Cancel-safe: nothing is lost when the future is dropped.
    pub async fn next(&mut self, into: &mut Vec<Item>) -> Delivery {
        loop {
            if let Some(reason) = self.mailbox.closed() {
                return Delivery::Closed(reason);
            }
            if !self.taken.is_empty() {
                self.hand_over(into);
                return Delivery::Items;
            }
            let step = match &mut self.phase {
                Phase::Snapshot(snapshot, _) => {
                    let step = tokio::select! {
                        step = snapshot.next() => step,
                        () = self.mailbox.woken() => continue,
                    };
                    self.shown(step)
                }
                Phase::CatchingUp(catch_up) => {
                    let caught = catch_up.take(&self.feed, &mut self.taken);
                    self.caught(caught).await
                }
                Phase::Reading(next) => {
                    let next = *next;
                    self.read(next).await
                }
                Phase::Routed => self.collect().await,
            };
            let before = into.len();
            self.hand_over(into);
            match step {
                Some(reason) if into.len() == before => return Delivery::Closed(reason),
                _ if into.len() > before => return Delivery::Items,
                _ => {}
            }
        }
    }

    /// The id for a heartbeat: a fresh one when the client has been given everything, else the last one.
    pub fn heartbeat(&mut self) -> PositionId {
        let up_to_date = match self.phase {
            Phase::Snapshot(..) | Phase::CatchingUp(_) => false,
            Phase::Reading(next) => self.feed.is_head(next),
            Phase::Routed => self.mailbox.is_empty(),
        };
        // An item published between the look and here makes the tail newer than what was given, so
        // the tail is taken first and the look confirms it.
        if up_to_date {
            self.refresh();
        }
        self.last.id.clone()
    }

    fn refresh(&mut self) {
        let tail = self.feed.tail();
        let still = match self.phase {
            Phase::Reading(next) => self.feed.is_head(next),
            _ => self.mailbox.is_empty(),
        };
        if still && tail.time > self.last.time {
            self.last = tail;
        }
    }

    /// One step of reading the history; waits at its head.
    async fn read(&mut self, next: u64) -> Option<CloseReason> {
        match self.feed.read(next, &mut self.taken) {
            Read::Items => {
                let after = self.taken.last().map_or(next, |(number, _)| number + 1);
                self.phase = Phase::Reading(after);
                let token = self.taken.iter().rev().find_map(|(_, item)| item.token()).cloned();
                self.came_to(token.as_ref());
                None
            }
            Read::Ended(reason) => Some(reason),
            Read::Gone => (!self.catch_up()).then_some(CloseReason::SlowConsumer),
            Read::AtHead if self.selection.is_everything() => {
                self.behind = None;
                self.mailbox.woken().await;
                None
            }
            Read::AtHead => {
                self.behind = None;
                if self.feed.route(self.id, next, &self.selection, &self.tally) {
                    self.phase = Phase::Routed;
                }
                None
            }
        }
    }

    /// One step of emptying the mailbox; waits while it is empty.
    async fn collect(&mut self) -> Option<CloseReason> {
        // Asked before looking: what was brought before the end is still to be taken.
        let ended = self.feed.ended();
        match self.mailbox.take(&mut self.taken) {
            Found::Items => None,
            Found::Closed(reason) => Some(reason),
            Found::Overrun(from) => {
                self.feed.unroute(self.id, &self.mailbox);
                self.phase = Phase::Reading(from);
                None
            }
            Found::Nothing if ended.is_some() => ended,
            Found::Nothing => {
                self.mailbox.woken().await;
                None
            }
        }
    }

    fn shown(&mut self, step: Step) -> Option<CloseReason> {
        match step {
            Step::Documents(documents) => {
                self.taken.extend(documents.into_iter().map(|item| (0, item)));
                None
            }
            Step::Done { begin, tail } => {
                if let Phase::Snapshot(_, joined) = self.phase {
                    self.phase = Phase::Reading(joined);
                }
                self.taken.push((0, Item::SnapshotEnd(tail.clone())));
                self.rewind(Origin::Token(begin), None, tail);
                None
            }
            Step::Failed(reason) => Some(reason),
        }
    }

    /// Waits when there is nothing for now.
    async fn caught(&mut self, caught: Caught) -> Option<CloseReason> {
        match caught {
            Caught::Items => None,
            Caught::Nothing => {
                self.mailbox.woken().await;
                None
            }
            Caught::UpWith { next, seen } => {
                self.came_to(seen.as_ref());
                self.seen = seen;
                self.phase = Phase::Reading(next);
                None
            }
            Caught::Failed(reason) => Some(reason),
        }
    }

    /// Keeps of the taken items what concerns this subscriber.
    fn hand_over(&mut self, into: &mut Vec<Item>) {
        for (_, item) in self.taken.drain(..) {
            if is_repeat(&mut self.seen, &item) {
                continue;
            }
            // What is brought was judged when it was brought.
            let judged = match self.phase {
                Phase::Routed => Some(item),
                Phase::Snapshot(..) | Phase::CatchingUp(_) | Phase::Reading(_) => {
                    item.for_whom(&self.selection, &self.tally)
                }
            };
            let Some(item) = judged else { continue };
            if let Some(place) = item.place() {
                self.last = place;
            }
            into.push(item);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.leave(self.id);
    }
}

/// Whether another cursor has given this item already. The feed is in order: the first item beyond
/// `seen` ends the question.
fn is_repeat(seen: &mut Option<ResumeToken>, item: &Item) -> bool {
    let (Some(last), Some(token)) = (seen.as_ref(), item.token()) else { return false };
    let repeat = token <= last;
    if !repeat {
        *seen = None;
    }
    repeat
}
