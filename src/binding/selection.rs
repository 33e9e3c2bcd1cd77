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
    telemetry::Sieve,
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
    /// Whether the subscriber is held to some documents, here or on the server.
    pub(super) scoped: bool,
    /// How many of the first stages hold it to them.
    pub(super) held: usize,
    /// When there are any, they decide, and nothing else does: what one of them selects is selected.
    pub(super) any_of: Vec<Selection>,
}

impl Selection {
    /// What any of several selects; the view is that of the first. Their roots in events are the
    /// same: they are of one cursor.
    pub fn any_of(several: Vec<Self>) -> Self {
        Self { any_of: several, ..Self::default() }
    }

    /// The same for a subscriber that is held to some events by its first stages, as many as that.
    #[must_use]
    pub fn held(self, stages: usize) -> Self {
        Self { scoped: true, held: stages, ..self }
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
        self.verdict(images).ok()
    }

    /// The same, or what keeps the event from this subscriber.
    pub fn verdict(&self, images: &Images<'_>) -> Result<View, Sieve> {
        if !self.any_of.is_empty() {
            return self.verdict_of_any(images);
        }
        let side = self.boundary.as_ref().map_or(Side::Visible(View::Whole), |b| b.judge(images));
        match side {
            Side::Visible(view) => match self.passes(images.decisive(), images.decisive_raw()) {
                Ok(()) => Ok(view),
                Err(sieve) if view == View::Whole => self.left(images).ok_or(sieve),
                Err(sieve) => Err(sieve),
            },
            Side::Left => self.left(images).ok_or(Sieve::Scope),
            Side::Hidden => Err(Sieve::Scope),
        }
    }

    /// The signal of a document that was selected before the change and is not any more.
    fn left(&self, images: &Images<'_>) -> Option<View> {
        let changed = matches!(images.kind, Kind::Update | Kind::Replace);
        let (before, raw) = (images.before()?, images.before_raw()?);
        (self.leave && changed && self.passes(before, raw).is_ok()).then_some(View::Leave)
    }

    /// What keeps the event from the last one stands for all.
    fn verdict_of_any(&self, images: &Images<'_>) -> Result<View, Sieve> {
        let mut verdict = Err(Sieve::Scope);
        for one in &self.any_of {
            verdict = one.verdict(images);
            if verdict.is_ok() {
                break;
            }
        }
        verdict
    }

    fn passes(&self, event: &Checked<'_>, raw: &RawDocument) -> Result<(), Sieve> {
        self.steps.pass(event, raw, self.notify_when.as_ref()).map_err(|sieve| match sieve {
            Sieve::Stage if self.is_anothers(event) => Sieve::Scope,
            sieve => sieve,
        })
    }

    /// Whether the stages that hold the subscriber to some events keep this one from it.
    fn is_anothers(&self, event: &Checked<'_>) -> bool {
        self.steps.leading().take(self.held).any(|condition| !condition.holds(event))
    }

    /// Values of which an event must hold one to be selected, by path. `None`: no index can tell.
    pub fn keys(&self, keyer: &Keyer) -> Option<Vec<(Path, Key)>> {
        if !self.any_of.is_empty() {
            let keys: Option<Vec<_>> = self.any_of.iter().map(|one| one.keys(keyer)).collect();
            return keys.map(|keys| keys.concat());
        }
        let mut indexable = self.indexable();
        let keys =
            indexable.find_map(|(_, condition, index)| index.keys(&condition.filter, keyer))?;
        let mut everywhere = keys.clone();
        for (path, key) in keys.iter().filter(|(path, _)| path.root() == "fullDocument") {
            for root in self.other_roots() {
                everywhere.push((path.rerooted(root).ok()?, *key));
            }
        }
        Some(everywhere)
    }

    /// What keeps from the subscriber whatever the index does not name it for. `None`: no index can tell.
    pub fn indexed_by(&self) -> Option<Sieve> {
        let first = self.any_of.first().unwrap_or(self);
        first.indexable().next().map(|(sieve, ..)| sieve)
    }

    /// Conditions that see the event as it came, those that tell most callers apart first.
    fn indexable(&self) -> impl Iterator<Item = (Sieve, &Condition, &IndexChoice)> {
        let boundary = self.boundary.as_ref().map(|it| (Sieve::Scope, it.condition()));
        let last = self.notify_when.as_ref().filter(|_| self.steps.leave_untouched());
        let last = last.map(|condition| (Sieve::NotifyWhen, condition));
        let stages = self.steps.leading().enumerate().map(|(place, condition)| {
            (if place < self.held { Sieve::Scope } else { Sieve::Stage }, condition)
        });
        let conditions = boundary.into_iter().chain(last).chain(stages);
        conditions.filter_map(|(sieve, it)| Some((sieve, it, it.index.as_ref()?)))
    }

    /// Where else than in `fullDocument` the document is looked at.
    fn other_roots(&self) -> impl Iterator<Item = &'static str> {
        let before = self.pre_images.then_some("fullDocumentBeforeChange");
        let key = self.boundary.as_ref().is_some_and(Boundary::is_on_key).then_some("documentKey");
        before.into_iter().chain(key)
    }
}
