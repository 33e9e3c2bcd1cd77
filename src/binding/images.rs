//! An event as selections look at it: read once, with the document before and after the change.

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    change::{ChangeEvent, event::with_image},
    query::{Checked, MatchError},
};

/// An event that many selections judge.
#[derive(Debug)]
pub struct Images<'a> {
    /// What happened to the document.
    pub(super) kind: Kind,
    event: &'a ChangeEvent,
    after: Checked<'a>,
    before: Option<Checked<'a>>,
}

/// What happened to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    Replace,
    Update,
    Delete,
    /// Something happened to the collection.
    Collection,
}

impl<'a> Images<'a> {
    /// Reads an event.
    ///
    /// # Errors
    /// It cannot be read, and so concerns nobody.
    pub fn of(event: &'a ChangeEvent) -> Result<Self, MatchError> {
        let after = Checked::new(event.raw())?;
        let before = event.before().map(Checked::new).transpose()?;
        Ok(Self { kind: Kind::of(event), event, after, before })
    }

    /// The event as it is.
    pub fn after(&self) -> &Checked<'a> {
        &self.after
    }

    /// The event with the pre-image as `fullDocument`.
    pub(super) fn before(&self) -> Option<&Checked<'a>> {
        self.before.as_ref()
    }

    /// The event with the key as `fullDocument`: enough for conditions on the key alone.
    pub(super) fn key(&self) -> Option<RawDocumentBuf> {
        with_image(self.event.raw(), "documentKey")
    }

    pub(super) fn before_raw(&self) -> Option<&'a RawDocument> {
        self.event.before()
    }

    /// The event on which conditions on the document are decided: a deleted document is judged by
    /// what it was.
    pub(super) fn decisive(&self) -> &Checked<'a> {
        match self.kind {
            Kind::Delete => self.before.as_ref().unwrap_or(&self.after),
            _ => &self.after,
        }
    }

    pub(super) fn decisive_raw(&self) -> &'a RawDocument {
        match self.kind {
            Kind::Delete => self.event.before().unwrap_or(self.event.raw()),
            _ => self.event.raw(),
        }
    }
}

impl Kind {
    fn of(event: &ChangeEvent) -> Self {
        match event.raw().get_str("operationType") {
            Ok("insert") => Self::Insert,
            Ok("replace") => Self::Replace,
            Ok("update") => Self::Update,
            Ok("delete") => Self::Delete,
            _ => Self::Collection,
        }
    }
}
