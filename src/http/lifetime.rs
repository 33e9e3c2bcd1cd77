//! When a connection speaks although nothing happened, and when it ends by plan.

use std::{
    pin::Pin,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{backoff::jitter, hub::CloseReason};

/// How a connection behaves over time.
#[derive(Debug, Clone)]
pub(crate) struct Tempo {
    /// Time between heartbeats; `None` sends none.
    pub(crate) heartbeat: Option<Duration>,
    /// Cancelled when the process begins to drain.
    pub(crate) draining: CancellationToken,
    /// Within this time from then on every connection ends, each at a moment of its own.
    pub(crate) drain: Duration,
    /// Ends the connection, jittered, after this time.
    pub(crate) max_age: Option<Duration>,
    /// How long before its credential ends a connection says so; `None` does not.
    pub(crate) expiry_notice: Option<Duration>,
}

/// The clock of one connection. Owned by what speaks on it.
#[derive(Debug)]
pub(crate) struct Lifetime {
    tempo: Tempo,
    /// The end within the drain is planned.
    is_draining: bool,
    /// The next heartbeat; far away when there are none.
    beat: Pin<Box<Sleep>>,
    /// The planned end: of the connection's age, or within the drain.
    planned: (Instant, CloseReason),
    /// The end of its credential.
    expiry: Option<Expiry>,
    /// What comes first: the notice of an end, or the end.
    next: Pin<Box<Sleep>>,
}

/// When a credential ends.
#[derive(Debug, Clone, Copy)]
struct Expiry {
    /// On the clock of the world, to be told.
    at: SystemTime,
    end: Instant,
    /// When that has to be said; `None`, it was, or nobody wants to know.
    notice: Option<Instant>,
}

/// What the clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tick {
    /// It is time for a heartbeat.
    Beat,
    /// The credential ends at this time, soon.
    Expiring(SystemTime),
    /// It is time to end.
    End(CloseReason),
}

/// Stands for never in timers.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl Tempo {
    /// The tempo of one of several streams on a connection: when that ends is the connection's affair.
    pub(crate) fn shared(&self) -> Self {
        Self { draining: CancellationToken::new(), max_age: None, ..self.clone() }
    }
}

impl Lifetime {
    pub(crate) fn new(tempo: Tempo) -> Self {
        let now = Instant::now();
        let age = tempo.max_age.map_or(FAR, |age| jitter(age, 0.8, 1.0));
        let beat = tempo.heartbeat.map_or(FAR, |every| jitter(every, 0.9, 1.1));
        Self {
            tempo,
            is_draining: false,
            beat: Box::pin(sleep_until(now + beat)),
            planned: (now + age, CloseReason::GoingAway),
            expiry: None,
            next: Box::pin(sleep_until(now + age)),
        }
    }

    /// Ends the connection when its credential does, without leeway. A later call is about a newer
    /// credential.
    pub(crate) fn expires(&mut self, at: Option<SystemTime>) {
        self.expiry = at.map(|at| {
            let left = at.duration_since(SystemTime::now()).unwrap_or_default();
            let (now, left) = (Instant::now(), left.min(FAR));
            // Who comes with less knows how little it is.
            let before = self.tempo.expiry_notice.and_then(|notice| left.checked_sub(notice));
            Expiry { at, end: now + left, notice: before.map(|before| now + before) }
        });
        self.plan();
    }

    /// The time between heartbeats.
    pub(crate) fn heartbeat(&self) -> Option<Duration> {
        self.tempo.heartbeat
    }

    /// Waits for the next tick. Cancel-safe.
    pub(crate) async fn tick(&mut self) -> Tick {
        loop {
            tokio::select! {
                // In this order: nothing is said after the end.
                biased;
                () = &mut self.next => {
                    if let Some(tick) = self.due() {
                        return tick;
                    }
                }
                () = self.tempo.draining.cancelled(), if !self.is_draining => self.drain(),
                () = &mut self.beat => {
                    let every = self.tempo.heartbeat.map_or(FAR, |every| jitter(every, 0.9, 1.1));
                    self.beat.as_mut().reset(Instant::now() + every);
                    return Tick::Beat;
                }
            }
        }
    }

    /// Plans the end within the drain, spread so that the clients do not come back all at once.
    fn drain(&mut self) {
        self.is_draining = true;
        let end = Instant::now() + jitter(self.tempo.drain, 0.0, 0.7);
        if end < self.planned.0 {
            self.planned = (end, CloseReason::ServiceRestart);
        }
        self.plan();
    }

    /// The end that comes first, and why.
    fn end(&self) -> (Instant, CloseReason) {
        match self.expiry {
            Some(expiry) if expiry.end < self.planned.0 => {
                (expiry.end, CloseReason::CredentialsExpired)
            }
            _ => self.planned,
        }
    }

    fn plan(&mut self) {
        let notice = self.expiry.and_then(|expiry| expiry.notice);
        let end = self.end().0;
        self.next.as_mut().reset(notice.map_or(end, |notice| notice.min(end)));
    }

    /// What is due now that the timer has run.
    fn due(&mut self) -> Option<Tick> {
        let (end, reason) = self.end();
        if end <= Instant::now() {
            return Some(Tick::End(reason));
        }
        let expiry = self.expiry.as_mut()?;
        expiry.notice = None;
        let at = expiry.at;
        self.plan();
        Some(Tick::Expiring(at))
    }
}
