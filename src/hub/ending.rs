//! The end of a session, as it is decided from outside.

use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::Notify;

use super::CloseReason;

/// Whether something has to end, and why; it is told when that is decided. One task waits for it.
#[derive(Debug, Default)]
pub struct Ending {
    reason: OnceLock<CloseReason>,
    wake: Notify,
}

impl Ending {
    /// Decides; the first reason counts.
    pub(super) fn decide(&self, reason: CloseReason) {
        self.reason.get_or_init(|| reason);
        self.wake();
    }

    /// What was decided.
    pub(super) fn decided(&self) -> Option<CloseReason> {
        self.reason.get().copied()
    }

    /// Wakes whoever waits; a wake while it is busy is kept.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits for a wake. Cancel-safe.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Waits until an end is decided. Cancel-safe.
    pub async fn reason(&self) -> CloseReason {
        loop {
            match self.decided() {
                Some(reason) => return reason,
                None => self.woken().await,
            }
        }
    }

    /// What ends it.
    pub fn handle(self: &Arc<Self>) -> CloseHandle {
        CloseHandle(Arc::downgrade(self))
    }
}

/// Ends one session from outside. Does not keep it alive.
#[derive(Debug, Clone)]
pub struct CloseHandle(Weak<Ending>);

impl CloseHandle {
    /// Ends the session with a reason. Does nothing when it is over.
    pub fn close(&self, reason: CloseReason) {
        if let Some(ending) = self.0.upgrade() {
            ending.decide(reason);
        }
    }

    /// Whether the session is over.
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}
