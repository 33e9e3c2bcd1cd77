//! MongoDB for the tests: one instance that all share, and private ones for what would disturb others.

use std::path::PathBuf;

use bson::{Document, doc};
use mongodb::{Client, Database};
use tailwater::mongod::{Mongod, MongodBuilder, REPLICA_SET, Signal, Topology};
use tokio::sync::OnceCell;

use super::{eventually, unused_port};

/// Names a replica set to test against, in place of one that is started here.
const URI_VARIABLE: &str = "TAILWATER_TEST_MONGODB_URI";

/// Held until the test process ends; a watcher process then stops the mongod (see `guard.sh`).
static SHARED: OnceCell<Mongod> = OnceCell::const_new();

/// The connection string of the replica set that all tests share, started by whoever asks first.
///
/// Fail points work there but act on every test at once: a test that sets one starts its own.
pub(crate) async fn shared_uri() -> String {
    if let Ok(uri) = std::env::var(URI_VARIABLE) {
        return uri;
    }
    SHARED.get_or_init(|| start(builder())).await.uri()
}

/// A database of the shared replica set with a name that no other test uses.
pub(crate) async fn fresh_database() -> Database {
    fresh_database_of(&shared_uri().await).await
}

/// The same of any MongoDB.
pub(crate) async fn fresh_database_of(uri: &str) -> Database {
    let name = format!("t{:016x}", rand::random::<u64>());
    connect(uri).await.database(&name)
}

/// A private set of one with fail points, for tests that break or stop it.
pub(crate) async fn private() -> Mongod {
    start(builder()).await
}

/// A set of one that can be started again with the same data on the same port.
pub(crate) struct Lasting {
    folder: PathBuf,
    port: u16,
}

impl Lasting {
    pub(crate) fn new() -> Self {
        let name = format!("tailwater-lasting-{:016x}", rand::random::<u64>());
        Self { folder: std::env::temp_dir().join(name), port: unused_port() }
    }

    pub(crate) fn uri(&self) -> String {
        format!("mongodb://127.0.0.1:{}/?directConnection=true", self.port)
    }

    pub(crate) async fn start(&self) -> Mongod {
        start(Mongod::builder().native_only().data_dir(&self.folder).port(self.port)).await
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// A mongod without a replica set, on which change streams do not work.
pub(crate) async fn standalone() -> Mongod {
    start(builder().topology(Topology::Standalone)).await
}

/// A member of a set that nobody has initiated.
pub(crate) async fn uninitiated() -> Mongod {
    start(builder().topology(Topology::Member).native_only()).await
}

/// A set of one whose oplog forgets within seconds: 16 MB.
pub(crate) async fn tiny_oplog() -> Mongod {
    // What no checkpoint covers is kept, however small the oplog: one every second.
    start(builder().oplog_mb(16).arg("--syncdelay").arg("1")).await
}

/// Writes elsewhere until the oldest entry of the oplog is younger than the start.
pub(crate) async fn roll_oplog(db: &Database) {
    let oplog = db.client().database("local").collection::<Document>("oplog.rs");
    let oldest = async || {
        let first = oplog.find_one(doc! {}).sort(doc! { "$natural": 1 }).await.unwrap().unwrap();
        first.get_timestamp("ts").unwrap()
    };
    let newest = oplog.find_one(doc! {}).sort(doc! { "$natural": -1 }).await.unwrap().unwrap();
    let start = newest.get_timestamp("ts").unwrap();
    let text = "x".repeat(1 << 20);
    let sibling = db.collection::<Document>("sibling");
    let admin = db.client().database("admin");
    while oldest().await <= start {
        // What a checkpoint does not cover yet is kept.
        admin.run_command(doc! { "fsync": 1 }).await.unwrap();
        let documents = (0..16).map(|_| doc! { "text": &text });
        sibling.insert_many(documents).await.unwrap();
        sibling.delete_many(doc! {}).await.unwrap();
    }
}

/// A driver for `uri`, connected lazily.
pub(crate) async fn connect(uri: &str) -> Client {
    Client::with_uri_str(uri).await.unwrap()
}

fn builder() -> MongodBuilder {
    Mongod::builder().parameter("enableTestCommands", "1")
}

async fn start(builder: MongodBuilder) -> Mongod {
    builder.start().await.unwrap_or_else(|error| panic!("failed to {error}"))
}

/// Three data-bearing nodes that elect a new primary about a second after losing one.
#[derive(Debug)]
pub(crate) struct ThreeNodes {
    nodes: Vec<Mongod>,
}

impl ThreeNodes {
    pub(crate) async fn start() -> Self {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(start(builder().topology(Topology::Member).native_only()).await);
        }
        let set = Self { nodes };
        let first = connect(&set.nodes[0].uri()).await;
        let initiate = doc! { "replSetInitiate": set.config() };
        first.database("admin").run_command(initiate).await.unwrap();
        set.primary().await;
        set
    }

    /// A connection string that follows the primary.
    pub(crate) fn uri(&self) -> String {
        let hosts: Vec<&str> = self.nodes.iter().map(Mongod::member_host).collect();
        format!("mongodb://{}/?replicaSet={REPLICA_SET}", hosts.join(","))
    }

    /// The port of the writable primary, once there is one.
    pub(crate) async fn primary(&self) -> u16 {
        let port = std::cell::Cell::new(0);
        eventually("the set has a primary", async || {
            for node in &self.nodes {
                if is_writable(node).await {
                    port.set(node.port());
                }
            }
            port.get() != 0
        })
        .await;
        port.get()
    }

    /// `kill -9` of the primary; gives its port. The other two elect a new one.
    pub(crate) async fn kill_primary(&mut self) -> u16 {
        let port = self.primary().await;
        let at = self.nodes.iter().position(|node| node.port() == port).unwrap();
        let mut node = self.nodes.remove(at);
        node.signal(Signal::Kill).unwrap();
        node.ended().await.unwrap();
        port
    }

    fn config(&self) -> Document {
        let member = |(id, node): (usize, &Mongod)| {
            doc! { "_id": i32::try_from(id).unwrap(), "host": node.member_host() }
        };
        doc! {
            "_id": REPLICA_SET,
            "members": self.nodes.iter().enumerate().map(member).collect::<Vec<_>>(),
            "settings": { "electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 300 },
        }
    }
}

async fn is_writable(node: &Mongod) -> bool {
    let client = connect(&format!("{}&serverSelectionTimeoutMS=500", node.uri())).await;
    let hello = client.database("admin").run_command(doc! { "hello": 1 }).await;
    hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))
}

