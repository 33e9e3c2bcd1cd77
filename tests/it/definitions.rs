//! What happens to open streams when a definition changes: by anyone, on any node, in any way.

use std::collections::BTreeMap;

use bson::{Document, doc};

use crate::support::{TestApp, all, eventually, sse::Sse, websocket::Socket};

fn inserts(uri: &str, description: &str) -> Document {
    let stages = vec![doc! { "$match": { "operationType": "insert" } }];
    doc! { "uri": uri, "stages": stages, "description": description }
}

fn every(uri: &str) -> Document {
    doc! { "uri": uri, "stages": [] }
}

/// Sessions of three streams on both transports: one will change, one will go, one will stay.
struct Sessions {
    sse: BTreeMap<&'static str, Sse>,
    sockets: BTreeMap<&'static str, Socket>,
    enveloped: Socket,
}

const BEFORE: &str = r#"{ "streams": [
    { "uri": "changed", "stages": [] }, { "uri": "removed", "stages": [] }, { "uri": "same", "stages": [] } ] }"#;

const AFTER: &str = r#"{ "streams": [
    { "uri": "same", "description": "moved, and described", "stages": [] },
    { "uri": "changed", "stages": [ { "$match": { "operationType": "insert" } } ] } ] }"#;

impl Sessions {
    async fn open(app: &TestApp) -> Self {
        let (mut sse, mut sockets) = (BTreeMap::new(), BTreeMap::new());
        for uri in ["changed", "removed", "same"] {
            sse.insert(uri, app.sse(&format!("c/{uri}")).await);
            sockets.insert(uri, app.socket(&format!("c/{uri}")).await);
        }
        let (enveloped, _) = app.enveloped("c/changed").await;
        Self { sse, sockets, enveloped }
    }

    /// The changed stream's sessions end with 4409, the removed one's with 4404, the other goes on.
    async fn check(mut self, app: &TestApp) {
        let ends =
            [("changed", 4409, "stream redefined", true), ("removed", 4404, "stream gone", false)];
        for (uri, code, reason, reconnect) in ends {
            let rest = self.sse.remove(uri).unwrap().rest().await;
            let close =
                serde_json::json!({ "code": code, "reason": reason, "reconnect": reconnect });
            assert_eq!(rest.last().unwrap().json(), close);
            let mut socket = self.sockets.remove(uri).unwrap();
            assert_eq!(socket.closed().await, (code, reason.to_owned()));
        }
        let message = self.enveloped.json().await;
        assert_eq!((&message["event"], &message["data"]["code"]), (&"close".into(), &4409.into()));
        assert_eq!(self.enveloped.closed().await.0, 4409);
        app.coll("c").insert_one(doc! { "_id": "marker" }).await.unwrap();
        let mut same = self.sse.remove("same").unwrap();
        assert_eq!(same.change().await["documentKey"]["_id"], "marker");
        let mut same = self.sockets.remove("same").unwrap();
        assert_eq!(same.json().await["documentKey"]["_id"], "marker");
    }
}

async fn declared() -> TestApp {
    let app = TestApp::start().await;
    assert_eq!(app.send("PUT", &app.coll_path("c"), BEFORE).await.status, 201);
    app
}

/// A PUT on another replica closes the sessions that it concerns, and no others.
#[tokio::test]
async fn a_put_on_another_replica_is_noticed() {
    let app = declared().await;
    let sessions = Sessions::open(&app).await;
    let other = app.replica("").await;
    assert_eq!(other.send("PUT", &app.coll_path("c"), AFTER).await.status, 200);
    sessions.check(&app).await;
    assert_eq!(app.refused("c/removed").await.status, 404);
    app.sse("c/changed").await;
}

/// So does a PATCH, which RESTHeart would not notice.
#[tokio::test]
async fn a_patch_on_another_replica_is_noticed() {
    let app = declared().await;
    let sessions = Sessions::open(&app).await;
    let other = app.replica("").await;
    assert_eq!(other.send("PATCH", &app.coll_path("c"), AFTER).await.status, 200);
    sessions.check(&app).await;
}

/// So does a write straight into MongoDB.
#[tokio::test]
async fn a_write_into_mongodb_is_noticed() {
    let app = declared().await;
    let sessions = Sessions::open(&app).await;
    app.declare("c", vec![inserts("changed", ""), every("same")]).await;
    sessions.check(&app).await;
}

/// A dotted PATCH that touches one stage of one stream closes that stream's sessions only.
#[tokio::test]
async fn a_patch_of_one_stage_is_noticed() {
    let app = declared().await;
    let mut changed = app.socket("c/changed").await;
    let mut same = app.socket("c/same").await;
    let patch = r#"{ "streams.0.stages": [ { "$match": { "operationType": "delete" } } ] }"#;
    assert_eq!(app.send("PATCH", &app.coll_path("c"), patch).await.status, 200);
    assert_eq!(changed.closed().await.0, 4409);
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(same.json().await["documentKey"]["_id"], 1);
}

