//! Change streams through the MongoDB driver, read as raw batches.

use std::{fmt, pin::pin, time::Duration};

use bson::{Document, RawDocument, RawDocumentBuf, doc};
use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use mongodb::{
    Client, Cursor,
    raw_batch_cursor::{RawBatch, RawBatchCursor},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::{
    Batch, ChangeCursor, ChangeSource, Open, SnapshotCursor, SnapshotSpec, SourceError,
    SourceEvent, snapshot,
};
use crate::{
    binding::{CursorSpec, Namespace},
    change::{ClusterTime, ResumeToken},
};

/// How long an answer may take, beyond the await time, before the connection counts as dead.
const STALL_GRACE: Duration = Duration::from_secs(10);

/// How long a server that lives may take while it looks through a large oplog: it answers when it has
/// found enough, or come to the end.
const SCAN: Duration = Duration::from_secs(300);

/// How long a server may take to find further documents of a snapshot.
const DOCUMENTS: Duration = Duration::from_secs(60);

/// How long a server may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// A batch below this size, and below half of what was asked for, ended because there was no more.
const FULL_BATCH_BYTES: usize = 8 << 20;

/// Change streams of one deployment. Owns a client of its own: a waiting cursor holds a connection.
#[derive(Clone)]
pub struct MongoSource {
    client: Client,
    await_time: Duration,
}

impl MongoSource {
    /// `client`'s pool must hold as many connections as there may be cursors. `await_time` is how long
    /// the server waits for a change before it answers with an empty batch.
    pub fn new(client: Client, await_time: Duration) -> Self {
        Self { client, await_time }
    }

    async fn open_cursor(
        &self,
        spec: &CursorSpec,
        open: &Open,
    ) -> Result<Box<dyn ChangeCursor>, SourceError> {
        let (pipeline, batch_size) = (open.pipeline(spec)?, open.batch);
        let (client, namespace) = (self.client.clone(), spec.namespace.clone());
        let await_time = self.await_time;
        // A task of its own: when the caller gives up, the driver's future still runs to its end and
        // the cursor it brings is dropped, and so killed.
        let opening = tokio::spawn(async move {
            let database = client.database(database_of(&namespace));
            let collection = database.collection::<Document>(&namespace.coll);
            let request = match namespace.is_collection() {
                true => collection.aggregate(pipeline),
                false => database.aggregate(pipeline),
            };
            request.batch_size(batch_size).max_await_time(await_time).batch().await
        });
        let inner = self.scanned("opening a change stream", opening).await?;
        let full = batch_size as usize / 2;
        Ok(Box::new(MongoCursor { inner, source: self.clone(), full, behind: true }))
    }

    /// Waits for a command that may look through the oplog, for as long as the server lives.
    async fn scanned<T>(
        &self,
        doing: &str,
        running: JoinHandle<mongodb::error::Result<T>>,
    ) -> Result<T, SourceError> {
        let (mut running, began) = (pin!(running), Instant::now());
        loop {
            match timeout(STALL_GRACE, &mut running).await {
                Ok(answer) => return joined(doing, answer),
                Err(_) if began.elapsed() < SCAN && self.lives().await => {}
                Err(_) => return Err(SourceError::unresponsive(doing)),
            }
        }
    }

    async fn lives(&self) -> bool {
        timeout(SIGN_OF_LIFE, self.committed()).await.is_ok_and(|time| time.is_ok())
    }

    async fn open_snapshot(
        &self,
        spec: &SnapshotSpec,
        at: ClusterTime,
    ) -> Result<Box<dyn SnapshotCursor>, SourceError> {
        let command = spec.command(at)?;
        let database = self.client.database(&spec.cursor.namespace.db);
        let opening = tokio::spawn(async move {
            database.run_cursor_command(command).batch_size(snapshot::BATCH).await
        });
        let cursor = answer("reading documents", DOCUMENTS, opening).await?;
        Ok(Box::new(MongoSnapshot(cursor.with_type())))
    }

    async fn committed(&self) -> Result<ClusterTime, SourceError> {
        let admin = self.client.database("admin");
        let hello = tokio::spawn(async move { admin.run_command(doc! { "hello": 1 }).await });
        committed_time(&answer("telling the time", STALL_GRACE, hello).await?)
    }
}

impl ChangeSource for MongoSource {
    fn open<'a>(
        &'a self,
        spec: &'a CursorSpec,
        open: &'a Open,
    ) -> BoxFuture<'a, Result<Box<dyn ChangeCursor>, SourceError>> {
        self.open_cursor(spec, open).boxed()
    }

    fn snapshot<'a>(
        &'a self,
        spec: &'a SnapshotSpec,
        at: ClusterTime,
    ) -> BoxFuture<'a, Result<Box<dyn SnapshotCursor>, SourceError>> {
        self.open_snapshot(spec, at).boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<ClusterTime, SourceError>> {
        self.committed().boxed()
    }
}

