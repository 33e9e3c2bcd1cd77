//! The record of one connection: open, and then one line about why it ended.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::time::Instant;

use super::{Cause, Subscriber, Surface, Telemetry, Transport};

/// Held by whoever serves a connection. Dropping it counts and logs its end.
#[derive(Debug)]
pub struct Connection {
    telemetry: Telemetry,
    subscriber: Subscriber,
    transport: Transport,
    surface: Surface,
    opened: Instant,
    cause: Option<Cause>,
    /// Set when its socket takes nothing for too long.
    stalled: Option<Arc<AtomicBool>>,
}

impl Connection {
    /// A connection is open from now on. `topic` is what it is about, without anything secret.
    pub fn open(
        telemetry: &Telemetry,
        transport: Transport,
        surface: Surface,
        topic: impl Into<String>,
    ) -> Self {
        telemetry.lock().open[transport as usize][surface as usize] += 1;
        Self {
            subscriber: telemetry.subscriber(surface, topic),
            telemetry: telemetry.clone(),
            transport,
            surface,
            opened: Instant::now(),
            cause: None,
            stalled: None,
        }
    }

    /// Has the cause [`Cause::WRITE_TIMEOUT`] when the flag is set at its end and nobody said another.
    pub fn watching(mut self, stalled: Option<Arc<AtomicBool>>) -> Self {
        self.stalled = stalled;
        self
    }

    /// Where its events are counted.
    pub fn subscriber(&self) -> &Subscriber {
        &self.subscriber
    }

    /// Says why it ends; the first word counts. Without one the client went away.
    pub fn ends(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
    }

    fn unsaid(&self) -> Cause {
        match &self.stalled {
            Some(stalled) if stalled.load(Ordering::Relaxed) => Cause::WRITE_TIMEOUT,
            _ => Cause::CLIENT_GONE,
        }
    }

    fn log(&self, cause: Cause) {
        let counts = self.subscriber.counts();
        tracing::info!(
            sub = self.subscriber.id().number(),
            cause = cause.as_str(),
            transport = self.transport.as_str(),
            surface = self.surface.as_str(),
            topic = self.subscriber.topic(),
            duration_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes = counts.bytes,
            events = counts.delivered,
            "connection closed"
        );
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let cause = self.cause.unwrap_or_else(|| self.unsaid());
        let mut state = self.telemetry.lock();
        state.open[self.transport as usize][self.surface as usize] -= 1;
        *state.closed.entry(cause).or_default() += 1;
        drop(state);
        self.log(cause);
    }
}
