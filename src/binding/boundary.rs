//! A permission's `readFilter`, applied to events as it is to reads.

use bson::RawDocument;

use super::{
    images::{Images, Kind},
    steps::Condition,
};
use crate::{
    change::View,
    query::{Checked, Filter, ParseOptions, Refusal},
};

/// What a caller may read. Decided on the raw event, before any stage can change it.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    condition: Condition,
    /// The filter looks at the document's key only, so deletes can be decided without pre-images.
    on_key: bool,
    /// `fullDocument` of an update is looked up when the event is read: it may be newer than the change.
    looked_up: bool,
}

/// On which side of the boundary a document is after a change, and what may be shown of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The caller may read it.
    Visible(View),
    /// The caller could read it before the change and cannot now.
    Left,
    /// The caller learns nothing.
    Hidden,
}

impl Boundary {
    /// Reads a filter that was written for documents.
    pub(super) fn parse(filter: &RawDocument, looked_up: bool) -> Result<Self, Refusal> {
        let filter = Filter::parse(filter, &ParseOptions::read_filter())?;
        let on_key = is_on_key(&filter);
        Ok(Self { condition: Condition::of(&filter)?, on_key, looked_up })
    }

    pub(super) fn condition(&self) -> &Condition {
        &self.condition
    }

    pub(super) fn is_on_key(&self) -> bool {
        self.on_key
    }

    pub(super) fn judge(&self, images: &Images<'_>) -> Side {
        match images.kind {
            // Not about a document: the session's end says it.
            Kind::Collection => Side::Hidden,
            Kind::Delete => self.judge_delete(images),
            kind => self.judge_change(images, kind),
        }
    }

    fn judge_change(&self, images: &Images<'_>, kind: Kind) -> Side {
        let before = images.before().map(|before| self.condition.holds(before));
        match (self.condition.holds(images.after()), before) {
            (true, Some(true)) => Side::Visible(View::Whole),
            (true, Some(false)) => Side::Visible(View::Current),
            // A looked-up document tells nothing of who could read it when the change was made.
            (true, None) if kind == Kind::Update && self.looked_up => Side::Visible(View::Current),
            (true, None) => Side::Visible(View::Whole),
            (false, Some(true)) => Side::Left,
            (false, _) => Side::Hidden,
        }
    }

    fn judge_delete(&self, images: &Images<'_>) -> Side {
        let readable = match images.before() {
            Some(before) => self.condition.holds(before),
            None => self.on_key && self.holds_on_key(images),
        };
        if readable { Side::Visible(View::Gone) } else { Side::Hidden }
    }

    fn holds_on_key(&self, images: &Images<'_>) -> bool {
        let key = images.key();
        key.is_some_and(|key| Checked::new(&key).is_ok_and(|key| self.condition.holds(&key)))
    }
}

/// Whether a filter, besides requiring the document, looks at nothing but its `_id`.
fn is_on_key(filter: &Filter) -> bool {
    let mut paths = filter.paths().into_iter().map(|path| path.to_string()).peekable();
    paths.peek().is_some()
        && paths.all(|path| matches!(path.as_str(), "fullDocument" | "fullDocument._id"))
}
