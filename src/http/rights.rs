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
    look::{ConnectionId, Look},
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
    connections: AtomicU64,
    /// Counts the reviews begun.
    reviews: AtomicU64,
}

#[derive(Debug, Clone)]
struct Entry {
    connection: ConnectionId,
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
    /// To be taken before the caller of a connection is looked at.
    pub(crate) fn look(&self) -> Look {
        let connection = ConnectionId(self.0.connections.fetch_add(1, Ordering::Relaxed));
        Look { connection, reviews: self.reviews() }
    }

    /// The same, for another look.
    pub(crate) fn look_again(&self, look: Look) -> Look {
        Look { reviews: self.reviews(), ..look }
    }

    /// Registers a session and what was decided of it. When a review began since its caller was looked
    /// at, it may have missed this session, which is then looked at now.
    pub(crate) fn register(
        &self,
        look: Look,
        caller: Caller,
        decided: Vec<Decided>,
        close: CloseHandle,
        gate: &Arc<Gate>,
    ) -> RightsGuard {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let entry = Entry { connection: look.connection, caller, decided: decided.into(), close };
        self.lock().insert(id, entry);
        self.catch_up(look, vec![id], gate);
        RightsGuard { rights: self.clone(), id }
    }

    /// Whoever is on a connection has shown a newer credential: its sessions go on with that, but for
    /// those that it shows something else, which end.
    pub(crate) fn renew(&self, look: Look, caller: &Caller, gate: &Arc<Gate>) {
        let sessions = self.of(look.connection);
        for (id, entry) in &sessions {
            if gate.is_same(&entry.caller, caller, &entry.decided) {
                let mut open = self.lock();
                open.entry(*id).and_modify(|entry| entry.caller = caller.clone());
            } else {
                entry.close.close(CloseReason::AccessChanged);
            }
        }
        self.catch_up(look, sessions.into_iter().map(|(id, _)| id).collect(), gate);
    }

    fn of(&self, connection: ConnectionId) -> Vec<(u64, Entry)> {
        let open = self.lock();
        let of_it = open.iter().filter(|(_, entry)| entry.connection == connection);
        of_it.map(|(id, entry)| (*id, entry.clone())).collect()
    }

    /// Looks at sessions that a review may have missed.
    fn catch_up(&self, look: Look, sessions: Vec<u64>, gate: &Arc<Gate>) {
        if self.reviews() != look.reviews {
            let (rights, gate) = (self.clone(), gate.clone());
            tokio::spawn(async move { rights.review_all(&gate, sessions).await });
        }
    }

    fn reviews(&self) -> u64 {
        self.0.reviews.load(Ordering::Acquire)
    }

    /// Looks at every session again: users or permissions have changed.
    pub async fn review(&self, gate: &Gate) {
        self.0.reviews.fetch_add(1, Ordering::AcqRel);
        let sessions = self.lock().keys().copied().collect();
        self.review_all(gate, sessions).await;
    }

    async fn review_all(&self, gate: &Gate, sessions: Vec<u64>) {
        for id in sessions {
            // As it is by now: its caller may have been renewed.
            let entry = self.lock().get(&id).cloned();
            if let Some(entry) = entry {
                review_one(gate, &entry).await;
            }
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
