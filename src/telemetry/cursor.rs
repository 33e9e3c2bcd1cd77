//! What is known of one open cursor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::Telemetry;

/// Written by the cursor's task, read by whoever asks.
#[derive(Debug)]
pub struct CursorMeter {
    pub(super) namespace: String,
    /// Whether it serves one binding only.
    pub(super) own: bool,
    events: AtomicU64,
    subscribers: AtomicU64,
    degraded: AtomicBool,
    /// Everything until this moment was read: milliseconds since 1970, 0 while nothing is known.
    reached: AtomicU64,
}

impl CursorMeter {
    /// A cursor that has published nothing yet.
    pub fn new(namespace: String, own: bool) -> Self {
        Self {
            namespace,
            own,
            events: AtomicU64::new(0),
            subscribers: AtomicU64::new(0),
            degraded: AtomicBool::new(false),
            reached: AtomicU64::new(0),
        }
    }

    /// Events that were offered to subscribers.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// One more event was offered to subscribers.
    pub fn published(&self) {
        self.events.fetch_add(1, Relaxed);
    }

    /// The source was read to its end now, or an event of this time was read.
    pub fn reached(&self, time: SystemTime) {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.reached.fetch_max(millis, Relaxed);
    }

    /// Whether the source is down.
    pub fn set_degraded(&self, degraded: bool) {
        self.degraded.store(degraded, Relaxed);
    }

    /// Somebody joined.
    pub fn joined(&self) {
        self.subscribers.fetch_add(1, Relaxed);
    }

    /// Somebody left.
    pub fn left(&self) {
        self.subscribers.fetch_sub(1, Relaxed);
    }

    pub(super) fn subscribers(&self) -> u64 {
        self.subscribers.load(Relaxed)
    }

    pub(super) fn is_degraded(&self) -> bool {
        self.degraded.load(Relaxed)
    }

    /// How far behind the reading is. `None` until it is known.
    pub(super) fn lag(&self) -> Option<Duration> {
        let reached = self.reached.load(Relaxed);
        let reached = (reached > 0).then(|| UNIX_EPOCH + Duration::from_millis(reached))?;
        // MongoDB's clock may be ahead of ours.
        Some(SystemTime::now().duration_since(reached).unwrap_or_default())
    }
}

/// Stands for an open cursor.
#[derive(Debug)]
pub struct Cursor {
    telemetry: Telemetry,
    number: u64,
    meter: Arc<CursorMeter>,
}

impl Cursor {
    pub(super) fn new(telemetry: Telemetry, number: u64, meter: CursorMeter) -> Self {
        let meter = Arc::new(meter);
        telemetry.lock().cursors.insert(number, meter.clone());
        Self { telemetry, number, meter }
    }

    /// Where its task counts.
    pub fn meter(&self) -> &Arc<CursorMeter> {
        &self.meter
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.telemetry.lock().cursors.remove(&self.number);
    }
}
