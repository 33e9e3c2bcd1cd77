//! The documents of a collection as they were at one point in time.

use bson::{Bson, Document, RawDocumentBuf, Timestamp, doc};
use futures_util::future::BoxFuture;

use super::SourceError;
use crate::{binding::CursorSpec, change::ClusterTime};

/// Which documents are read.
#[derive(Debug, Clone)]
pub struct SnapshotSpec {
    /// The cursor of the stream, whose stages run on each document as on its insert.
    pub cursor: CursorSpec,
    /// Leaves out documents that are not wanted, before anything else looks at them.
    pub filter: Document,
}

/// Reads a snapshot. Dropping it ends it on the server.
pub trait SnapshotCursor: std::fmt::Debug + Send {
    /// The next document, in the form of the event of its insert. `None`: that was all.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<RawDocumentBuf>, SourceError>>;
}

/// Documents of the first batch, and of those after it; MongoDB bounds each at 16 MB.
const FIRST: i32 = 101;
pub(super) const BATCH: u32 = 500;

impl SnapshotSpec {
    /// The command that reads it.
    pub(super) fn command(&self, at: ClusterTime) -> Result<Document, bson::error::Error> {
        let at = Timestamp::from(at);
        Ok(doc! {
            "aggregate": &self.cursor.namespace.coll,
            "pipeline": self.pipeline(at)?,
            "cursor": { "batchSize": FIRST },
            "readConcern": { "level": "snapshot", "atClusterTime": at },
        })
    }

    fn pipeline(&self, at: Timestamp) -> Result<Vec<Document>, bson::error::Error> {
        let mut pipeline = Vec::new();
        if !self.filter.is_empty() {
            pipeline.push(doc! { "$match": self.filter.clone() });
        }
        pipeline.push(doc! { "$replaceWith": self.event(at) });
        for stage in &self.cursor.pipeline {
            pipeline.push(Document::try_from(stage.as_ref())?);
        }
        Ok(pipeline)
    }

    /// The event of a document's insert, as far as it does not depend on when that was.
    fn event(&self, at: Timestamp) -> Document {
        let literal = |value: &str| Bson::from(doc! { "$literal": value });
        doc! {
            "operationType": "insert",
            "clusterTime": at,
            "ns": {
                "db": literal(&self.cursor.namespace.db),
                "coll": literal(&self.cursor.namespace.coll),
            },
            "documentKey": { "_id": "$_id" },
            "fullDocument": "$$ROOT",
        }
    }
}
