//! Notices changes of metadata, made by anyone on any node, and tells the sessions that they concern.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use mongodb::Client;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    PROPERTIES,
    sessions::{Guard, Sessions},
    streams_of,
};
use crate::{
    binding::{CursorSpec, Namespace, Selection},
    change::ChangeEvent,
    definition::{StreamDef, StreamDefs},
    hub::{CloseHandle, Delivery, Hub, Item, Resume, SubscribeError, Subscription},
};

/// How often metadata is compared when it cannot be watched, and how soon watching is tried again.
const POLL: Duration = Duration::from_secs(3);

/// How long opening a stream waits for the watch on its definition.
const PATIENCE: Duration = Duration::from_secs(5);

/// One watch per database with sessions.
#[derive(Clone)]
pub(super) struct Watches {
    client: Client,
    hub: Hub,
    by_db: Arc<Mutex<HashMap<String, Weak<DbWatch>>>>,
    /// Whether the last watch that was tried is not to be had.
    polling: Arc<AtomicBool>,
}

/// The metadata of one database is being watched.
#[derive(Debug, Clone)]
pub struct Watch {
    db: Arc<DbWatch>,
    /// Changes seen before the definition was read.
    seen: u64,
}

#[derive(Debug)]
struct DbWatch {
    sessions: Sessions,
    /// Changes of metadata seen so far.
    changes: AtomicU64,
    next_id: AtomicU64,
    /// Collections that have to be compared although nothing changed meanwhile.
    recheck: tokio::sync::Notify,
    live: watch::Receiver<bool>,
    _watching: DropGuard,
}

impl Watches {
    pub(super) fn new(client: Client, hub: Hub) -> Self {
        Self { client, hub, by_db: Arc::default(), polling: Arc::default() }
    }

    pub(super) async fn watch(&self, db: &str) -> Watch {
        let watching = self.find_or_start(db);
        let mut live = watching.live.clone();
        // Without the watch the stream still opens: changes are then noticed by polling.
        drop(tokio::time::timeout(PATIENCE, live.wait_for(|live| *live)).await);
        let seen = watching.changes.load(Ordering::Acquire);
        Watch { db: watching, seen }
    }

    pub(super) fn is_watched(&self, db: &str) -> bool {
        self.lock().get(db).is_some_and(|watching| watching.strong_count() > 0)
    }

