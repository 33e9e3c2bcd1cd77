//! How a cursor is asked for.

use bson::{Bson, Document, Timestamp, doc};

use crate::{
    binding::CursorSpec,
    change::{ClusterTime, ResumeToken},
    definition::{FullDocument, FullDocumentBeforeChange},
};

/// One request for a cursor.
#[derive(Debug, Clone)]
pub struct Open {
    /// Where it starts.
    pub start: Start,
    /// Which tokens it may see.
    pub window: Window,
}

/// Where a cursor starts.
#[derive(Debug, Clone)]
pub enum Start {
    /// At a cluster time, its own events included.
    At(ClusterTime),
    /// After the event that ended the previous cursor: its collection may have been created again.
    AfterInvalidate(ResumeToken),
}

/// Bounds on resume tokens, enforced by the server before the declared stages see an event.
///
/// A plain `resumeAfter` is not used: it fails with error 280 when the pipeline no longer lets the
/// token's own event through, which a look-up on update or a narrowed definition makes happen.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// Only events after this one.
    pub after: Option<ResumeToken>,
    /// Only events up to this one.
    pub until: Option<ResumeToken>,
    /// Only events before this one.
    pub before: Option<ResumeToken>,
}

impl Open {
    /// Everything from a cluster time on.
    pub fn at(time: ClusterTime) -> Self {
        Self { start: Start::At(time), window: Window::default() }
    }

    /// Everything after an event.
    pub fn after(token: &ResumeToken) -> Self {
        let window = Window { after: Some(token.clone()), ..Window::default() };
        Self { start: Start::At(token.cluster_time()), window }
    }

    /// The pipeline to send for a spec.
    pub(crate) fn pipeline(&self, spec: &CursorSpec) -> Result<Vec<Document>, bson::error::Error> {
        let mut pipeline = vec![doc! { "$changeStream": self.options(spec) }];
        pipeline.extend(self.window.stage());
        for stage in &spec.pipeline {
            pipeline.push(Document::try_from(stage.as_ref())?);
        }
        Ok(pipeline)
    }

    fn options(&self, spec: &CursorSpec) -> Document {
        let mut options = Document::new();
        match &self.start {
            Start::At(time) => options.insert("startAtOperationTime", Timestamp::from(*time)),
            Start::AfterInvalidate(token) => {
                options.insert("startAfter", doc! { "_data": token.as_hex() })
            }
        };
        let image = match spec.full_document {
            FullDocument::Off => None,
            FullDocument::UpdateLookup => Some("updateLookup"),
            FullDocument::WhenAvailable => Some("whenAvailable"),
            FullDocument::Required => Some("required"),
        };
        let before = match spec.before_change {
            FullDocumentBeforeChange::Off => None,
            FullDocumentBeforeChange::WhenAvailable => Some("whenAvailable"),
            FullDocumentBeforeChange::Required => Some("required"),
        };
        options.extend(image.map(|image| ("fullDocument".to_owned(), Bson::from(image))));
        options.extend(before.map(|image| ("fullDocumentBeforeChange".to_owned(), image.into())));
        if spec.expanded_events {
            options.insert("showExpandedEvents", true);
        }
        options
    }
}

impl Window {
    fn stage(&self) -> Option<Document> {
        let mut bounds = Document::new();
        if let Some(after) = &self.after {
            bounds.insert("$gt", after.as_hex());
        }
        if let Some(until) = &self.until {
            bounds.insert("$lte", until.as_hex());
        }
        if let Some(before) = &self.before {
            bounds.insert("$lt", before.as_hex());
        }
        (!bounds.is_empty()).then(|| doc! { "$match": { "_id._data": bounds } })
    }
}
