//! What the tests of entity feeds share: declarations, users of two tenants, and readers.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{Document, doc};
use serde_json::Value;

use crate::support::{
    TestApp, add_user, eventually,
    http::{self, Answer},
    mongod,
    sse::{Block, Sse},
    tailwater::Folder,
    websocket::Socket,
};

/// An entity without tenants, and one with.
pub(crate) const ORDER: &str = "
entities:
  - name: Order
    collection: DB.orders
    source: //shop.example/orders
    events: [{ name: order.changed }]
  - name: Case
    collection: DB.cases
    source: //shop.example/cases
    tenant: owner.tenant
    user: owner.user
    events: [{ name: case.changed }]
";

/// A service with declarations. Users: `ann` and `amy` of tenant `acme`, `bob` of `globex`, `nil` of
/// none, all with role `user`; `root` with role `admin`. The password is the name.
pub(crate) struct Shop {
    /// The MongoDB that it is in front of.
    uri: String,
    pub(crate) app: TestApp,
    pub(crate) folder: Folder,
}

/// Everything below the prefix, for role `user`.
pub(crate) fn everything() -> Vec<Document> {
    vec![permission("path-prefix('/api')", doc! {})]
}

/// What a permission of role `user` adds to a predicate.
pub(crate) fn permission(predicate: &str, sections: Document) -> Document {
    let mut permission = doc! { "roles": ["user"], "predicate": predicate, "priority": 1 };
    permission.extend(sections);
    permission
}

pub(crate) fn authorization(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{user}")))
}

impl Shop {
    pub(crate) async fn start(entities: &str) -> Self {
        Self::with(entities, everything(), "").await
    }

    pub(crate) async fn with(entities: &str, permissions: Vec<Document>, yaml: &str) -> Self {
        Self::at(&mongod::shared_uri().await, entities, permissions, yaml).await
    }

    /// `DB` in the declarations stands for the test's database.
    pub(crate) async fn at(
        uri: &str,
        entities: &str,
        permissions: Vec<Document>,
        yaml: &str,
    ) -> Self {
        let db = mongod::fresh_database_of(uri).await;
        let folder = Folder::new().with("shop.yaml", &entities.replace("DB", db.name()));
        for (name, role, tenant) in [
            ("ann", "user", Some("acme")),
            ("amy", "user", Some("acme")),
            ("bob", "user", Some("globex")),
            ("nil", "user", None),
            ("root", "admin", None),
        ] {
            add_user(&db, name, role, tenant).await;
        }
        let acl = db.collection::<Document>("acl");
        acl.insert_one(permission("path('/seen/x')", doc! {})).await.unwrap();
        if !permissions.is_empty() {
            acl.insert_many(permissions).await.unwrap();
        }
        let yaml = format!("entities: {}\n{yaml}", folder.path());
        let app = TestApp::guarded_at(uri, db, &yaml).await;
        // Permissions are watched: from when the service has seen them they hold.
        eventually("permissions are seen", async || {
            !matches!(app.as_user("ann", "GET", "/seen/x").await.status, 403 | 503)
        })
        .await;
        Self { uri: uri.to_owned(), app, folder }
    }

    /// Another service in front of the same database: it has nothing in memory.
    pub(crate) async fn replica(&self) -> TestApp {
        let yaml = format!("entities: {}", self.folder.path());
        let replica = TestApp::guarded_at(&self.uri, self.app.db.clone(), &yaml).await;
        eventually("permissions are seen", async || {
            !matches!(replica.as_user("ann", "GET", "/seen/x").await.status, 403 | 503)
        })
        .await;
        replica
    }

    /// Declares something else from now on.
    pub(crate) fn redeclare(&self, entities: &str) {
        let text = entities.replace("DB", self.app.db.name());
        std::fs::write(self.folder.0.join("shop.yaml"), text).unwrap();
    }

    pub(crate) async fn insert(&self, coll: &str, documents: impl IntoIterator<Item = Document>) {
        self.app.coll(coll).insert_many(documents).await.unwrap();
    }

    /// Cursors on a namespace of the database, of which there is at least one. Between two batches a
    /// cursor is not listed for a moment.
    pub(crate) async fn cursors(&self, coll: &str) -> usize {
        let count = std::cell::Cell::new(0);
        eventually("a cursor is listed", async || {
            count.set(self.app.cursors(coll).await);
            count.get() > 0
        })
        .await;
        count.get()
    }

