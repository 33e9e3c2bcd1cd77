//! Reads one cursor for as long as it is wanted: opens it again after faults, from the newest token.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Batch, ChangeCursor, ChangeSource, Fault, Known, Open, SourceError, SourceEvent, Start, large,
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
    /// How the cursor was asked for first; `None` once `newest` has moved on from there.
    origin: Option<Open>,
    /// Everything up to here was handed out.
    newest: ResumeToken,
    /// What was read and not yet handed out, each with how far it takes `newest`.
    signals: VecDeque<(Signal, Option<ResumeToken>)>,
    /// The first event beyond `newest` on which a stage fails: the cursor reads up to it.
    poison: Option<Poison>,
    /// What was found before, here or by others who read the same.
    known: Known,
    /// That event after all, when it was only too large to come as it is.
    whole: Option<SourceEvent>,
    degraded: bool,
    /// When the source last answered.
    answered: Instant,
    /// Tokens of batches stand for times, which a surprise disproves for good.
    times_hold: bool,
    backoff: Backoff,
    cancelled: CancellationToken,
}

/// Faults that one new opening mends are not worth a word to clients, unless they took this long.
const QUIET_RETRIES: u32 = 1;
const QUIET_TIME: Duration = Duration::from_secs(5);

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
        let cursor = match source.open(&spec, &start).await {
            Ok(cursor) => Some(cursor),
            Err(error) => {
                poison::acquit(source.as_ref(), &spec, &newest, error).await.map(|()| None)?
            }
        };
        Ok(Self {
            source,
            spec,
            cursor,
            origin: Some(start),
            newest,
            signals: VecDeque::new(),
            poison: None,
            known: Known::default(),
            whole: None,
            degraded: false,
            answered: Instant::now(),
            times_hold: true,
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(15)),
            cancelled,
        })
    }

    /// Shares with others what is found on the way.
    #[must_use]
    pub fn knowing(self, known: Known) -> Self {
        Self { known, ..self }
    }

    /// Whether it reads what comes: it is neither on its way to a failing event nor without a cursor.
    pub fn is_steady(&self) -> bool {
        self.poison.is_none() && self.cursor.is_some()
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
            if let Some(signal) = self.hand_out() {
                return signal;
            }
            match self.cursor.as_mut() {
                Some(cursor) => match cursor.next().await {
                    Ok(batch) => self.took(batch),
                    Err(error) => self.failed(error, false).await,
                },
                None => self.reopen().await,
            }
        }
    }

    fn hand_out(&mut self) -> Option<Signal> {
        let (signal, reach) = self.signals.pop_front()?;
        if let Some(reach) = reach.filter(|reach| *reach > self.newest) {
            self.newest = reach;
            self.origin = None;
        }
        Some(signal)
    }

    fn say(&mut self, signal: Signal) {
        self.signals.push_back((signal, None));
    }

    fn took(&mut self, batch: Option<Batch>) {
        let Some(mut batch) = batch else {
            self.cursor = None;
            return self.say(Signal::Ended(EndReason::Invalidated));
        };
        self.backoff.reset();
        self.answered = Instant::now();
        if std::mem::take(&mut self.degraded) {
            self.say(Signal::Recovered);
        }
        match self.poison.take_if(|poison| batch.has_passed(&poison.token)) {
            Some(poison) => self.skip(poison, batch),
            None => {
                self.check_times(&mut batch);
                let reach = batch.newest().cloned();
                self.signals.push_back((Signal::Batch(batch), reach));
            }
        }
    }

    /// Everything before the failing event was read: what is left of the cursor is of no use.
    fn skip(&mut self, poison: Poison, mut batch: Batch) {
        self.cursor = None;
        let events = batch.split_before(&poison.token);
        let sound = Batch { events, resume: None };
        let reach = sound.newest().cloned();
        self.signals.push_back((Signal::Batch(sound), reach));
        let reach = Some(poison.token.clone());
        let signal = match self.whole.take() {
            Some(event) => Signal::Batch(Batch { events: vec![event], resume: None }),
            None => Signal::Skipped(poison),
        };
        self.signals.push_back((signal, reach));
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
    async fn reopen(&mut self) {
        let wait = self.backoff.wait();
        let cancelled = self.cancelled.clone();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = cancelled.cancelled() => return,
        }
        let mut open = self.origin.clone().unwrap_or_else(|| Open::after(&self.newest));
        open.window.before = self.poison.as_ref().map(|poison| poison.token.clone());
        match self.source.open(&self.spec, &open).await {
            Ok(cursor) => self.cursor = Some(cursor),
            Err(error) => self.failed(error, true).await,
        }
    }

    async fn failed(&mut self, error: SourceError, opening: bool) {
        self.cursor = None;
        match error.fault {
            Fault::Transient | Fault::Privilege | Fault::Topology => self.degrade(error),
            Fault::Lost => self.restart(error).await,
            Fault::Unwatchable => self.say(Signal::Ended(EndReason::Refused(error))),
            Fault::Rejected => self.step_over(error, opening).await,
        }
    }

    fn degrade(&mut self, error: SourceError) {
        let brief = self.backoff.attempts() < QUIET_RETRIES && self.answered.elapsed() < QUIET_TIME;
        if !self.degraded && !brief {
            self.degraded = true;
            self.say(Signal::Degraded(error));
        }
    }

    /// The token is dead: one opening at now, and the truth to the clients.
    async fn restart(&mut self, error: SourceError) {
        let now = match self.source.now().await {
            Ok(now) => now.next(),
            Err(unreachable) => return self.degrade(unreachable),
        };
        match self.source.open(&self.spec, &Open::at(now)).await {
            Ok(cursor) => {
                self.cursor = Some(cursor);
                (self.poison, self.whole) = (None, None);
                let reach = Some(ResumeToken::before(now));
                self.signals.push_back((Signal::Reset(error, now), reach));
            }
            Err(unreachable) => self.degrade(unreachable),
        }
    }

    /// A stage failed, presumably on one event: that one is left out, its siblings are not.
    async fn step_over(&mut self, error: SourceError, opening: bool) {
        match self.find_poison().await {
            Ok(Some(poison)) => match large::whole(self.source.as_ref(), &self.spec, &poison).await
            {
                Ok(whole) => {
                    (self.poison, self.whole) = (Some(poison), whole);
                    self.backoff.reset();
                }
                Err(unreachable) => self.degrade(unreachable),
            },
            Ok(None) if opening => self.say(Signal::Ended(EndReason::Refused(error))),
            Ok(None) => self.degrade(error),
            Err(unreachable) => self.degrade(unreachable),
        }
    }

    /// One that is known is taken to be it; when reading up to that fails, there is an earlier one.
    async fn find_poison(&mut self) -> Result<Option<Poison>, SourceError> {
        if self.poison.is_none()
            && let Some(known) = self.known.after(&self.newest)
        {
            return Ok(Some(known));
        }
        let found = poison::find(self.source.as_ref(), &self.spec, &self.newest).await?;
        found.iter().for_each(|poison| self.known.add(poison));
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