    fn find_or_start(&self, db: &str) -> Arc<DbWatch> {
        let mut by_db = self.lock();
        if let Some(watching) = by_db.get(db).and_then(Weak::upgrade) {
            return watching;
        }
        by_db.retain(|_, watching| watching.strong_count() > 0);
        let cancelled = CancellationToken::new();
        let (announce, live) = watch::channel(false);
        let watching = Arc::new(DbWatch {
            sessions: Sessions::default(),
            changes: AtomicU64::new(0),
            next_id: AtomicU64::new(0),
            recheck: tokio::sync::Notify::new(),
            live,
            _watching: cancelled.clone().drop_guard(),
        });
        by_db.insert(db.to_owned(), Arc::downgrade(&watching));
        let task = Task {
            client: self.client.clone(),
            hub: self.hub.clone(),
            db: db.to_owned(),
            watching: Arc::downgrade(&watching),
            announce,
            polling: self.polling.clone(),
        };
        tokio::spawn(async move {
            tokio::select! {
                () = task.run() => {}
                () = cancelled.cancelled() => {}
            }
        });
        watching
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<DbWatch>>> {
        self.by_db.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Registers a session, to be closed when its definition changes. A change that came between the
    /// reading of the definition and now is found out at once.
    pub fn guard(self, coll: &str, definition: Arc<StreamDef>, close: CloseHandle) -> Guard {
        let id = self.db.next_id.fetch_add(1, Ordering::Relaxed);
        self.db.sessions.insert(coll, id, definition, close);
        if self.db.changes.load(Ordering::Acquire) != self.seen {
            self.db.recheck.notify_one();
        }
        Guard { watch: self, coll: coll.to_owned(), id }
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.db.sessions
    }
}

/// Watches one database. Holds no strong reference, so that the last session's end ends it.
struct Task {
    client: Client,
    hub: Hub,
    db: String,
    watching: Weak<DbWatch>,
    /// Says whether changes are being noticed, one way or the other.
    announce: watch::Sender<bool>,
    polling: Arc<AtomicBool>,
}

impl Task {
    async fn run(&self) {
        let spec = CursorSpec::bare(Namespace::new(&self.db, PROPERTIES));
        loop {
            let selection = Arc::new(Selection::default());
            match self.hub.subscribe(spec.clone(), selection, Resume::Live).await {
                Ok(subscription) => {
                    self.polling.store(false, Ordering::Relaxed);
                    self.follow(subscription).await;
                    self.announce.send_replace(false);
                }
                Err(SubscribeError::Draining) => return,
                Err(error) => {
                    self.log_once(&error);
                    // Nobody waits for a watch that is not to be had: changes are noticed by polling.
                    self.announce.send_replace(true);
                    self.poll().await;
                }
            }
        }
    }

    /// One line for all databases and requests until a watch works again.
    fn log_once(&self, error: &SubscribeError) {
        if !self.polling.swap(true, Ordering::Relaxed) {
            tracing::warn!(ns.db = %self.db, %error, "metadata cannot be watched; polling");
        }
    }

    /// Until the cursor ends, as it does when the collection is dropped.
    async fn follow(&self, mut subscription: Subscription) {
        // What changed before the watch began is found by comparing everything once.
        self.compare_all().await;
        self.announce.send_replace(true);
        let mut items = Vec::new();
        loop {
            let Some(watching) = self.watching.upgrade() else { return };
            let delivery = tokio::select! {
                delivery = subscription.next(&mut items) => delivery,
                () = watching.recheck.notified() => {
                    self.compare_all().await;
                    continue;
                }
            };
            drop(watching);
            for item in items.drain(..) {
                self.heed(item).await;
            }
            if let Delivery::Closed(_) = delivery {
                self.changed();
                self.compare_all().await;
                return;
            }
        }
    }

    async fn heed(&self, item: Item) {
        match item {
            Item::Change(event, _) => {
                self.changed();
                match collection_of(&event) {
                    Some(coll) => self.compare(&coll).await,
                    None => self.compare_all().await,
                }
            }
            Item::Reset(_) | Item::Skipped(_) | Item::Document(..) | Item::SnapshotEnd(_) => {
                self.changed();
                self.compare_all().await;
            }
            Item::Status(_) => {}
        }
    }

    async fn poll(&self) {
        tokio::time::sleep(POLL).await;
        self.changed();
        self.compare_all().await;
    }

    fn changed(&self) {
        if let Some(watching) = self.watching.upgrade() {
            watching.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    async fn compare_all(&self) {
        let Some(watching) = self.watching.upgrade() else { return };
        for coll in watching.sessions.collections() {
            self.compare(&coll).await;
        }
    }

    /// Compares the sessions of a collection with its metadata as it is now.
    async fn compare(&self, coll: &str) {
        let namespace = Namespace::new(&self.db, coll);
        let Some(declared) = self.declared(&namespace).await else { return };
        if let Some(watching) = self.watching.upgrade() {
            watching.sessions.compare(coll, &declared);
        }
    }

    /// `None`: it could not be read; the caller's sessions stay, as MongoDB's silence changes nothing.
    async fn declared(&self, namespace: &Namespace) -> Option<StreamDefs> {
        match super::read_properties(&self.client, namespace).await {
            Ok(properties) => Some(streams_of(&properties.unwrap_or_default())),
            Err(error) => {
                tracing::warn!(ns.db = %namespace.db, ns.coll = %namespace.coll, %error,
                    "metadata cannot be read");
                None
            }
        }
    }
}

/// The collection whose metadata an event is about.
fn collection_of(event: &ChangeEvent) -> Option<String> {
    let id = event.raw().get_document("documentKey").ok()?.get_str("_id").ok()?;
    let coll = id.strip_prefix(PROPERTIES)?.strip_prefix('.')?;
    Some(coll.to_owned())
}
