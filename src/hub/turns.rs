//! Turns on MongoDB for catch-up cursors: so many at a time, first come, first served.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bounded number of turns, and whether anyone waits for one.
#[derive(Debug)]
pub(super) struct Turns {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a turn, which ends when the permit is dropped. `None`: there will be none.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        let _waiting = Waiting::new(&self.waiting);
        self.free.clone().acquire_owned().await.ok()
    }

    /// Whether someone waits: whoever makes no use of a turn has to give it up.
    pub(super) fn are_contended(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Counts as waiting until it is dropped, also when the waiting is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
