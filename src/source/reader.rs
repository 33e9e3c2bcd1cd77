//! Reads one cursor for as long as it is wanted: opens it again after faults, from the newest token.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    Batch, ChangeCursor, ChangeSource, Fault, Open, SourceError, Start,
    poison::{self, Poison},
};
use crate::{
    backoff::Backoff,
    binding::CursorSpec,
    change::{ClusterTime, ResumeToken},
};

/// What a reader has to say. Signals come in the order of events.
#[derive(Debug)]
pub enum Signal {
    /// Changes, possibly none: then only time has moved on.
    Batch(Batch),
    /// The source is down; the reader keeps trying.
    Degraded(SourceError),
    /// The source is back and nothing was missed.
    Recovered,
    /// One event could not be read and was stepped over.
    Skipped(Poison),
    /// Changes were missed for good; reading goes on from the given time.
    Reset(SourceError, ClusterTime),
    /// The last signal.
    Ended(EndReason),
}

/// Why a reader stopped by itself.
#[derive(Debug, Clone)]
pub enum EndReason {
    /// The collection was dropped or renamed.
    Invalidated,
    /// MongoDB will not serve this cursor however often it is asked.
    Refused(SourceError),
    /// Nobody wants it any more.
    Cancelled,
}

/// A cursor and the will to keep it. Owned by one task.
#[derive(Debug)]
pub struct Reader {
    source: Arc<dyn ChangeSource>,
    spec: Arc<CursorSpec>,
    /// `None` between a fault and the next opening.
    cursor: Option<Box<dyn ChangeCursor>>,
    /// Everything up to here was handed out.
    newest: ResumeToken,
    /// Events beyond `newest` that a stage fails on.
    poisoned: Vec<ResumeToken>,
    degraded: bool,
    /// Tokens of batches stand for times, which a surprise disproves for good.
    times_hold: bool,
    backoff: Backoff,
    cancelled: CancellationToken,
}

/// How long a source may be down before clients hear of it: shorter than any useful reaction.
const QUIET_RETRIES: u32 = 1;

impl Reader {
    /// Opens a cursor at `start`, or now. When this returns, every later change will be read.
    pub async fn open(
        source: Arc<dyn ChangeSource>,
        spec: Arc<CursorSpec>,
        start: Option<Open>,
        cancelled: CancellationToken,
    ) -> Result<Self, SourceError> {
        let start = match start {
            Some(start) => start,
            None => Open::at(source.now().await?.next()),
        };
        let newest = match (&start.start, &start.window.after) {
            (Start::AfterInvalidate(token), _) | (_, Some(token)) => token.clone(),
            (Start::At(time), None) => ResumeToken::before(*time),
        };
        let cursor = Some(source.open(&spec, &start).await?);
        Ok(Self {
            source,
            spec,
            cursor,
            newest,
            poisoned: Vec::new(),
            degraded: false,
            times_hold: true,
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(15)),
            cancelled,
        })
    }

    /// Everything up to this token was handed out or lies before the start.
    pub fn newest(&self) -> &ResumeToken {
        &self.newest
    }

    /// The next signal. Not cancel-safe: await it to its end; it is never longer than the await time
    /// once the reader's token is cancelled.
    pub async fn next(&mut self) -> Signal {
        loop {
            if self.cancelled.is_cancelled() {
                return Signal::Ended(EndReason::Cancelled);
            }
            let step = match self.cursor.as_mut() {
                Some(cursor) => match cursor.next().await {
                    Ok(batch) => Some(self.took(batch)),
                    Err(error) => self.failed(error, false).await,
                },
                None => self.reopen().await,
            };
            if let Some(signal) = step {
                return signal;
            }
        }
    }

    fn took(&mut self, batch: Option<Batch>) -> Signal {
        let Some(mut batch) = batch else {
            self.cursor = None;
            return Signal::Ended(EndReason::Invalidated);
        };
        self.backoff.reset();
        self.check_times(&mut batch);
        if let Some(newest) = batch.newest().filter(|token| **token > self.newest) {
            self.newest = newest.clone();
        }
        self.poisoned.retain(|token| *token > self.newest);
        Signal::Batch(batch)
    }

    /// A batch's token is only used as a time while every event's token agrees with its cluster time.
    fn check_times(&mut self, batch: &mut Batch) {
        if self.times_hold && batch.events.iter().any(|event| event.contradicts_its_token()) {
            self.times_hold = false;
            tracing::warn!(
                ns.db = %self.spec.namespace.db, ns.coll = %self.spec.namespace.coll,
                "resume tokens do not carry their cluster time: positions of quiet streams stand still"
            );
        }
        if !self.times_hold {
            batch.resume = None;
        }
    }

    /// One attempt to open the cursor again.
    async fn reopen(&mut self) -> Option<Signal> {
        let wait = self.backoff.wait();
        let cancelled = self.cancelled.clone();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = cancelled.cancelled() => return Some(Signal::Ended(EndReason::Cancelled)),
        }
        let mut open = Open::after(&self.newest);
        open.window.except.clone_from(&self.poisoned);
        match self.source.open(&self.spec, &open).await {
            Ok(cursor) => {
                self.cursor = Some(cursor);
                std::mem::take(&mut self.degraded).then_some(Signal::Recovered)
            }
            Err(error) => self.failed(error, true).await,
        }
    }

    async fn failed(&mut self, error: SourceError, opening: bool) -> Option<Signal> {
        self.cursor = None;
        match error.fault {
            Fault::Transient | Fault::Privilege | Fault::Topology => self.degrade(error),
            Fault::Lost => self.restart(error).await,
            Fault::Unwatchable => Some(Signal::Ended(EndReason::Refused(error))),
            Fault::Rejected => self.step_over(error, opening).await,
        }
    }

    fn degrade(&mut self, error: SourceError) -> Option<Signal> {
        if self.degraded || self.backoff.attempts() < QUIET_RETRIES {
            return None;
        }
        self.degraded = true;
        Some(Signal::Degraded(error))
    }

    /// The token is dead: one opening at now, and the truth to the clients.
    async fn restart(&mut self, error: SourceError) -> Option<Signal> {
        let now = match self.source.now().await {
            Ok(now) => now.next(),
            Err(unreachable) => return self.degrade(unreachable),
        };
        match self.source.open(&self.spec, &Open::at(now)).await {
            Ok(cursor) => {
                self.cursor = Some(cursor);
                self.newest = ResumeToken::before(now);
                self.poisoned.clear();
                self.degraded = false;
                Some(Signal::Reset(error, now))
            }
            Err(unreachable) => self.degrade(unreachable),
        }
    }

    /// A stage failed, presumably on one event: that one is left out, its siblings are not.
    async fn step_over(&mut self, error: SourceError, opening: bool) -> Option<Signal> {
        let found =
            poison::find(self.source.as_ref(), &self.spec, &self.newest, &self.poisoned).await;
        match found {
            Ok(Some(poison)) => {
                self.poisoned.push(poison.token.clone());
                self.backoff.reset();
                Some(Signal::Skipped(poison))
            }
            Ok(None) if opening => Some(Signal::Ended(EndReason::Refused(error))),
            Ok(None) => self.degrade(error),
            Err(unreachable) => self.degrade(unreachable),
        }
    }
}