    /// Cursors on the whole database, of which there is at least one.
    pub(crate) async fn wide_cursors(&self) -> usize {
        let count = std::cell::Cell::new(0);
        eventually("a cursor on the database is listed", async || {
            count.set(self.list_wide().await);
            count.get() > 0
        })
        .await;
        count.get()
    }

    /// While one is read, its namespace is another than between two batches; its command is not.
    async fn list_wide(&self) -> usize {
        let admin = self.app.db.client().database("admin");
        let all = doc! { "$currentOp": { "idleCursors": true, "allUsers": true } };
        let wide = doc! { "$match": { "cursor.originatingCommand.aggregate": 1 } };
        let mut listed = admin.aggregate([all, wide]).await.unwrap();
        let mut ids = std::collections::HashSet::new();
        while listed.advance().await.unwrap() {
            let op = listed.deserialize_current().unwrap();
            let cursor = op.get_document("cursor").unwrap();
            let command = cursor.get_document("originatingCommand").unwrap();
            if command.get_str("$db").is_ok_and(|db| db == self.app.db.name()) {
                ids.insert(cursor.get_i64("cursorId").unwrap());
            }
        }
        ids.len()
    }

    /// Opens a feed and reads its first frames.
    pub(crate) async fn feed(&self, user: &str, path: &str) -> Reader {
        Reader::open(self.app.address, user, path, &[]).await
    }

    /// Comes back with an id.
    pub(crate) async fn resume(&self, user: &str, path: &str, id: &str) -> Reader {
        Reader::open(self.app.address, user, path, &[("last-event-id", id)]).await
    }

    pub(crate) async fn socket(&self, user: &str, path: &str, protocol: Option<&str>) -> Socket {
        Socket::as_user(self.app.address, path, protocol, &authorization(user)).await.unwrap()
    }

    /// The answer to a request for a feed that is not opened.
    pub(crate) async fn refused(&self, user: &str, path: &str) -> Answer {
        let authorization = authorization(user);
        let headers = [("authorization", authorization.as_str()), ("accept", "text/event-stream")];
        http::request(self.app.address, "GET", path, &headers, "").await
    }

    /// The status that opening gives; the feed is closed again.
    pub(crate) async fn status(&self, user: &str, path: &str) -> u16 {
        let authorization = authorization(user);
        let headers = [("authorization", authorization.as_str()), ("accept", "text/event-stream")];
        http::begin(self.app.address, "GET", path, &headers, "").await.status().as_u16()
    }
}

/// An open feed.
pub(crate) struct Reader {
    pub(crate) sse: Sse,
    /// What the first frame says.
    pub(crate) connected: String,
    /// The block after it.
    pub(crate) start: Block,
}

impl Reader {
    pub(crate) async fn open(
        address: SocketAddr,
        user: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Self {
        let authorization = authorization(user);
        let mut all = vec![("authorization", authorization.as_str())];
        all.extend(headers);
        let mut sse = Sse::begin(address, path, &all).await;
        let first = sse.block().await;
        let [connected] = first.comments.as_slice() else { panic!("{first:?}") };
        assert_eq!(first, Block { comments: first.comments.clone(), ..Block::default() });
        let (connected, start) = (connected.clone(), sse.block().await);
        assert!(start.retry.is_some() && start.event.is_none(), "{start:?}");
        Self { sse, connected, start }
    }

    /// The next event, which has to be one of an entity.
    pub(crate) async fn event(&mut self) -> Block {
        let block = self.sse.event().await;
        assert!(block.event.as_deref().unwrap().starts_with("entity."), "{block:?}");
        block
    }

    /// The envelope of the next event.
    pub(crate) async fn envelope(&mut self) -> Value {
        self.event().await.json()
    }

    /// The subjects of the next events.
    pub(crate) async fn subjects(&mut self, count: usize) -> Vec<String> {
        let mut subjects = Vec::new();
        for _ in 0..count {
            subjects.push(self.envelope().await["subject"].as_str().unwrap().to_owned());
        }
        subjects
    }
}
