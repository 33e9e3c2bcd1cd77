//! Open sessions by collection, so that a changed definition finds the sessions that it concerns.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    definition::{StreamDef, StreamDefs},
    hub::{CloseHandle, CloseReason},
};

/// The sessions of one database.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_collection: Mutex<HashMap<String, HashMap<u64, Entry>>>,
}

#[derive(Debug)]
struct Entry {
    definition: Arc<StreamDef>,
    close: CloseHandle,
}

impl Sessions {
    pub(super) fn insert(
        &self,
        coll: &str,
        id: u64,
        definition: Arc<StreamDef>,
        close: CloseHandle,
    ) {
        let mut collections = self.lock();
        let entry = Entry { definition, close };
        collections.entry(coll.to_owned()).or_default().insert(id, entry);
    }

    pub(super) fn remove(&self, coll: &str, id: u64) {
        let mut collections = self.lock();
        if let Some(sessions) = collections.get_mut(coll) {
            sessions.remove(&id);
            if sessions.is_empty() {
                collections.remove(coll);
            }
        }
    }

    /// Collections that have sessions.
    pub(super) fn collections(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Closes the sessions whose definition is not the declared one any more. The others notice nothing.
    pub(super) fn compare(&self, coll: &str, declared: &StreamDefs) {
        let collections = self.lock();
        for entry in collections.get(coll).into_iter().flat_map(HashMap::values) {
            match declared.find(&entry.definition.uri) {
                None => entry.close.close(CloseReason::StreamGone),
                Some(current) if *current != *entry.definition => {
                    entry.close.close(CloseReason::StreamRedefined);
                }
                Some(_) => {}
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, HashMap<u64, Entry>>> {
        self.by_collection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a session registered; dropping it takes the session off.
#[derive(Debug)]
pub struct Guard {
    pub(super) watch: super::Watch,
    pub(super) coll: String,
    pub(super) id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.watch.sessions().remove(&self.coll, self.id);
    }
}
