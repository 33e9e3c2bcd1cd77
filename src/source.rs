//! Where changes come from: cursors on MongoDB, and what their errors mean.
//!
//! The driver's cursor lives in one task that reads it and does nothing else with it: a cursor is never
//! an arm of a `select!`, because dropping the driver's future half-way is not supported.

pub mod batch;
pub mod error;
mod known;
mod large;
mod left_out;
pub mod mongo;
pub mod open;
pub mod poison;
pub mod reader;
#[cfg(test)]
pub(crate) mod scripted;
pub mod snapshot;

use std::fmt;

pub use batch::{Batch, SourceEvent};
pub use error::{Fault, SourceError};
use futures_util::future::BoxFuture;
pub use known::{Known, KnownPipelines};
pub use mongo::MongoSource;
pub use open::{Open, Start, Window};
pub use reader::{EndReason, Reader, Signal};
pub use snapshot::{SnapshotCursor, SnapshotSpec};

use crate::{binding::CursorSpec, change::ClusterTime};

/// A deployment whose collections can be watched.
pub trait ChangeSource: fmt::Debug + Send + Sync + 'static {
    /// Opens a cursor. When this returns, the start is fixed: every later change will be read.
    fn open<'a>(
        &'a self,
        spec: &'a CursorSpec,
        open: &'a Open,
    ) -> BoxFuture<'a, Result<Box<dyn ChangeCursor>, SourceError>>;

    /// Reads documents as they were at `at`, a point that a majority has committed, not long ago.
    fn snapshot<'a>(
        &'a self,
        spec: &'a SnapshotSpec,
        at: ClusterTime,
    ) -> BoxFuture<'a, Result<Box<dyn SnapshotCursor>, SourceError>>;

    /// The newest point that a majority has committed.
    fn now(&self) -> BoxFuture<'_, Result<ClusterTime, SourceError>>;
}

/// An open cursor. Dropping it kills it on the server.
pub trait ChangeCursor: fmt::Debug + Send {
    /// Waits for the next batch, at most the await time; an empty batch says that time has moved on.
    /// `None`: the server has ended the cursor (the collection was dropped or renamed).
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Batch>, SourceError>>;
}
