//! Reading from MongoDB what the history no longer holds, until the history takes over.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{CloseReason, Item, Skipped, feed::Feed};
use crate::{
    binding::CursorSpec,
    change::{Position, ResumeToken, View},
    source::{
        ChangeSource, EndReason, Fault, Open, Reader, Signal, SourceError, SourceEvent, Start,
    },
};

/// Batches read ahead of the client. A full channel stops the reading: the backlog stays in MongoDB.
const BATCHES_AHEAD: usize = 2;

/// A private cursor that reads from a position to where the feed's history begins.
#[derive(Debug)]
pub struct CatchUp {
    steps: mpsc::Receiver<Step>,
    /// Everything up to here was handed over.
    newest: ResumeToken,
    _reading: DropGuard,
}

#[derive(Debug)]
enum Step {
    Items(Vec<Item>, ResumeToken),
    /// What was missed cannot be read to its end, as the collection was dropped: go on live.
    Dropped,
    Failed(CloseReason),
}

/// What [`CatchUp::next`] brought.
#[derive(Debug)]
pub(super) enum Caught {
    /// Items were appended, possibly none.
    Items,
    /// The history holds everything from this number on. What it brings up to `seen` is known: this
    /// cursor may have been ahead of the shared one.
    UpWith { next: u64, seen: Option<ResumeToken> },
    /// The session has to end.
    Failed(CloseReason),
}

impl CatchUp {
    /// Starts reading with an open reader. `permit` is held until the reading is over.
    pub(super) fn start(
        reader: Reader,
        feed: Arc<Feed>,
        cancelled: CancellationToken,
        permit: OwnedSemaphorePermit,
        tasks: &TaskTracker,
    ) -> Self {
        let (sender, steps) = mpsc::channel(BATCHES_AHEAD);
        let newest = reader.newest().clone();
        let reading = cancelled.drop_guard();
        tasks.spawn(async move {
            let _permit = permit;
            read(reader, &feed, sender).await;
        });
        Self { steps, newest, _reading: reading }
    }

    /// Waits for missed items, or says that the history takes over. Cancel-safe.
    pub(super) async fn next(&mut self, feed: &Feed, into: &mut Vec<(u64, Item)>) -> Caught {
        if let Some(number) = feed.after(&self.newest) {
            return Caught::UpWith { next: number, seen: Some(self.newest.clone()) };
        }
        match self.steps.recv().await {
            Some(Step::Items(items, newest)) => {
                into.extend(items.into_iter().map(|item| (0, item)));
                self.newest = newest;
                Caught::Items
            }
            Some(Step::Dropped) => {
                let (next, tail) = feed.head();
                into.push((0, Item::reset("collection_dropped", DROPPED.to_owned(), tail)));
                Caught::UpWith { next, seen: None }
            }
            Some(Step::Failed(reason)) => Caught::Failed(reason),
            None => Caught::Failed(CloseReason::InternalError),
        }
    }
}

async fn read(mut reader: Reader, feed: &Feed, sender: mpsc::Sender<Step>) {
    loop {
        let step = match reader.next().await {
            Signal::Batch(batch) => {
                let items = batch.events.into_iter().map(|event| change(feed, event)).collect();
                Step::Items(items, reader.newest().clone())
            }
            Signal::Skipped(poison) => {
                Step::Items(vec![Skipped::of(poison)], reader.newest().clone())
            }
            Signal::Reset(error, time) => {
                let reset = feed.reset("history_lost", error.message, time);
                Step::Items(vec![reset], reader.newest().clone())
            }
            // The feed says the same of the same deployment.
            Signal::Degraded(_) | Signal::Recovered => continue,
            Signal::Ended(EndReason::Cancelled) => return,
            Signal::Ended(EndReason::Invalidated) => Step::Dropped,
            Signal::Ended(EndReason::Refused(error)) => {
                tracing::warn!(error = %error, "a catch-up cursor is refused");
                Step::Failed(CloseReason::InternalError)
            }
        };
        let last = !matches!(step, Step::Items(..));
        if sender.send(step).await.is_err() || last {
            return;
        }
    }
}

fn change(feed: &Feed, event: SourceEvent) -> Item {
    Item::Change(Arc::new(feed.seal(event)), View::Whole)
}

const DROPPED: &str = "the collection was dropped or renamed since the event id was issued";

/// How a catch-up from a position has to be opened, or that its event is not to be found.
pub(super) async fn locate(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    feed: &Feed,
    position: &Position,
) -> Result<Option<Open>, SourceError> {
    // Read without the declared stages: they may have been narrowed since the event was delivered.
    let mut bare = CursorSpec::bare(spec.namespace.clone());
    bare.expanded_events = spec.expanded_events;
    let end = ResumeToken::before(position.time.next());
    let mut open = Open::at(position.time);
    open.window.until = Some(end);
    let mut cursor = source.open(&bare, &open).await?;
    while let Some(batch) = cursor.next().await? {
        let named = batch.events.iter().find(|event| feed.key().names(position, &event.token));
        if let Some(event) = named {
            return Ok(Some(after(event)));
        }
        if batch.has_finished(position.time) {
            break;
        }
    }
    Ok(None)
}

fn after(event: &SourceEvent) -> Open {
    let mut open = Open::after(&event.token);
    if event.is_invalidate() {
        open = Open { start: Start::AfterInvalidate(event.token.clone()), ..open };
        open.window.after = None;
    }
    open
}

/// Whether an error says that what the client missed can no longer be read.
pub(super) fn is_lost(error: &SourceError) -> bool {
    error.fault == Fault::Lost
}
