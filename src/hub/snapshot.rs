//! Beginning with the documents that are there: a snapshot at one point in time, and then the changes
//! after that point.

use std::sync::Arc;

use bson::{Document, RawDocumentBuf};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{CloseReason, Hub, Item, item::Tail, replays::Replays, subscription::Subscription};
use crate::{
    change::{ChangeEvent, ClusterTime, ResumeToken, View},
    source::{Fault, SourceError, snapshot::SnapshotSpec},
};

/// Documents handed over at once, in number and in bytes.
const CHUNK: usize = 64;
const CHUNK_BYTES: usize = 1024 * 1024;

/// Chunks read ahead of the client. A full channel stops the reading: the rest stays in MongoDB.
const CHUNKS_AHEAD: usize = 2;

/// MongoDB keeps what a snapshot reads for a while only (5 minutes, unless it is told otherwise).
const SNAPSHOT_TOO_OLD: i32 = 239;

/// A snapshot that is being read for one subscriber.
#[derive(Debug)]
pub(super) struct Snapshot {
    steps: mpsc::Receiver<Step>,
    _reading: DropGuard,
}

/// What a snapshot brings.
#[derive(Debug)]
pub(super) enum Step {
    Documents(Vec<Item>),
    /// The last document was brought; the changes that it does not show begin after a token.
    Done {
        begin: ResumeToken,
        tail: Tail,
    },
    Failed(CloseReason),
}

impl Snapshot {
    /// Waits for the next step. Cancel-safe.
    pub(super) async fn next(&mut self) -> Step {
        self.steps.recv().await.unwrap_or(Step::Failed(CloseReason::InternalError))
    }
}

impl Hub {
    /// Lets a subscription begin with the documents. Its cursor is open: what happens while they are
    /// read is in the history, or else in MongoDB's.
    pub(super) fn begin_snapshot(
        &self,
        subscription: &mut Subscription,
        replays: Arc<Replays>,
        filter: Document,
    ) {
        let (sender, steps) = mpsc::channel(CHUNKS_AHEAD);
        let cancelled = self.0.closing.child_token();
        let reading = Reading {
            turns: self.0.snapshots.clone(),
            replays,
            sender,
            cancelled: cancelled.clone(),
        };
        self.0.tasks.spawn(reading.run(filter));
        subscription.begin_with(Snapshot { steps, _reading: cancelled.drop_guard() });
    }
}

/// The task that reads: a cursor's future has to run to its end, whether or not the client stays.
struct Reading {
    turns: Arc<Semaphore>,
    replays: Arc<Replays>,
    sender: mpsc::Sender<Step>,
    cancelled: CancellationToken,
}

impl Reading {
    async fn run(self, filter: Document) {
        let outcome = tokio::select! {
            permit = self.turns.clone().acquire_owned() => permit,
            () = self.cancelled.cancelled() => return,
        };
        let Ok(_permit) = outcome else { return };
        let last = match self.read(filter).await {
            Ok(Some(at)) => self.hand_over(at),
            // The client has left.
            Ok(None) => return,
            Err(error) => Step::Failed(self.reason(&error)),
        };
        drop(self.sender.send(last).await);
    }

    /// Brings every document. Gives the time at which they were read.
    async fn read(&self, filter: Document) -> Result<Option<ClusterTime>, SourceError> {
        let Replays { source, spec, .. } = self.replays.as_ref();
        let at = source.now().await?;
        let wanted = SnapshotSpec { cursor: spec.as_ref().clone(), filter };
        let mut cursor = source.snapshot(&wanted, at).await?;
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while let Some(document) = cursor.next().await? {
            bytes += document.as_bytes().len();
            chunk.push(self.item(document, at));
            if chunk.len() >= CHUNK || bytes >= CHUNK_BYTES {
                bytes = 0;
                if !self.bring(std::mem::take(&mut chunk)).await {
                    return Ok(None);
                }
            }
        }
        Ok((chunk.is_empty() || self.bring(chunk).await).then_some(at))
    }

    /// False: nobody wants them any more.
    async fn bring(&self, chunk: Vec<Item>) -> bool {
        tokio::select! {
            sent = self.sender.send(Step::Documents(chunk)) => sent.is_ok(),
            () = self.cancelled.cancelled() => false,
        }
    }

    fn item(&self, document: RawDocumentBuf, at: ClusterTime) -> Item {
        let feed = &self.replays.feed;
        let token = ResumeToken::before(at.next());
        let id = feed.id_of(&feed.key().before(at.next()));
        Item::Document(Arc::new(ChangeEvent::new(document, token, id)), View::Whole)
    }

    /// The changes go on with the first moment that the snapshot does not show.
    fn hand_over(&self, at: ClusterTime) -> Step {
        let feed = &self.replays.feed;
        let position = feed.key().before(at.next());
        let tail = Tail { id: feed.id_of(&position), time: position.time };
        let begin = ResumeToken::before(at.next());
        Step::Done { begin, tail }
    }

    /// Whatever the reason, the client has no id yet and begins anew when it comes back.
    fn reason(&self, error: &SourceError) -> CloseReason {
        if let Some(reason) = self.replays.feed.ended() {
            return reason;
        }
        let namespace = &self.replays.spec.namespace;
        tracing::warn!(
            %error, ns.db = %namespace.db, ns.coll = %namespace.coll,
            "a snapshot cannot be read to its end"
        );
        match error.fault {
            _ if error.code == Some(SNAPSHOT_TOO_OLD) => CloseReason::SlowConsumer,
            Fault::Transient => CloseReason::TryAgainLater,
            _ => CloseReason::InternalError,
        }
    }
}