/// A set of one with access control, and users with the rights that a test names.
#[derive(Debug)]
pub(crate) struct WithUsers {
    mongod: Mongod,
    key_file: PathBuf,
}

impl WithUsers {
    const ROOT: &str = "root";

    pub(crate) async fn start() -> Self {
        let key_file = write_key_file();
        let mongod = builder().native_only().arg("--auth").arg("--keyFile").arg(&key_file);
        let set = Self { mongod: start(mongod).await, key_file };
        // The localhost exception lets whoever comes first make the first user, and no more.
        let first = connect(&set.mongod.uri()).await;
        create_user(&first, Self::ROOT, vec![doc! { "role": "root", "db": "admin" }]).await;
        set
    }

    /// A user with these roles, as `createUser` takes them; gives its connection string.
    pub(crate) async fn user(&self, name: &str, roles: Vec<Document>) -> String {
        create_user(&connect(&self.uri(Self::ROOT)).await, name, roles).await;
        self.uri(name)
    }

    /// The connection string of one who may do everything.
    pub(crate) fn root_uri(&self) -> String {
        self.uri(Self::ROOT)
    }

    /// The connection string of one who presents no credentials.
    pub(crate) fn anonymous_uri(&self) -> String {
        self.mongod.uri()
    }

    fn uri(&self, user: &str) -> String {
        let port = self.mongod.port();
        format!("mongodb://{user}:{user}@127.0.0.1:{port}/?directConnection=true&authSource=admin")
    }
}

impl Drop for WithUsers {
    fn drop(&mut self) {
        std::fs::remove_file(&self.key_file).unwrap();
    }
}

async fn create_user(client: &Client, name: &str, roles: Vec<Document>) {
    let command = doc! { "createUser": name, "pwd": name, "roles": roles };
    client.database("admin").run_command(command).await.unwrap();
}

/// mongod wants a key file that no one else can read.
fn write_key_file() -> PathBuf {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let path = std::env::temp_dir().join(format!("tailwater-key-{:016x}", rand::random::<u64>()));
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.write(true).create_new(true).mode(0o600).open(&path).unwrap();
    writeln!(file, "{:032x}", rand::random::<u128>()).unwrap();
    path
}
