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
}

/// The clock of one connection. Owned by what speaks on it.
#[derive(Debug)]
pub(crate) struct Lifetime {
    tempo: Tempo,
    /// The end within the drain is planned.
    is_draining: bool,
    /// The next heartbeat; far away when there are none.
    beat: Pin<Box<Sleep>>,
    /// The planned end: of the connection's age, of its credential, or within the drain.
    end: Pin<Box<Sleep>>,
    reason: CloseReason,
}

/// What the clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tick {
    /// It is time for a heartbeat.
    Beat,
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
            end: Box::pin(sleep_until(now + age)),
            reason: CloseReason::GoingAway,
        }
    }

    /// Ends the connection when its credential does, without leeway.
    pub(crate) fn expires(&mut self, at: Option<SystemTime>) {
        let left = at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        self.plan_end(left.unwrap_or(FAR), CloseReason::CredentialsExpired);
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
                () = &mut self.end => return Tick::End(self.reason),
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
        self.plan_end(jitter(self.tempo.drain, 0.0, 0.7), CloseReason::ServiceRestart);
    }

    /// Plans an end, unless an earlier one is planned.
    fn plan_end(&mut self, left: Duration, reason: CloseReason) {
        let end = Instant::now() + left;
        if end < self.end.deadline() {
            self.end.as_mut().reset(end);
            self.reason = reason;
        }
    }
}
