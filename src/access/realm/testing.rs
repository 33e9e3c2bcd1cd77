//! Realms that tests change.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;

use super::{ApiKey, Found, Freshness, KeyRealm, RealmError, User, UserRealm};

#[derive(Debug)]
pub(in crate::access) struct TestRealm<T> {
    pub(in crate::access) entries: Mutex<HashMap<String, Arc<T>>>,
    pub(in crate::access) is_down: AtomicBool,
    pub(in crate::access) lookups: AtomicUsize,
}

impl<T> Default for TestRealm<T> {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            is_down: AtomicBool::default(),
            lookups: AtomicUsize::default(),
        }
    }
}

impl<T> TestRealm<T> {
    pub(in crate::access) fn set(&self, name: &str, entry: Option<T>) {
        let mut entries = self.entries.lock().unwrap();
        match entry {
            Some(entry) => entries.insert(name.to_owned(), Arc::new(entry)),
            None => entries.remove(name),
        };
    }

    fn answer(&self, name: &str) -> Result<Option<Arc<T>>, RealmError> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        match self.is_down.load(Ordering::Relaxed) {
            true => Err(RealmError { what: "users", reason: "down".to_owned() }),
            false => Ok(self.entries.lock().unwrap().get(name).cloned()),
        }
    }
}

impl UserRealm for TestRealm<User> {
    fn find<'a>(&'a self, name: &'a str, _: Freshness) -> Found<'a, User> {
        std::future::ready(self.answer(name)).boxed()
    }

    fn is_hashed(&self) -> bool {
        true
    }
}

impl KeyRealm for TestRealm<ApiKey> {
    fn find<'a>(&'a self, hash: &'a str, _: Freshness) -> Found<'a, ApiKey> {
        std::future::ready(self.answer(hash)).boxed()
    }
}
