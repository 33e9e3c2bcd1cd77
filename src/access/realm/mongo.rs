//! Users and keys as MongoDB stores them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bson::{Document, doc};
use mongodb::{Client, Collection};
use tokio::time::Instant;

use super::record::{KeyShape, UserShape};
use super::{ApiKey, Found, Freshness, KeyRealm, RealmError, User, UserRealm};
use crate::access::cache::Memory;
use crate::config::{ApiKeysConfig, CacheConfig, MongoRealm, Namespace};

/// Who asks for a stream is not kept waiting by a database that does not answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Users of a collection.
#[derive(Debug)]
pub struct MongoUsers {
    store: Store<User>,
    shape: UserShape,
}

/// API keys of a collection.
#[derive(Debug)]
pub struct MongoKeys {
    store: Store<ApiKey>,
    shape: KeyShape,
}

impl MongoUsers {
    pub fn new(client: &Client, realm: &MongoRealm) -> Self {
        let store = Store::new("users", client, &realm.namespace, &realm.prop_id, realm.cache);
        Self { store, shape: UserShape::new(realm) }
    }
}

impl MongoKeys {
    pub fn new(client: &Client, config: &ApiKeysConfig) -> Self {
        let property = &config.prop_hash;
        let store = Store::new("API keys", client, &config.namespace, property, config.cache);
        Self { store, shape: KeyShape::new(config) }
    }
}

impl UserRealm for MongoUsers {
    fn find<'a>(&'a self, name: &'a str, freshness: Freshness) -> Found<'a, User> {
        Box::pin(self.store.find(name, freshness, |document| {
            let user = self.shape.read(document);
            user.inspect_err(|problem| tracing::warn!(%problem, "a user cannot be used")).ok()
        }))
    }

    fn is_hashed(&self) -> bool {
        self.shape.is_hashed()
    }

    fn forget(&self) {
        self.store.forget();
    }
}

impl KeyRealm for MongoKeys {
    fn find<'a>(&'a self, hash: &'a str, freshness: Freshness) -> Found<'a, ApiKey> {
        Box::pin(self.store.find(hash, freshness, |document| self.shape.read(&document)))
    }

    fn forget(&self) {
        self.store.forget();
    }
}

/// Documents by one property, remembered for a while.
#[derive(Debug)]
struct Store<T> {
    what: &'static str,
    collection: Collection<Document>,
    property: String,
    memory: Mutex<Memory<String, Arc<T>>>,
}

impl<T> Store<T> {
    fn new(
        what: &'static str,
        client: &Client,
        namespace: &Namespace,
        property: &str,
        cache: CacheConfig,
    ) -> Self {
        let ttl = cache.ttl.unwrap_or_default();
        let size = if ttl.is_zero() { 0 } else { cache.size };
        let database = client.database(&namespace.database);
        let collection = database.collection(&namespace.collection);
        let memory = Mutex::new(Memory::new(ttl, size));
        Self { what, collection, property: property.to_owned(), memory }
    }

    async fn find(
        &self,
        value: &str,
        freshness: Freshness,
        read: impl Fn(Document) -> Option<T>,
    ) -> Result<Option<Arc<T>>, RealmError> {
        if let Some(known) = self.remembered(value).filter(|_| freshness == Freshness::Remembered) {
            return Ok(Some(known));
        }
        let found = self.load(value).await?.and_then(read).map(Arc::new);
        if let Some(found) = &found {
            self.memory().insert(value.to_owned(), Arc::clone(found), Instant::now());
        }
        Ok(found)
    }

    async fn load(&self, value: &str) -> Result<Option<Document>, RealmError> {
        let failed = |reason: String| RealmError { what: self.what, reason };
        // Always a string and always `$eq`: a name is never an operator.
        let filter = doc! { &self.property: { "$eq": value } };
        let query = self.collection.find_one(filter).max_time(TIMEOUT).into_future();
        match tokio::time::timeout(TIMEOUT, query).await {
            Ok(answer) => answer.map_err(|error| failed(error.kind.to_string())),
            Err(_) => Err(failed("no answer in time".to_owned())),
        }
    }

    fn remembered(&self, value: &str) -> Option<Arc<T>> {
        self.memory().get(&value.to_owned(), Instant::now()).cloned()
    }

    fn forget(&self) {
        self.memory().clear();
    }

    fn memory(&self) -> MutexGuard<'_, Memory<String, Arc<T>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