/// A new definition is in force for whoever connects once the write was answered, on every replica.
#[tokio::test]
async fn a_new_connection_has_the_new_definition() {
    let app = declared().await;
    let other = app.replica("").await;
    let held = app.sse("c/changed").await;
    for n in 0..10 {
        let stages = format!(r#"[ {{ "$set": {{ "version": {n} }} }} ]"#);
        let body = format!(r#"{{ "streams": [ {{ "uri": "changed", "stages": {stages} }} ] }}"#);
        assert_eq!(other.send("PUT", &app.coll_path("c"), &body).await.status, 200);
        let mut fresh = app.sse("c/changed").await;
        app.coll("c").insert_one(doc! {}).await.unwrap();
        assert_eq!(fresh.change().await["version"], n);
    }
    held.rest().await;
}

/// A definition that goes with its document, or with the whole of the metadata, ends its sessions: nothing
/// stays open that nobody declares, and no cursor stays behind.
#[tokio::test]
async fn removed_metadata_ends_the_sessions() {
    for how in ["document", "collection", "rename"] {
        let app = TestApp::with_streams("linger: 0s").await;
        app.declare("c", vec![all()]).await;
        app.coll("c").insert_one(doc! {}).await.unwrap();
        let sse = app.sse("c/all").await;
        let mut socket = app.socket("c/all").await;
        let properties = app.db.collection::<Document>("_properties");
        match how {
            "document" => {
                properties.delete_one(doc! { "_id": "_properties.c" }).await.unwrap();
            }
            "collection" => properties.drop().await.unwrap(),
            _ => app.rename("_properties", "elsewhere").await,
        }
        assert_eq!(socket.closed().await, (4404, "stream gone".to_owned()), "{how}");
        assert_eq!(sse.rest().await.last().unwrap().json()["code"], 4404, "{how}");
        assert_eq!(app.refused("c/all").await.status, 404, "{how}");
        eventually("the cursor is gone", async || app.cursors("c").await == 0).await;

        // Declared anew, it works anew.
        app.declare("c", vec![all()]).await;
        let mut again = app.sse("c/all").await;
        app.coll("c").insert_one(doc! { "_id": 5 }).await.unwrap();
        assert_eq!(again.change().await["documentKey"]["_id"], 5);
        app.declare("c", vec![]).await;
        assert_eq!(again.rest().await.last().unwrap().json()["code"], 4404, "{how}");
    }
}

/// A dropped database ends the sessions, and one of the same name works again.
#[tokio::test]
async fn a_dropped_database_ends_the_sessions() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    app.coll("c").insert_one(doc! {}).await.unwrap();
    let sse = app.sse("c/all").await;
    let mut socket = app.socket("c/all").await;
    app.db.drop().await.unwrap();
    assert_eq!(socket.closed().await.0, 4404);
    assert_eq!(sse.rest().await.last().unwrap().json()["code"], 4404);
    assert_eq!(app.refused("c/all").await.status, 404);
    app.declare("c", vec![all()]).await;
    let mut again = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(again.change().await["documentKey"]["_id"], 1);
}

/// A dropped or renamed collection ends its sessions, whatever their stages let through; after it was made
/// anew with the same metadata a client that comes back gets events.
#[tokio::test]
async fn a_dropped_collection_ends_the_sessions() {
    for how in ["drop", "rename"] {
        let app = TestApp::start().await;
        app.declare("c", vec![all(), inserts("inserts", "")]).await;
        app.coll("c").insert_one(doc! { "_id": 0 }).await.unwrap();
        let mut sse = app.sse("c/all").await;
        let filtered = app.sse("c/inserts").await;
        let mut socket = app.socket("c/inserts").await;
        app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
        sse.change().await;
        let id = sse.last_id.clone();
        if how == "drop" {
            app.coll("c").drop().await.unwrap();
        } else {
            app.rename("c", "d").await;
        }
        for client in [sse, filtered] {
            assert_eq!(client.rest().await.last().unwrap().json()["code"], 4404, "{how}");
        }
        assert_eq!(socket.closed().await.0, 4404, "{how}");

        app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
        let mut fresh = app.sse("c/inserts").await;
        app.coll("c").insert_one(doc! { "_id": 3 }).await.unwrap();
        assert_eq!(fresh.change().await["documentKey"]["_id"], 3, "{how}");
        // One that comes back with an id from before hears of what came since, or is told that it cannot.
        let mut back = app.resume("c/all", &id).await;
        app.coll("c").insert_one(doc! { "_id": 4 }).await.unwrap();
        loop {
            let event = back.event().await;
            if event.is("change") && event.json()["documentKey"]["_id"] == 4 {
                break;
            }
        }
    }
}
