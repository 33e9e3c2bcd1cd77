//! A client's place in the reading of what it missed, until the history takes over.

use std::sync::Arc;

use super::{
    CloseReason, Item,
    feed::Feed,
    item::Tail,
    mailbox::{Mailbox, SubscriberId},
    origin::Origin,
    replay::{End, Found, Replay},
    replays::Replays,
};
use crate::change::ResumeToken;

/// A member of one replay after another. Leaving is dropping it.
#[derive(Debug)]
pub struct CatchUp {
    replays: Arc<Replays>,
    replay: Arc<Replay>,
    id: SubscriberId,
    mailbox: Arc<Mailbox>,
    from: Origin,
    /// Everything up to here was handed over, once that is known.
    newest: Option<ResumeToken>,
    /// Where the client joined the feed: it goes on there when what it missed is gone.
    joined: (u64, Tail),
}

/// What [`CatchUp::take`] brought.
#[derive(Debug)]
pub(super) enum Caught {
    /// Items were appended.
    Items,
    /// Nothing for now: the mailbox is woken when that changes.
    Nothing,
    /// The history holds everything from this number on. What it brings up to `seen` is known: the
    /// replay may have been ahead of the shared cursor.
    UpWith { next: u64, seen: Option<ResumeToken> },
    /// The session has to end.
    Failed(CloseReason),
}

impl CatchUp {
    pub(super) fn board(
        replays: Arc<Replays>,
        id: SubscriberId,
        mailbox: &Arc<Mailbox>,
        from: Origin,
        joined: (u64, Tail),
    ) -> Self {
        let (replay, newest) = (replays.board(id, mailbox, &from), None);
        Self { replays, replay, id, mailbox: mailbox.clone(), from, newest, joined }
    }

    /// Takes missed items, or says that the history takes over.
    pub(super) fn take(&mut self, feed: &Feed, into: &mut Vec<(u64, Item)>) -> Caught {
        loop {
            if let Some(up_with) = self.up_with(feed) {
                return up_with;
            }
            let before = self.newest.clone();
            match self.replay.take(self.id, &mut self.newest, into) {
                Found::Items => return Caught::Items,
                // It has moved on without an item, perhaps far enough.
                Found::Nothing | Found::Over(_) if self.newest != before => {}
                Found::Nothing => return Caught::Nothing,
                Found::Over(End::Round) => self.board_again(),
                Found::Over(End::Failed(reason)) => return Caught::Failed(reason),
                Found::Over(End::Lost) => return self.reset("history_lost", LOST, feed, into),
                Found::Over(End::Unknown) => return self.reset("unknown_id", UNKNOWN, feed, into),
                Found::Over(End::Dropped) => {
                    return self.reset("collection_dropped", DROPPED, feed, into);
                }
            }
        }
    }

    fn up_with(&self, feed: &Feed) -> Option<Caught> {
        let next = feed.after(self.newest.as_ref()?)?;
        Some(Caught::UpWith { next, seen: self.newest.clone() })
    }

    /// Asks for another round, from where this one ended.
    fn board_again(&mut self) {
        if let Some(newest) = &self.newest {
            let begun = !matches!(&self.from, Origin::Invalidate(start) if start == newest);
            if begun {
                self.from = Origin::Token(newest.clone());
            }
        }
        self.replay.leave(self.id);
        self.replay = self.replays.board(self.id, &self.mailbox, &self.from);
    }

    /// What was missed is gone. The client goes on from where it joined: all that was committed since
    /// then is its due. One that was given more already goes on from now, and has nothing twice.
    fn reset(
        &self,
        reason: &'static str,
        message: &str,
        feed: &Feed,
        into: &mut Vec<(u64, Item)>,
    ) -> Caught {
        let joined = self.joined.1.time;
        let is_beyond = self.newest.as_ref().is_some_and(|newest| newest.cluster_time() >= joined);
        let (next, tail) = if is_beyond { feed.head() } else { self.joined.clone() };
        into.push((0, Item::reset(reason, message.to_owned(), tail)));
        Caught::UpWith { next, seen: None }
    }
}

impl Drop for CatchUp {
    fn drop(&mut self) {
        self.replay.leave(self.id);
    }
}

const LOST: &str = "MongoDB no longer holds the changes since that event id";
const UNKNOWN: &str = "the event that the id names is no longer known";
const DROPPED: &str = "the collection was dropped or renamed since the event id was issued";
