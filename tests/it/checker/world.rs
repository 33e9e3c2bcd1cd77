//! What the faults act on: a MongoDB, replicas of the service, and a proxy on either side of each.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicI32, Ordering},
    time::Duration,
};

use bson::{Document, doc};
use mongodb::Database;
use tailwater::mongod::Mongod;
use tokio::{net::TcpListener, sync::Mutex, time::sleep};

use crate::support::{
    TestApp, all, eventually,
    fail_point::FailPoints,
    mongod::{connect, private},
    proxy::Proxy,
};

/// Small bounds, so that slow clients meet all of them.
const SETTINGS: &str = "streams: { heartbeat: 500ms, await: 200ms, drain: 700ms, catch_up: 2, \
     write_timeout: 2s, open_timeout: 3s, linger: 300ms, \
     history: { events: 200, bytes: 1MiB }, mailbox: { events: 30, bytes: 256KiB } }";

/// Everything that a run is made of.
pub(super) struct World {
    mongod: Mongod,
    pub(super) db: Database,
    faults: FailPoints,
    replicas: Vec<Replica>,
    redefined: Mutex<u32>,
    /// How often a position was lost.
    lost: AtomicI32,
}

struct Replica {
    clients: Proxy,
    source: Proxy,
    address: SocketAddr,
    /// `None` while it restarts.
    app: Mutex<Option<TestApp>>,
}

impl World {
    pub(super) const REPLICAS: usize = 2;

    pub(super) async fn start() -> Self {
        let mongod = private().await;
        let db = connect(&mongod.uri()).await.database("d");
        let faults = FailPoints::of(&mongod.uri()).await;
        declare(&db, 0).await;
        let mut replicas = Vec::new();
        for _ in 0..Self::REPLICAS {
            replicas.push(Replica::start(mongod.port(), &db).await);
        }
        Self {
            mongod,
            db,
            faults,
            replicas,
            redefined: Mutex::default(),
            lost: AtomicI32::default(),
        }
    }

    /// Where clients of a replica connect.
    pub(super) fn address(&self, replica: usize) -> SocketAddr {
        self.replicas[replica].clients.address()
    }

    pub(super) fn clients(&self, replica: usize) -> &Proxy {
        &self.replicas[replica].clients
    }

    pub(super) fn source(&self, replica: usize) -> &Proxy {
        &self.replicas[replica].source
    }

    /// Gives how often commands had failed before.
    pub(super) async fn fail(&self, command: &str, times: i32, data: Document) -> i32 {
        self.faults.times(times, &[command], "d.c", data).await
    }

    /// Gives how often commands have failed.
    pub(super) async fn heal(&self) -> i32 {
        self.faults.off().await
    }

    pub(super) fn lost(&self, times: i32) {
        self.lost.fetch_add(times, Ordering::SeqCst);
    }

    /// How often a position was lost: so many resets a client may be told, and no more.
    pub(super) fn losses(&self) -> usize {
        self.lost.load(Ordering::SeqCst).try_into().unwrap()
    }

    /// The primary steps down, and is elected again since there is nobody else.
    pub(super) async fn step_down(&self) {
        let admin = self.db.client().database("admin");
        // Its connections may be closed before it answers.
        let command = doc! { "replSetStepDown": 1, "force": true };
        drop(admin.run_command(command).await);
        eventually("there is a primary", async || {
            let hello = admin.run_command(doc! { "hello": 1 }).await;
            hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))
        })
        .await;
    }

    pub(super) async fn restart(&self, replica: usize, away: Duration) {
        let replica = &self.replicas[replica];
        if let Some(app) = replica.app.lock().await.take() {
            app.stop().await;
        }
        sleep(away).await;
        let listener = TcpListener::bind(replica.address).await.unwrap();
        let app = TestApp::on(listener, &replica.uri(), self.db.clone(), SETTINGS).await;
        *replica.app.lock().await = Some(app);
    }

    pub(super) async fn redefine(&self) {
        let mut redefined = self.redefined.lock().await;
        *redefined += 1;
        declare(&self.db, *redefined).await;
    }

    pub(super) async fn stop(self) {
        for replica in &self.replicas {
            if let Some(app) = replica.app.lock().await.take() {
                app.stop().await;
            }
        }
        self.mongod.stop().await.unwrap();
    }
}

impl Replica {
    async fn start(mongod: u16, db: &Database) -> Self {
        let source = Proxy::start(([127, 0, 0, 1], mongod).into()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let replica =
            Self { clients: Proxy::start(address).await, source, address, app: Mutex::default() };
        let app = TestApp::on(listener, &replica.uri(), db.clone(), SETTINGS).await;
        *replica.app.lock().await = Some(app);
        replica
    }

    fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.source.address())
    }
}

/// The streams that clients watch: of a poisoned write one shows the event and one fails on it. Another
/// `version` is another definition of the same.
async fn declare(db: &Database, version: u32) {
    let never = doc! { "$match": { "operationType": { "$ne": format!("never-{version}") } } };
    let divide = doc! { "_$addFields": { "q": { "$divide": [1, "$fullDocument.divisor"] } } };
    let tag = doc! { "fullDocument::t": { "$var": "t" } };
    let tagged = doc! { "uri": "tag", "stages": [never, divide], "notify_when": tag };
    TestApp::of(([127, 0, 0, 1], 0).into(), db.clone()).declare("c", vec![all(), tagged]).await;
}
