//! Whose catch-up cursor may be open: there are but few in a process.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Turns of all cursors of a process, in the order of asking.
#[derive(Debug)]
pub(in crate::hub) struct Turns {
    permits: Semaphore,
    waiting: AtomicUsize,
}

/// Counts whoever waits, also one who gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl Turns {
    pub(in crate::hub) fn new(count: usize) -> Self {
        Self { permits: Semaphore::new(count), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a turn. `None`: there will be none any more.
    pub(super) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        let _waiting = Waiting::count(&self.waiting);
        self.permits.acquire().await.ok()
    }

    /// Whether somebody waits for a turn.
    pub(super) fn are_wanted(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }
}

impl<'a> Waiting<'a> {
    fn count(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
