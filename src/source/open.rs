//! How a cursor is asked for.

use std::sync::LazyLock;

use bson::{Bson, Document, RawDocumentBuf, Timestamp, doc};

use crate::{
    binding::CursorSpec,
    change::{ClusterTime, ResumeToken},
    definition::{FullDocument, FullDocumentBeforeChange},
};

/// Measured: larger batches gain nothing, ten times smaller ones lose half.
pub(super) const BATCH_SIZE: u32 = 1000;

/// Small: a full batch is what ends the search for an event that is not there.
const SEARCH_BATCH_SIZE: u32 = 50;

/// One request for a cursor.
#[derive(Debug, Clone)]
pub struct Open {
    /// Where it starts.
    pub start: Start,
    /// Which tokens it may see.
    pub window: Window,
    /// Whether events that exceed 16 MB come in fragments. Servers know this from 6.0.9 on.
    pub split: bool,
    /// Most events that a batch should hold.
    pub batch: u32,
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
    /// Whether the cursor fails with [`Fault::Fence`](super::Fault::Fence) on the first event beyond
    /// `until`: without it, the server would look through all that has happened since before it says that
    /// there is no more.
    pub fenced: bool,
    /// Not these events.
    pub without: Vec<ResumeToken>,
    /// Only events of these times, sorted, and what follows the last of them, which ends the reading as
    /// a fence does, but with what was found.
    pub among: Vec<ClusterTime>,
    /// Only the events of one document at one time. Tokens do not tell them where events are cut up:
    /// the server writes them differently then.
    pub only: Option<(ClusterTime, RawDocumentBuf)>,
}

impl Open {
    /// Everything from a cluster time on.
    pub fn at(time: ClusterTime) -> Self {
        Self::within(time, Window::default())
    }

    fn within(time: ClusterTime, window: Window) -> Self {
        Self { start: Start::At(time), window, split: false, batch: BATCH_SIZE }
    }

    /// Everything after an event.
    pub fn after(token: &ResumeToken) -> Self {
        let window = Window { after: Some(token.clone()), ..Window::default() };
        Self::within(token.cluster_time(), window)
    }

    /// Only the events of some times, and whatever comes after.
    pub fn among(times: impl IntoIterator<Item = ClusterTime>) -> Self {
        let mut among: Vec<_> = times.into_iter().collect();
        among.sort_unstable();
        among.dedup();
        let first = among.first().copied().unwrap_or_default();
        let window = Window { among, ..Window::default() };
        Self { batch: SEARCH_BATCH_SIZE, ..Self::within(first, window) }
    }

    /// The events of one document at one time, in fragments where they are too large for one message.
    pub fn fragments(time: ClusterTime, key: RawDocumentBuf) -> Self {
        let window = Window { only: Some((time, key)), ..Window::default() };
        Self { split: true, ..Self::within(time, window) }
    }

    /// The pipeline to send for a spec.
    pub(crate) fn pipeline(&self, spec: &CursorSpec) -> Result<Vec<Document>, bson::error::Error> {
        let mut pipeline = vec![doc! { "$changeStream": self.options(spec) }];
        pipeline.extend(self.window.stages());
        for stage in &spec.pipeline {
            pipeline.push(Document::try_from(stage.as_ref())?);
        }
        if self.split {
            // The server wants it last: what the stages add counts too.
            pipeline.push(doc! { "$changeStreamSplitLargeEvent": {} });
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
        if spec.namespace.is_everything() {
            options.insert("allChangesForCluster", true);
        }
        if spec.expanded_events {
            options.insert("showExpandedEvents", true);
        }
        options
    }
}

impl Window {
    fn stages(&self) -> Vec<Document> {
        let mut bounds = Document::new();
        if let Some(after) = &self.after {
            bounds.insert("$gt", after.as_hex());
        }
        if let Some(until) = self.until.as_ref().filter(|_| !self.fenced) {
            bounds.insert("$lte", until.as_hex());
        }
        if !self.without.is_empty() {
            let without: Vec<_> = self.without.iter().map(ResumeToken::as_hex).collect();
            bounds.insert("$nin", without);
        }
        let mut stages = Vec::new();
        if !bounds.is_empty() {
            stages.push(doc! { "$match": { "_id._data": bounds } });
        }
        if let Some(until) = self.until.as_ref().filter(|_| self.fenced) {
            stages.push(fence(until));
        }
        if let Some((time, key)) = &self.only {
            let key = Document::try_from(key.as_ref()).unwrap_or_default();
            let only =
                doc! { "clusterTime": Timestamp::from(*time), "documentKey": { "$eq": key } };
            stages.push(doc! { "$match": only });
        }
        if let Some(last) = self.among.last() {
            let times: Vec<_> = self.among.iter().map(|time| Timestamp::from(*time)).collect();
            let later = doc! { "clusterTime": { "$gt": Timestamp::from(*last) } };
            let among = doc! { "clusterTime": { "$in": times } };
            stages.push(doc! { "$match": { "$or": [among, later] } });
            stages.push(
                doc! { "$project": { "operationType": 1, "clusterTime": 1, "documentKey": 1 } },
            );
        }
        stages
    }
}

/// Part of the error that ends a fenced cursor. Random: no document can contain it.
pub(super) static FENCE: LazyLock<String> =
    LazyLock::new(|| format!("fence {:032x} ", rand::random::<u128>()));

/// Fails on whatever comes after an event. It reads nothing but the token, so that MongoDB runs it before
/// it looks for images.
fn fence(until: &ResumeToken) -> Document {
    let within = doc! { "$lte": ["$_id._data", until.as_hex()] };
    let fail = doc! { "$toInt": { "$concat": [FENCE.as_str(), "$_id._data"] } };
    doc! { "$match": { "$expr": { "$cond": [within, true, fail] } } }
}