impl fmt::Debug for MongoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoSource").field("await_time", &self.await_time).finish_non_exhaustive()
    }
}

/// Where a stream is asked for: one of the whole deployment of `admin`.
fn database_of(namespace: &Namespace) -> &str {
    if namespace.is_everything() { "admin" } else { &namespace.db }
}

/// Waits for a command that runs in a task of its own, and no longer than a server that lives takes.
async fn answer<T>(
    doing: &str,
    patience: Duration,
    running: JoinHandle<mongodb::error::Result<T>>,
) -> Result<T, SourceError> {
    let answer = timeout(patience, running).await;
    joined(doing, answer.map_err(|_| SourceError::unresponsive(doing))?)
}

fn joined<T>(
    doing: &str,
    answer: Result<mongodb::error::Result<T>, tokio::task::JoinError>,
) -> Result<T, SourceError> {
    let failed = |_| SourceError::unexpected(format!("the task of {doing} failed"));
    Ok(answer.map_err(failed)??)
}

/// Reads the majority's newest point out of a `hello` reply; a router only tells the operation time.
fn committed_time(hello: &Document) -> Result<ClusterTime, SourceError> {
    let sharded = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
    if !sharded && hello.get_str("setName").is_err() {
        return Err(SourceError::standalone());
    }
    let majority =
        hello.get_document("lastWrite").and_then(|write| write.get_document("majorityOpTime"));
    let time = majority.and_then(|time| time.get_timestamp("ts"));
    time.or_else(|_| hello.get_timestamp("operationTime"))
        .map(ClusterTime::from)
        .map_err(|_| SourceError::unexpected("MongoDB tells no operation time"))
}

struct MongoCursor {
    inner: RawBatchCursor,
    source: MongoSource,
    /// Events of a batch that did not end for want of more.
    full: usize,
    /// Whether it has not come to the end of the oplog yet: its answers may take long.
    behind: bool,
}

impl MongoCursor {
    async fn read(&mut self) -> Result<Option<Batch>, SourceError> {
        let Some(reply) = self.reply().await? else { return Ok(None) };
        let reply = reply?;
        let batch = read_batch(reply.as_raw_document())?;
        let size = reply.as_raw_document().as_bytes().len();
        self.behind &= batch.events.len() >= self.full || size >= FULL_BATCH_BYTES;
        Ok(Some(batch))
    }

    async fn reply(&mut self) -> Result<Option<mongodb::error::Result<RawBatch>>, SourceError> {
        let (patience, began) = (self.source.await_time + STALL_GRACE, Instant::now());
        let mut reply = pin!(self.inner.next());
        loop {
            match timeout(patience, &mut reply).await {
                Ok(reply) => return Ok(reply),
                Err(_) if self.behind && began.elapsed() < SCAN && self.source.lives().await => {}
                // The connection has gone dead; its cursor is given up with it.
                Err(_) => return Err(SourceError::unresponsive("reading changes")),
            }
        }
    }
}

impl ChangeCursor for MongoCursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Batch>, SourceError>> {
        self.read().boxed()
    }
}

impl fmt::Debug for MongoCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoCursor").finish_non_exhaustive()
    }
}

struct MongoSnapshot(Cursor<RawDocumentBuf>);

impl SnapshotCursor for MongoSnapshot {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<RawDocumentBuf>, SourceError>> {
        async {
            let answer = timeout(DOCUMENTS, self.0.next()).await;
            let answer = answer.map_err(|_| SourceError::unresponsive("reading documents"))?;
            Ok(answer.transpose()?)
        }
        .boxed()
    }
}

impl fmt::Debug for MongoSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoSnapshot").finish_non_exhaustive()
    }
}

fn read_batch(reply: &RawDocument) -> Result<Batch, SourceError> {
    let missing =
        |what: &str| SourceError::unexpected(format!("the batch of MongoDB has no {what}"));
    let cursor = reply.get_document("cursor").map_err(|_| missing("cursor"))?;
    let documents = cursor.get_array("nextBatch").or_else(|_| cursor.get_array("firstBatch"));
    let mut batch = Batch::default();
    for document in documents.map_err(|_| missing("documents"))? {
        let document = document?.as_document().ok_or_else(|| missing("document"))?;
        batch.events.push(SourceEvent::read(document).ok_or_else(|| missing("resume token"))?);
    }
    let resume = cursor.get_document("postBatchResumeToken").ok();
    batch.resume = resume.and_then(ResumeToken::from_document);
    Ok(batch)
}
