//! The task of one shared cursor: from the reader's signals to the feed, until nobody wants it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, mpsc},
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{CloseReason, Item, Status, feed::Feed};
use crate::{
    change::ClusterTime,
    source::{Batch, EndReason, Reader, Signal},
    telemetry::Telemetry,
};

/// Batches between the reader and the feed: one being published while the next is read.
const BATCHES_AHEAD: usize = 2;

/// Owned by its task. Ends when the cursor does or when the registry lets it go.
pub(super) struct Fanout {
    pub(super) feed: Arc<Feed>,
    /// How long the cursor outlives its last subscriber.
    pub(super) linger: Duration,
    /// Told when the last subscriber has left.
    pub(super) vacated: Arc<Notify>,
    /// Told to end at once.
    pub(super) stop: CancellationToken,
    pub(super) telemetry: Telemetry,
}

impl Fanout {
    /// Runs until the cursor ends, or until `release` agrees that nobody wants it any more. Gives the
    /// reason for which the sessions have to be closed.
    pub(super) async fn run(
        &self,
        mut signals: mpsc::Receiver<Signal>,
        release: impl Fn() -> bool,
    ) -> CloseReason {
        let mut deadline: Option<Instant> = None;
        loop {
            tokio::select! {
                signal = signals.recv() => {
                    let signal = signal.unwrap_or(Signal::Ended(EndReason::Cancelled));
                    if let Some(reason) = self.publish(signal) {
                        return reason;
                    }
                }
                () = self.stop.cancelled() => return CloseReason::ServiceRestart,
                () = self.vacated.notified() => deadline = Some(Instant::now() + self.linger),
                () = until(deadline) => {
                    if release() {
                        return CloseReason::ServiceRestart;
                    }
                    deadline = None;
                }
            }
        }
    }

    /// `Some`: that was the last signal.
    fn publish(&self, signal: Signal) -> Option<CloseReason> {
        match signal {
            Signal::Batch(batch) => {
                self.note(&batch);
                self.feed.publish(batch.events, batch.resume);
            }
            Signal::Skipped(poison) => {
                tracing::warn!(error = %poison.error, "an event cannot be delivered and is skipped");
                self.feed.announce(self.feed.skipped(poison));
            }
            Signal::Degraded(error) => {
                tracing::warn!(%error, "the source is down; retrying");
                self.feed.meter().set_degraded(true);
                self.feed.announce(status(false));
            }
            Signal::Recovered => {
                tracing::info!("the source is back");
                self.feed.meter().set_degraded(false);
                self.feed.announce(status(true));
            }
            Signal::Reset(error, time) => {
                tracing::warn!(%error, "changes were missed for good; going on from now");
                self.feed.meter().set_degraded(false);
                self.feed.announce(self.feed.reset("history_lost", error.message, time));
            }
            Signal::Ended(reason) => return Some(end(&reason)),
        }
        None
    }
}

impl Fanout {
    /// How far the reading has come: to now, when nothing is left to read, else to the newest event.
    fn note(&self, batch: &Batch) {
        self.telemetry.read(batch.events.len());
        self.telemetry.published(batch.events.len());
        match batch.events.last() {
            Some(newest) => self.feed.meter().reached(time_of(newest.token.cluster_time())),
            None if batch.resume.is_some() => self.feed.meter().reached(SystemTime::now()),
            None => {}
        }
    }
}

fn time_of(time: ClusterTime) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.seconds().into())
}

fn end(reason: &EndReason) -> CloseReason {
    match reason {
        EndReason::Invalidated => CloseReason::StreamGone,
        EndReason::Cancelled => CloseReason::ServiceRestart,
        EndReason::Refused(error) => {
            tracing::warn!(%error, "the cursor is refused; its sessions are closed");
            CloseReason::InternalError
        }
    }
}

fn status(healthy: bool) -> Item {
    Item::Status(Arc::new(Status { healthy, since: SystemTime::now() }))
}

/// The reader's own task: nothing ever interrupts the driver's future. `permit` stands for the cursor.
pub(super) fn spawn_reader(
    mut reader: Reader,
    permit: OwnedSemaphorePermit,
    tasks: &TaskTracker,
) -> mpsc::Receiver<Signal> {
    let (sender, signals) = mpsc::channel(BATCHES_AHEAD);
    tasks.spawn(async move {
        let _permit = permit;
        loop {
            let signal = reader.next().await;
            let last = matches!(signal, Signal::Ended(_));
            if sender.send(signal).await.is_err() || last {
                return;
            }
        }
    });
    signals
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
