//! What is decided in process: which events of a shared cursor a subscriber receives, and how much
//! of each it may see.

use bson::RawDocument;

use super::{
    boundary::{Boundary, Side},
    images::{Images, Kind},
    steps::{Condition, Steps},
};
use crate::{
    change::View,
    query::{Checked, IndexChoice, Key, Keyer, Path},
};

/// Decides for one subscriber. The only place where an event is kept from a client.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// What the caller's permission lets it read; comes first, on the raw event.
    pub(super) boundary: Option<Boundary>,
    /// Stages that are not sent to MongoDB.
    pub(super) steps: Steps,
    /// The client's own choice; comes last.
    pub(super) notify_when: Option<Condition>,
    /// Whether documents that stop matching are signalled.
    pub(super) leave: bool,
    /// Whether events carry pre-images.
    pub(super) pre_images: bool,
    /// Whether the permission restricts which documents are seen, here or on the server.
    pub(super) scoped: bool,
    /// When there are any, they decide, and nothing else does: what one of them selects is selected.
    pub(super) any_of: Vec<Selection>,
}

impl Selection {
    /// What any of several selects; the view is that of the first. Their roots in events are the
    /// same: they are of one cursor.
    pub fn any_of(several: Vec<Self>) -> Self {
        Self { any_of: several, ..Self::default() }
    }

    /// Whether every event is selected whole, without looking.
    pub fn is_everything(&self) -> bool {
        if !self.any_of.is_empty() {
            return self.any_of.iter().any(Self::is_everything);
        }
        self.boundary.is_none() && self.notify_when.is_none() && self.steps.pass_everything()
    }

    /// Whether the subscriber may be told of events that nobody could read: it sees them all.
    pub fn sees_all(&self) -> bool {
        !self.scoped && self.any_of.iter().all(Self::sees_all)
    }

    /// What of an event is for this subscriber. What cannot be decided is not.
    pub fn judge(&self, images: &Images<'_>) -> Option<View> {
        if !self.any_of.is_empty() {
            return self.any_of.iter().find_map(|one| one.judge(images));
        }
        let side = self.boundary.as_ref().map_or(Side::Visible(View::Whole), |b| b.judge(images));
        match side {
            Side::Visible(view) if self.passes(images.decisive(), images.decisive_raw()) => {
                Some(view)
            }
            Side::Visible(View::Whole) | Side::Left => self.left(images),
            Side::Visible(_) | Side::Hidden => None,
        }
    }

    /// The signal of a document that was selected before the change and is not any more.
    fn left(&self, images: &Images<'_>) -> Option<View> {
        let changed = matches!(images.kind, Kind::Update | Kind::Replace);
        let (before, raw) = (images.before()?, images.before_raw()?);
        (self.leave && changed && self.passes(before, raw)).then_some(View::Leave)
    }

    fn passes(&self, event: &Checked<'_>, raw: &RawDocument) -> bool {
        self.steps.pass(event, raw, self.notify_when.as_ref())
    }

    /// Values of which an event must hold one to be selected, by path. `None`: no index can tell.
    pub fn keys(&self, keyer: &Keyer) -> Option<Vec<(Path, Key)>> {
        if !self.any_of.is_empty() {
            let keys: Option<Vec<_>> = self.any_of.iter().map(|one| one.keys(keyer)).collect();
            return keys.map(|keys| keys.concat());
        }
        let keys =
            self.indexable().find_map(|(condition, index)| index.keys(&condition.filter, keyer))?;
        let mut everywhere = keys.clone();
        for (path, key) in keys.iter().filter(|(path, _)| path.root() == "fullDocument") {
            for root in self.other_roots() {
                everywhere.push((path.rerooted(root).ok()?, *key));
            }
        }
        Some(everywhere)
    }

    /// Conditions that see the event as it came, those that tell most callers apart first.
    fn indexable(&self) -> impl Iterator<Item = (&Condition, &IndexChoice)> {
        let boundary = self.boundary.as_ref().map(Boundary::condition);
        let last = self.notify_when.as_ref().filter(|_| self.steps.leave_untouched());
        let conditions = boundary.into_iter().chain(last).chain(self.steps.leading());
        conditions.filter_map(|condition| Some((condition, condition.index.as_ref()?)))
    }

    /// Where else than in `fullDocument` the document is looked at.
    fn other_roots(&self) -> impl Iterator<Item = &'static str> {
        let before = self.pre_images.then_some("fullDocumentBeforeChange");
        let key = self.boundary.as_ref().is_some_and(Boundary::is_on_key).then_some("documentKey");
        before.into_iter().chain(key)
    }
}
