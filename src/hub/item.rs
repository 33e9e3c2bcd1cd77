//! What a feed holds: changes, and what has to be said between them.

use std::{sync::Arc, time::SystemTime};

use bson::RawDocumentBuf;

use crate::{
    binding::{Images, Namespace, Selection},
    change::{ChangeEvent, ClusterTime, PositionId, ResumeToken, View},
    source::poison::Poison,
    telemetry::{Sieve, Tally},
};

/// One entry of a feed. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Item {
    /// A change, and how much of it is shown.
    Change(Arc<ChangeEvent>, View),
    /// A document of a snapshot, as the event of its insert, and how much of it is shown.
    Document(Arc<ChangeEvent>, View),
    /// The snapshot is whole; changes after it follow.
    SnapshotEnd(Tail),
    /// An event that could not be read.
    Skipped(Arc<Skipped>),
    /// Changes were missed.
    Reset(Arc<Reset>),
    /// The source went down or came back.
    Status(Arc<Status>),
}

/// One event was stepped over.
#[derive(Debug)]
pub struct Skipped {
    /// What happened, without a value of the event: its readers may not be allowed to see it.
    pub reason: String,
    /// The event as a cursor without stages shows it; decides whom the notice concerns.
    pub event: RawDocumentBuf,
    /// Which event.
    pub token: ResumeToken,
    /// Its position: whoever comes back with it is not told again.
    pub id: PositionId,
}

/// Changes were or may have been missed; the stream goes on live from here.
#[derive(Debug)]
pub struct Reset {
    /// One word of the contract.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Where the stream goes on.
    pub at: Tail,
    /// The collections of which changes were missed; none: of every one.
    about: Vec<Namespace>,
    /// Sorts after what was missed: whoever stands before it has to be told, and nobody else.
    token: ResumeToken,
}

/// A point of a feed, and the id that a client comes back with to go on from there.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Nothing after it is missed and nothing before it repeated.
    pub id: PositionId,
    /// The cluster time that the id stands for.
    pub time: ClusterTime,
}

/// The state of the source.
#[derive(Debug, Clone)]
pub struct Status {
    /// Whether changes are being read.
    pub healthy: bool,
    /// Since when.
    pub since: SystemTime,
}

impl Skipped {
    /// The notice of an event that could not be read.
    pub(super) fn of(poison: Poison, id: PositionId) -> Item {
        let Poison { token, event, error } = poison;
        Item::Skipped(Arc::new(Self { reason: reason(error.code), event, token, id }))
    }

    /// The notice of an event that is no valid BSON: whether it is wanted cannot be told.
    fn unreadable(event: &ChangeEvent) -> Item {
        let (token, id) = (event.token().clone(), event.id().clone());
        let (reason, event) = ("the event is malformed".to_owned(), event.raw().to_owned());
        Item::Skipped(Arc::new(Self { reason, event, token, id }))
    }
}

/// MongoDB's own message is not used: it may quote what the stage failed on.
fn reason(code: Option<i32>) -> String {
    // BSONObjectTooLarge.
    if code == Some(10334) {
        return "the event is larger than MongoDB can send".to_owned();
    }
    let code = code.map_or_else(String::new, |code| format!(" (MongoDB's error {code})"));
    format!("a stage of the stream failed on the event{code}")
}

impl Skipped {
    /// The notice of an event that was read and cannot be told.
    pub fn unsaid(event: &ChangeEvent, reason: &str, id: PositionId) -> Self {
        let reason = reason.to_owned();
        Self { reason, event: event.raw().to_owned(), token: event.token().clone(), id }
    }

    /// Whether it may be about the collection.
    pub fn is_about(&self, namespace: &Namespace) -> bool {
        let Ok(own) = self.event.get_document("ns") else { return true };
        let is = |field, name: &str| own.get_str(field).is_ok_and(|found| found == name);
        is("db", &namespace.db) && is("coll", &namespace.coll)
    }

    /// The same, with the id in the words of another surface.
    #[must_use]
    pub fn with_id(&self, id: PositionId) -> Self {
        let Self { reason, event, token, .. } = self;
        Self { reason: reason.clone(), event: event.clone(), token: token.clone(), id }
    }
}

