//! Reads one cursor for as long as it is wanted: opens it again after faults, from the newest token.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Batch, ChangeCursor, ChangeSource, Fault, Known, Open, SourceError, Start, large,
    left_out::LeftOut,
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
    Skipped(Arc<Poison>),
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
    /// Events beyond `newest` on which a stage fails.
    left_out: LeftOut,
    /// Up to where the search for them has come: the cursor reads no further.
    until: Option<ResumeToken>,
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
    /// Opens a cursor at `start`, or now. When this returns, every later change will be read. What fails
    /// on the way is shared with others who read the same through `known`.
    pub async fn open(
        source: Arc<dyn ChangeSource>,
        spec: Arc<CursorSpec>,
        start: Option<Open>,
        known: Known,
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
        let mut reader = Self {
            source,
            spec,
            cursor: None,
            origin: Some(start),
            newest,
            signals: VecDeque::new(),
            left_out: LeftOut::new(known),
            until: None,
            degraded: false,
            answered: Instant::now(),
            times_hold: true,
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(15)),
            cancelled,
        };
        reader.begin().await?;
        Ok(reader)
    }

    /// The first opening. It may fail on an event, for which `next` will look.
    async fn begin(&mut self) -> Result<(), SourceError> {
        self.left_out.renew(&self.newest);
        let start = self.start();
        match self.source.open(&self.spec, &start).await {
            Ok(cursor) => self.cursor = Some(cursor),
            Err(error) => {
                let source = self.source.as_ref();
                poison::acquit(source, &self.spec, &start, &self.newest, error).await?;
            }
        }
        Ok(())
    }

    /// How a cursor is asked for that goes on from `newest`.
    fn start(&self) -> Open {
        let mut start = self.origin.clone().unwrap_or_else(|| Open::after(&self.newest));
        start.window.without = self.left_out.tokens();
        start
    }

    /// Whether it reads what comes: it is neither on its way to a failing event nor without a cursor.
    pub fn is_steady(&self) -> bool {
        self.left_out.is_empty() && self.until.is_none() && self.cursor.is_some()
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
            if let Some((signal, reach)) = self.signals.pop_front() {
                match self.hand_out(signal, reach).await {
                    Some(signal) => return signal,
                    None => continue,
                }
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

    /// `None`: it has to wait.
    async fn hand_out(&mut self, signal: Signal, reach: Option<ResumeToken>) -> Option<Signal> {
        let signal = match signal {
            Signal::Skipped(poison) => self.tried_whole(poison).await?,
            signal => signal,
        };
        if let Some(reach) = reach.filter(|reach| *reach > self.newest) {
            self.newest = reach;
            self.origin = None;
        }
        Some(signal)
    }

    /// The failing event after all, when it was only too large to come as it is.
    async fn tried_whole(&mut self, poison: Arc<Poison>) -> Option<Signal> {
        match large::whole(self.source.as_ref(), &self.spec, &poison).await {
            Ok(Some(event)) => Some(Signal::Batch(Batch { events: vec![event], resume: None })),
            Err(error) if error.fault.is_an_outage() => {
                let reach = Some(poison.token.clone());
                self.signals.push_front((Signal::Skipped(poison), reach));
                self.degrade(error);
                self.rest().await;
                None
            }
            Ok(None) | Err(_) => Some(Signal::Skipped(poison)),
        }
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
        let searched = self.until.take_if(|until| batch.has_passed(until));
        self.report_passed(&mut batch, searched.as_ref());
        self.check_times(&mut batch);
        let reach = match searched {
            // What comes then was not asked for, whatever the batch's own token says.
            Some(searched) => {
                (self.cursor, batch.resume) = (None, None);
                Some(searched)
            }
            None => batch.newest().cloned(),
        };
        self.signals.push_back((Signal::Batch(batch), reach));
    }

    /// Reports the events that were left out of a batch, each behind those before it.
    fn report_passed(&mut self, batch: &mut Batch, end: Option<&ResumeToken>) {
        let passed = |batch: &Batch, token: &ResumeToken| {
            batch.has_passed(token) && end.is_none_or(|end| token <= end)
        };
        while let Some(poison) = self.left_out.take_first(|token| passed(batch, token)) {
            let events = batch.split_before(&poison.token);
            if !events.is_empty() {
                let sound = Batch { events, resume: None };
                let reach = sound.newest().cloned();
                self.signals.push_back((Signal::Batch(sound), reach));
            }
            let reach = Some(poison.token.clone());
            self.signals.push_back((Signal::Skipped(poison), reach));
        }
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
        self.rest().await;
        if self.cancelled.is_cancelled() {
            return;
        }
        self.left_out.renew(&self.newest);
        let mut open = self.start();
        open.window.until = self.until.clone();
        match self.source.open(&self.spec, &open).await {
            Ok(cursor) => self.cursor = Some(cursor),
            Err(error) => self.failed(error, true).await,
        }
    }

    /// Waits before another attempt.
    async fn rest(&mut self) {
        let wait = self.backoff.wait();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.cancelled.cancelled() => {}
        }
    }

    async fn failed(&mut self, error: SourceError, opening: bool) {
        self.cursor = None;
        match error.fault {
            fault if fault.is_an_outage() => self.degrade(error),
            Fault::Lost => self.restart(error).await,
            Fault::Unwatchable => self.say(Signal::Ended(EndReason::Refused(error))),
            _ => self.step_over(error, opening).await,
        }
    }

    fn degrade(&mut self, error: SourceError) {
        let brief = self.backoff.attempts() < QUIET_RETRIES && self.answered.elapsed() < QUIET_TIME;
        if !self.degraded && !brief {
            self.degraded = true;
            self.signals.push_front((Signal::Degraded(error), None));
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
                self.left_out.clear();
                self.until = None;
                let reach = Some(ResumeToken::before(now));
                self.signals.push_back((Signal::Reset(error, now), reach));
            }
            Err(unreachable) => self.degrade(unreachable),
        }
    }

    /// A stage failed, presumably on an event: that one is left out, its siblings are not.
    async fn step_over(&mut self, error: SourceError, opening: bool) {
        let _searching = tokio::select! {
            searching = self.left_out.known().begin_search() => searching,
            () = self.cancelled.cancelled() => return,
        };
        // Found meanwhile by somebody else, perhaps.
        if self.left_out.renew(&self.newest) {
            return self.backoff.reset();
        }
        let source = self.source.as_ref();
        match poison::find(source, &self.spec, self.start(), &self.newest).await {
            Ok(Some(found)) => {
                found.poison.into_iter().for_each(|poison| self.left_out.add(poison));
                self.until = Some(found.until);
                self.backoff.reset();
            }
            Ok(None) if opening => self.say(Signal::Ended(EndReason::Refused(error))),
            Ok(None) => self.degrade(error),
            Err(unreachable) => self.degrade(unreachable),
        }
    }
}

#[cfg(test)]
mod tests;
