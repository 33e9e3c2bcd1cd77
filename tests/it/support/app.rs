//! A Tailwater of the test's own, on a free port, in front of a database of the test's own.

use std::{collections::HashSet, net::SocketAddr, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{
    Document, RawDocumentBuf, doc,
    raw::{RawArrayBuf, cstr},
    rawdoc,
};
use mongodb::{Client, Collection, Database};
use serde_json::Value;
use tailwater::{access::hash_password, app, config::Config};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use super::{
    http::{self, Answer},
    mongod,
    sse::Sse,
    websocket::Socket,
};

/// A running service. Dropping it leaves it to the runtime's end; [`TestApp::stop`] drains it.
pub(crate) struct TestApp {
    pub(crate) address: SocketAddr,
    pub(crate) db: Database,
    shutdown: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<anyhow::Result<()>>>,
}

impl TestApp {
    /// In front of the shared MongoDB, with quick heartbeats.
    pub(crate) async fn start() -> Self {
        Self::configured("").await
    }

    /// The same, with settings of the test's own under `streams:`, one a line.
    pub(crate) async fn with_streams(settings: &str) -> Self {
        let lines: String = settings.lines().map(|line| format!("  {}\n", line.trim())).collect();
        Self::configured(&format!("streams:\n{lines}")).await
    }

    /// The same, with lines of a configuration file.
    pub(crate) async fn configured(yaml: &str) -> Self {
        let db = mongod::fresh_database().await;
        Self::at(&mongod::shared_uri().await, db, yaml).await
    }

    /// With users and permissions of the test's own: in its database, `users` and `acl`.
    pub(crate) async fn guarded(yaml: &str) -> Self {
        Self::guarded_in(mongod::fresh_database().await, yaml).await
    }

    /// The same, in a database that is known before.
    pub(crate) async fn guarded_in(db: Database, yaml: &str) -> Self {
        Self::guarded_at(&mongod::shared_uri().await, db, yaml).await
    }

    /// The same, in front of any MongoDB.
    pub(crate) async fn guarded_at(uri: &str, db: Database, yaml: &str) -> Self {
        let name = db.name().to_owned();
        let auth = format!(
            "auth: {{ basic: {{ database: {name}, collection: users }} }}\n\
             acl: {{ database: {name}, collection: acl }}\n{yaml}"
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::run(listener, uri, db, &auth).await
    }

    /// With a configuration of the test's own, in which `{db}` stands for its database; ready to decide.
    pub(crate) async fn closed(db: Database, yaml: &str) -> Self {
        let yaml = yaml.replace("{db}", db.name());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let app = Self::run(listener, &mongod::shared_uri().await, db, &yaml).await;
        super::eventually("the service is ready", async || {
            app.get("/_/health/ready").await.status == 200
        })
        .await;
        app
    }

    /// With a configuration of the test's own, in front of a MongoDB that does not answer.
    pub(crate) async fn away(uri: &str, db: Database, yaml: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::run(listener, uri, db, yaml).await
    }

    /// In front of any MongoDB, also one that does not answer.
    pub(crate) async fn at(uri: &str, db: Database, yaml: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, uri, db, yaml).await
    }

    pub(crate) async fn on(listener: TcpListener, uri: &str, db: Database, yaml: &str) -> Self {
        let open = format!("auth: {{ insecure_no_auth: true }}\n{yaml}");
        Self::run(listener, uri, db, &open).await
    }

    async fn run(listener: TcpListener, uri: &str, db: Database, yaml: &str) -> Self {
        let address = listener.local_addr().unwrap();
        let config = config(uri, yaml);
        let (shutdown, told) = oneshot::channel();
        let told = async { drop(told.await) };
        let running = tokio::spawn(app::run(config, listener, told));
        Self { address, db, shutdown: Some(shutdown), running: Some(running) }
    }

    /// A service that runs elsewhere, in front of the MongoDB that holds `db`.
    pub(crate) fn of(address: SocketAddr, db: Database) -> Self {
        Self { address, db, shutdown: None, running: None }
    }

    /// Tells the service to drain and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        self.begin_drain();
        if let Some(running) = self.running.take() {
            running.await.unwrap().unwrap();
        }
    }

    /// Tells the service to drain.
    pub(crate) fn begin_drain(&mut self) {
        if let Some(shutdown) = self.shutdown.take() {
            // The service may have failed already; then `stop` tells how.
            let _ = shutdown.send(());
        }
    }

    /// Declares streams on a collection, as RESTHeart stores them.
    pub(crate) async fn declare(&self, coll: &str, streams: Vec<Document>) {
        let id = format!("_properties.{coll}");
        let properties = doc! { "_id": &id, "streams": streams };
        let stored = self.db.collection::<Document>("_properties");
        stored.replace_one(doc! { "_id": &id }, properties).upsert(true).await.unwrap();
    }

    pub(crate) fn coll(&self, name: &str) -> Collection<Document> {
        let majority = mongodb::options::WriteConcern::majority();
        let options =
            mongodb::options::CollectionOptions::builder().write_concern(majority).build();
        self.db.collection_with_options(name, options)
    }

    /// Inserts a document whose `bad` holds a byte that is no UTF-8, as a client without checks writes it.
    pub(crate) async fn insert_malformed(&self, coll: &str, id: i32) {
        let mut bytes = bson::serialize_to_vec(&doc! { "_id": id, "bad": "a?b" }).unwrap();
        let at = bytes.windows(3).position(|window| window == b"a?b").unwrap();
        bytes[at + 1] = 0xFF;
        let mut documents = RawArrayBuf::new();
        documents.push(RawDocumentBuf::from_bytes(bytes).unwrap());
        let mut command = rawdoc! { "insert": coll };
        command.append(cstr!("documents"), documents);
        self.db.run_raw_command(command).await.unwrap();
    }

    /// Gives a collection another name, in place of whatever had it.
    pub(crate) async fn rename(&self, from: &str, to: &str) {
        let name = |coll: &str| format!("{}.{coll}", self.db.name());
        let rename = doc! { "renameCollection": name(from), "to": name(to), "dropTarget": true };
        self.db.client().database("admin").run_command(rename).await.unwrap();
    }

    /// The path of a stream: `coll/uri?query`.
    pub(crate) fn path(&self, stream: &str) -> String {
        let (coll, uri) = stream.split_once('/').unwrap();
        format!("/{}/{coll}/_streams/{uri}", self.db.name())
    }

    /// Opens `coll/uri?query` and waits for `ready`.
    pub(crate) async fn sse(&self, stream: &str) -> Sse {
        Sse::open(self.address, &self.path(stream), &[]).await
    }

    /// Comes back with an id.
    pub(crate) async fn resume(&self, stream: &str, id: &str) -> Sse {
        Sse::open(self.address, &self.path(stream), &[("last-event-id", id)]).await
    }

    /// Opens `coll/uri?query` as a WebSocket without subprotocol.
    pub(crate) async fn socket(&self, stream: &str) -> Socket {
        Socket::open(self.address, &self.path(stream), None).await
    }

    /// Opens `coll/uri?query` as a WebSocket of the subprotocol and reads its first message.
    pub(crate) async fn enveloped(&self, stream: &str) -> (Socket, Value) {
        let path = self.path(stream);
        let mut socket = Socket::open(self.address, &path, Some("tailwater.v1")).await;
        assert_eq!(socket.protocol.as_deref(), Some("tailwater.v1"));
        let ready = socket.json().await;
        assert_eq!(ready["event"], "ready");
        (socket, ready)
    }

    /// Another service in front of the same database, as a second replica is.
    pub(crate) async fn replica(&self, yaml: &str) -> Self {
        Self::at(&mongod::shared_uri().await, self.db.clone(), yaml).await
    }

    /// The path of a collection.
    pub(crate) fn coll_path(&self, coll: &str) -> String {
        format!("/{}/{coll}", self.db.name())
    }

    /// The stored metadata of a collection.
    pub(crate) async fn stored(&self, coll: &str) -> Option<Document> {
        let id = format!("_properties.{coll}");
        let stored = self.db.collection::<Document>("_properties");
        stored.find_one(doc! { "_id": id }).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        http::request(self.address, "GET", path, &[], "").await
    }

    /// Asks for a stream as a browser's `EventSource` would and gives the answer's head and body.
    pub(crate) async fn refused(&self, stream: &str) -> Answer {
        let accept = [("accept", "text/event-stream")];
        http::request(self.address, "GET", &self.path(stream), &accept, "").await
    }

    pub(crate) async fn with(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::request(self.address, method, path, headers, "").await
    }

    /// A request with the credentials of a user whose password is the name.
    pub(crate) async fn as_user(&self, user: &str, method: &str, path: &str) -> Answer {
        self.as_user_with(user, method, path, "").await
    }

    pub(crate) async fn as_user_with(
        &self,
        user: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Answer {
        let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:{user}")));
        let headers =
            [("authorization", authorization.as_str()), ("content-type", "application/json")];
        http::request(self.address, method, path, &headers, body).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let json = [("content-type", "application/json")];
        http::request(self.address, method, path, &json, body).await
    }

    /// The status that opening a stream gives; the stream is closed again.
    pub(crate) async fn open_status(&self, stream: &str) -> u16 {
        let accept = [("accept", "text/event-stream")];
        http::begin(self.address, "GET", &self.path(stream), &accept, "").await.status().as_u16()
    }

    /// Cursors of change streams on a namespace of this test's database.
    pub(crate) async fn cursors(&self, coll: &str) -> usize {
        self.cursor_ids(coll).await.len()
    }

    /// Waits until there are so many. MongoDB lists them one by one: one that begins or ends to wait meanwhile
    /// may be missed, so that a single look can show too few.
    pub(crate) async fn has_cursors(&self, coll: &str, count: usize) {
        let seen = std::cell::Cell::new(0);
        super::eventually(&format!("{coll} has {count} cursors"), async || {
            seen.set(self.cursors(coll).await);
            assert!(seen.get() <= count, "{} cursors instead of {count}", seen.get());
            seen.get() == count
        })
        .await;
    }

    /// The same, by their ids.
    pub(crate) async fn cursor_ids(&self, coll: &str) -> HashSet<i64> {
        let client: &Client = self.db.client();
        let pipeline = [
            doc! { "$currentOp": { "idleCursors": true, "allUsers": true } },
            doc! { "$match": {
                "ns": format!("{}.{coll}", self.db.name()),
                "cursor.originatingCommand.pipeline.0.$changeStream": { "$exists": true },
            } },
        ];
        let mut found = client.database("admin").aggregate(pipeline).await.unwrap();
        let mut ids = HashSet::new();
        while found.advance().await.unwrap() {
            let cursor = found.current().get_document("cursor").unwrap();
            ids.insert(cursor.get_i64("cursorId").unwrap());
        }
        ids
    }
}

fn config(uri: &str, yaml: &str) -> Config {
    let text = format!("mongodb: {{ uri: \"{uri}\" }}\n{yaml}");
    Config::from_yaml(Path::new("test.yaml"), &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Adds a user whose password is the name.
pub(crate) async fn add_user(db: &Database, name: &str, role: &str, tenant: Option<&str>) {
    let password = hash_password(name, 4).unwrap();
    let mut user = doc! { "_id": name, "password": password, "roles": [role] };
    user.extend(tenant.map(|tenant| ("tenant".to_owned(), tenant.into())));
    db.collection::<Document>("users").insert_one(user).await.unwrap();
}

/// A stream without stages.
pub(crate) fn all() -> Document {
    doc! { "uri": "all", "stages": [] }
}
