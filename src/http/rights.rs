//! Open sessions and the rights they were opened with, so that a change of either ends them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    decided::Decided,
    gate::{Change, Gate},
};
use crate::{
    access::Caller,
    hub::{CloseHandle, CloseReason},
};

/// The sessions of a process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Rights(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    sessions: Mutex<HashMap<u64, Entry>>,
    next: AtomicU64,
    /// Counts the reviews begun.
    reviews: AtomicU64,
}

#[derive(Debug, Clone)]
struct Entry {
    caller: Caller,
    decided: Arc<[Decided]>,
    close: CloseHandle,
}

/// Keeps a session registered; dropping it takes the session off.
#[derive(Debug)]
pub(crate) struct RightsGuard {
    rights: Rights,
    id: u64,
}

impl Rights {
    /// How many reviews have begun, to be told with [`Admitted::since`].
    pub(crate) fn reviews(&self) -> u64 {
        self.0.reviews.load(Ordering::Acquire)
    }

    /// Registers a session and what was decided of it. When a review began since its caller was looked
    /// at, it may have missed this session, which is then looked at now.
    pub(crate) fn register(
        &self,
        caller: Caller,
        decided: Vec<Decided>,
        close: CloseHandle,
        reviews: u64,
        gate: &Arc<Gate>,
    ) -> RightsGuard {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let entry = Entry { caller, decided: decided.into(), close };
        self.lock().insert(id, entry.clone());
        if self.reviews() != reviews {
            let gate = gate.clone();
            tokio::spawn(async move { review_one(&gate, &entry).await });
        }
        RightsGuard { rights: self.clone(), id }
    }

    /// Looks at every session again: users or permissions have changed.
    pub async fn review(&self, gate: &Gate) {
        self.0.reviews.fetch_add(1, Ordering::AcqRel);
        let entries: Vec<Entry> = self.lock().values().cloned().collect();
        for entry in entries {
            review_one(gate, &entry).await;
        }
    }

    /// Closes the sessions of one user, who may come back if the rights allow it. Gives how many.
    pub(crate) fn disconnect(&self, user: &str) -> usize {
        let named = |entry: &&Entry| entry.caller.principal().is_some_and(|it| it.id() == user);
        let close = |entry: &Entry| entry.close.close(CloseReason::AccessChanged);
        self.lock().values().filter(named).map(close).count()
    }

    /// Open sessions.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn review_one(gate: &Gate, entry: &Entry) {
    match gate.changed(&entry.caller, &entry.decided).await {
        None => {}
        Some(Change::Ended) => entry.close.close(CloseReason::CredentialsExpired),
        Some(Change::Access) => entry.close.close(CloseReason::AccessChanged),
    }
}

impl Drop for RightsGuard {
    fn drop(&mut self) {
        self.rights.lock().remove(&self.id);
    }
}
