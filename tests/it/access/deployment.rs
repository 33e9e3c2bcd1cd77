//! A deployment with users, permissions and every way in, and questions that are asked of it in every way.

use bson::{Document, doc};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use mongodb::Database;
use tailwater::access::hash_password;

use super::tokens::SECRET;
use crate::support::{
    TestApp, all, client::key, http, mongod::fresh_database, sse::Sse, websocket::Socket,
};

/// What a deployment starts with.
pub(crate) struct Deployment {
    pub(crate) db: Database,
    auth: String,
    rest: String,
}

impl Deployment {
    /// Users `ann` and `bob` with role `user` and `root` with role `admin`, whose passwords are their names;
    /// tokens, API keys and cookies; no permissions yet.
    pub(crate) async fn new() -> Self {
        let db = fresh_database().await;
        let new = Self { db, auth: String::new(), rest: String::new() };
        for (name, role) in [("ann", "user"), ("bob", "user"), ("root", "admin")] {
            new.user(doc! { "_id": name, "roles": [role], "password": hashed(name) }).await;
        }
        new.auth("basic: { database: \"{db}\", collection: users }")
            .auth(&format!("jwt: {{ key: {SECRET}, issuer: app.example, audience: [app, x] }}"))
            .auth("api_keys: { prefix: tw_, database: \"{db}\", collection: keys }")
    }

    /// A line under `auth:`; of two about the same the later one counts.
    pub(crate) fn auth(mut self, line: &str) -> Self {
        let key = line.split(':').next().unwrap();
        self.auth = self
            .auth
            .lines()
            .filter(|known| known.trim().split(':').next() != Some(key))
            .map(|known| format!("{known}\n"))
            .collect();
        self.auth.push_str(&format!("  {line}\n"));
        self
    }

    /// Lines of the configuration file.
    pub(crate) fn with(mut self, yaml: &str) -> Self {
        self.rest.push_str(&format!("{yaml}\n"));
        self
    }

    pub(crate) async fn user(&self, user: Document) {
        self.db.collection::<Document>("users").insert_one(user).await.unwrap();
    }

    pub(crate) async fn permissions(self, permissions: impl IntoIterator<Item = Document>) -> Self {
        let permissions: Vec<_> = permissions.into_iter().collect();
        if !permissions.is_empty() {
            self.db.collection::<Document>("acl").insert_many(permissions).await.unwrap();
        }
        self
    }

    /// Starts it, with the stream `all` on collection `c`.
    pub(crate) async fn start(self) -> TestApp {
        let acl = match self.rest.contains("acl:") {
            true => "",
            false => "acl: { database: \"{db}\", collection: acl }\n",
        };
        let yaml = format!("auth:\n{}{acl}{}", self.auth, self.rest);
        let app = TestApp::closed(self.db, &yaml).await;
        app.declare("c", vec![all()]).await;
        app.db.create_collection("c").await.unwrap();
        app
    }
}

/// A bcrypt hash, as cheap as they come.
pub(crate) fn hashed(password: &str) -> String {
    hash_password(password, 4).unwrap()
}

/// A permission of role `user` for everything, with its `mongo` section.
pub(crate) fn everywhere(mongo: Document) -> Document {
    permission("user", "path-prefix('/')", mongo)
}

pub(crate) fn permission(role: &str, predicate: &str, mongo: Document) -> Document {
    doc! { "roles": [role], "predicate": predicate, "mongo": mongo }
}

/// How something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Sse,
    WebSocket,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Sse, Self::WebSocket];
    pub(crate) const STREAMS: [Self; 2] = [Self::Sse, Self::WebSocket];
}

/// The head of an answer, and its body unless it is a stream.
#[derive(Debug)]
pub(crate) struct Reply {
    /// `101` counts as `200`: it is how a socket says so.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Asks for a path in one way.
pub(crate) async fn ask(app: &TestApp, way: Way, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut all: Vec<(&str, &str)> = match way {
        Way::Read => Vec::new(),
        Way::Sse => vec![("accept", "text/event-stream")],
        Way::WebSocket => vec![
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ],
    };
    all.extend(headers);
    let (head, body) = http::begin(app.address, "GET", path, &all, "").await.into_parts();
    let is_stream = head.status == 101
        || head.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let body = match is_stream {
        true => String::new(),
        false => String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap(),
    };
    let status = if head.status == 101 { 200 } else { head.status.as_u16() };
    Reply { status, headers: head.headers, body }
}

/// Asks for collection `c` and its stream `all` in every way; all have to answer alike.
pub(crate) async fn status(app: &TestApp, query: &str, headers: &[(&str, &str)]) -> u16 {
    let mut found = Vec::new();
    for way in Way::ALL {
        let path = match way {
            Way::Read => format!("{}{query}", app.coll_path("c")),
            _ => app.path(&format!("c/all{query}")),
        };
        found.push(ask(app, way, &path, headers).await.status);
    }
    assert!(found.iter().all(|status| *status == found[0]), "{query} {headers:?}: {found:?}");
    found[0]
}

/// A stream as somebody with an `Authorization` header opens it.
pub(crate) async fn sse_as(app: &TestApp, authorization: &str, stream: &str) -> Sse {
    Sse::open(app.address, &app.path(stream), &[("authorization", authorization)]).await
}

/// The same as a WebSocket without subprotocol.
pub(crate) async fn socket_as(app: &TestApp, authorization: &str, stream: &str) -> Socket {
    Socket::with(app.address, &app.path(stream), &[("authorization", authorization)]).await
}

/// Documents of several owners; the last one ends what is asked.
fn documents() -> Vec<Document> {
    vec![
        doc! { "_id": 1, "owner": "ann", "team": "red", "g": "a" },
        doc! { "_id": 2, "owner": "bob", "team": "blue", "g": "b" },
        doc! { "_id": 3, "team": "red", "g": "c", "a": { "b": [{ "c": 3 }] } },
        doc! { "_id": 4, "public": true, "g": "d" },
        doc! { "_id": 9, "end": true },
    ]
}

/// A filter that lets the last document through as well.
pub(crate) fn or_end(filter: Document) -> Document {
    doc! { "$or": [filter, { "end": true }] }
}

/// Which documents somebody sees: over a read and on both transports, which have to agree. The permission has
/// to let the last document through.
pub(crate) async fn sees(app: &TestApp, headers: &[(&str, &str)], query: &str) -> Vec<i64> {
    let coll = format!("s{:08x}", rand::random::<u32>());
    app.declare(&coll, vec![all()]).await;
    let path = app.path(&format!("{coll}/all{query}"));
    let mut sse = Sse::open(app.address, &path, headers).await;
    let mut socket = Socket::with(app.address, &path, headers).await;
    app.coll(&coll).insert_many(documents()).await.unwrap();
    let (mut events, mut messages) = (Vec::new(), Vec::new());
    while events.last() != Some(&9) {
        events.push(key(&sse.change().await));
    }
    while messages.last() != Some(&9) {
        messages.push(key(&socket.json().await));
    }
    let separator = if query.is_empty() { '?' } else { '&' };
    let path = format!("{}{query}{separator}sort=_id", app.coll_path(&coll));
    let read = app.with("GET", &path, headers).await;
    assert_eq!(read.status, 200, "{}", read.body);
    let read: Vec<_> =
        read.json().as_array().unwrap().iter().map(|it| it["_id"].as_i64().unwrap()).collect();
    assert_eq!((&events, &messages), (&read, &read), "streams show what reads show");
    read.into_iter().filter(|id| *id != 9).collect()
}
