//! MongoDB goes away for some seconds and comes back.

use std::time::Duration;

use bson::doc;
use tailwater::mongod::Signal;
use tokio::time::Instant;

use crate::support::{
    TestApp, all,
    client::keys,
    eventually,
    mongod::{Lasting, connect, private},
    setting,
    sse::Sse,
};

async fn state(sse: &mut Sse) -> String {
    sse.until("status").await.json()["state"].as_str().unwrap().to_owned()
}

/// The connections stay, `degraded` is said within 15 s, `recovered` afterwards, and nothing is lost:
/// `TAILWATER_OUTAGE_SECONDS` says how much longer than it takes to be told the outage lasts.
#[tokio::test]
async fn an_outage_is_told_and_nothing_is_lost() {
    let lasting = Lasting::new();
    let mongod = lasting.start().await;
    let db = connect(&mongod.uri()).await.database("d");
    let app = TestApp::at(&mongod.uri(), db, "streams: { heartbeat: 1s }").await;
    app.declare("c", vec![all(), doc! { "uri": "k", "stages": [], "notify_when": { "fullDocument::k": { "$var": "k" } } }]).await;
    let mut clients = [app.sse("c/all").await, app.sse("c/k?k=1").await];
    app.coll("c").insert_one(doc! { "_id": 1, "k": "1" }).await.unwrap();
    for client in &mut clients {
        assert_eq!(keys(client, 1).await, [1]);
    }
    let stopped = Instant::now();
    mongod.stop().await.unwrap();
    for client in &mut clients {
        assert_eq!(state(client).await, "degraded");
    }
    assert!(stopped.elapsed().as_secs() < 15, "{:?}", stopped.elapsed());
    let refused = app.refused("c/all?jsonMode=SHELL").await;
    assert_eq!((refused.status, refused.header("retry-after").is_some()), (503, true));
    assert_eq!(app.get("/_/health/ready").await.status, 503);
    assert_eq!(app.get("/_/health/live").await.status, 200);
    tokio::time::sleep(Duration::from_secs(setting("TAILWATER_OUTAGE_SECONDS", 0))).await;
    let mongod = lasting.start().await;
    let document = doc! { "_id": 2, "k": "1" };
    app.coll("c").insert_one(document).await.unwrap();
    for client in &mut clients {
        while state(client).await != "recovered" {}
        assert_eq!(keys(client, 1).await, [2]);
    }
    eventually("it is ready", async || app.get("/_/health/ready").await.status == 200).await;
    mongod.stop().await.unwrap();
}

/// A MongoDB that hangs with its connections open is told within 15 s as well.
#[tokio::test]
async fn a_mongod_that_hangs_is_told_and_nothing_is_lost() {
    let mut mongod = private().await;
    let db = connect(&mongod.uri()).await.database("d");
    let app = TestApp::at(&mongod.uri(), db, "streams: { heartbeat: 1s }").await;
    app.declare("c", vec![all()]).await;
    let mut client = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut client, 1).await, [1]);
    let paused = Instant::now();
    mongod.signal(Signal::Pause).unwrap();
    assert_eq!(state(&mut client).await, "degraded");
    assert!(paused.elapsed().as_secs() < 15, "{:?}", paused.elapsed());
    mongod.signal(Signal::Resume).unwrap();
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    while state(&mut client).await != "recovered" {}
    assert_eq!(keys(&mut client, 1).await, [2]);
    mongod.stop().await.unwrap();
}

/// Without MongoDB the service starts, streams are `503`, and they open once MongoDB appears.
#[tokio::test]
async fn a_service_that_starts_first_recovers_when_mongodb_appears() {
    let lasting = Lasting::new();
    let impatient = format!("{}&serverSelectionTimeoutMS=500", lasting.uri());
    let app = TestApp::at(&impatient, connect(&lasting.uri()).await.database("d"), "").await;
    let refused = app.refused("c/all").await;
    assert_eq!((refused.status, refused.header("retry-after").is_some()), (503, true));
    assert_eq!(app.get("/_/health/live").await.status, 200);
    assert_eq!(app.get("/_/health/ready").await.status, 503);
    let mongod = lasting.start().await;
    app.declare("c", vec![all()]).await;
    eventually("streams open", async || app.open_status("c/all").await == 200).await;
    let mut client = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut client, 1).await, [1]);
    mongod.stop().await.unwrap();
}