impl Reset {
    /// Whether changes of the collection were missed.
    pub fn is_about(&self, namespace: &Namespace) -> bool {
        self.about.is_empty() || self.about.contains(namespace)
    }

    /// The same, with the id in the words of another surface.
    #[must_use]
    pub fn with_id(&self, id: PositionId) -> Self {
        let Self { reason, message, about, token, .. } = self;
        let at = Tail { id, time: self.at.time };
        let (message, about, token) = (message.clone(), about.clone(), token.clone());
        Self { reason, message, at, about, token }
    }
}

impl Item {
    /// A reset: the stream goes on at `at`.
    pub(super) fn reset(reason: &'static str, message: String, at: Tail) -> Self {
        let token = ResumeToken::before(at.time);
        Self::Reset(Arc::new(Reset { reason, message, at, about: Vec::new(), token }))
    }

    /// Some of the collections on a cursor over several were dropped or replaced by an event.
    pub(super) fn dropped(event: &ChangeEvent, about: Vec<Namespace>) -> Self {
        let (reason, message) = ("collection_dropped", DROPPED.to_owned());
        let at = Tail { id: event.id().clone(), time: event.cluster_time() };
        let token = event.token().clone();
        Self::Reset(Arc::new(Reset { reason, message, at, about, token }))
    }

    /// Bytes taken to be held in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::Change(event, _) | Self::Document(event, _) => event.weight(),
            Self::Skipped(skipped) => skipped.event.as_bytes().len(),
            Self::Reset(_) | Self::Status(_) | Self::SnapshotEnd(_) => 128,
        }
    }

    /// What a subscriber who looks at this hears of it. What cannot be decided is kept from it.
    pub fn for_whom(self, selection: &Selection, tally: &Tally) -> Option<Self> {
        match self {
            Self::Change(event, _) => match verdict(&event, selection) {
                Some(verdict) => {
                    tally.looked(verdict.err());
                    Some(Self::Change(event, verdict.ok()?))
                }
                None => {
                    tally.looked(Some(Sieve::Scope));
                    selection.sees_all().then(|| Skipped::unreadable(&event))
                }
            },
            Self::Document(event, _) => {
                let view = verdict(&event, selection)?.ok()?;
                Some(Self::Document(event, view))
            }
            // Whom a failing event would have reached cannot be told.
            Self::Skipped(skipped) => selection.sees_all().then_some(Self::Skipped(skipped)),
            Self::Reset(_) | Self::Status(_) | Self::SnapshotEnd(_) => Some(self),
        }
    }

    /// The change that it is.
    pub(super) fn change(&self) -> Option<&ChangeEvent> {
        if let Self::Change(event, _) = self { Some(event) } else { None }
    }

    /// The id with which a client that was given the item comes back, if it is a place.
    pub(super) fn id(&self) -> Option<&PositionId> {
        match self {
            Self::Change(event, _) => Some(event.id()),
            Self::Skipped(skipped) => Some(&skipped.id),
            Self::Reset(reset) => Some(&reset.at.id),
            Self::SnapshotEnd(tail) => Some(&tail.id),
            Self::Document(..) | Self::Status(_) => None,
        }
    }

    /// The place after the item, if it is one.
    pub(super) fn place(&self) -> Option<Tail> {
        let time = match self {
            Self::SnapshotEnd(tail) => tail.time,
            other => other.token()?.cluster_time(),
        };
        Some(Tail { id: self.id()?.clone(), time })
    }

    /// Where the item stands in time, if it stands for events.
    pub fn token(&self) -> Option<&ResumeToken> {
        match self {
            Self::Change(event, _) => Some(event.token()),
            Self::Skipped(skipped) => Some(&skipped.token),
            Self::Reset(reset) => Some(&reset.token),
            Self::Status(_) | Self::Document(..) | Self::SnapshotEnd(_) => None,
        }
    }
}

const DROPPED: &str = "a collection was dropped, renamed or replaced by another";

/// `None`: the event is no valid BSON.
fn verdict(event: &ChangeEvent, selection: &Selection) -> Option<Result<View, Sieve>> {
    if selection.is_everything() {
        return Some(Ok(View::Whole));
    }
    Some(selection.verdict(&Images::of(event).ok()?))
}
