//! Positions that MongoDB no longer knows: said once to everyone, and never tried again.

use bson::doc;

use super::Faulty;
use crate::support::{
    TestApp, all,
    client::{keys, time_of},
    eventually,
    fail_point::FailPoints,
    mongod::{connect, roll_oplog, tiny_oplog},
    websocket::Socket,
};

/// Codes that say so: history lost, fatal, invalid token.
#[tokio::test]
async fn a_dead_position_is_reset_exactly_once() {
    let set = Faulty::start(vec![]).await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(set.app.sse("c/all").await);
    }
    let path = set.app.path("c/all");
    for (n, code) in [286, 280, 260].into_iter().enumerate() {
        let n = n as i64;
        let mut plain = Socket::open(set.app.address, &path, None).await;
        let mut enveloped = Socket::open(set.app.address, &path, Some("tailwater.v1")).await;
        let before = set.faults.count("aggregate").await;
        set.faults.hit(1, &["getMore"], "d.c", doc! { "errorCode": code }).await;
        let mut at = String::new();
        for client in &mut clients {
            let reset = client.event().await;
            assert!(reset.is("reset"), "{code}: {reset:?}");
            assert_eq!(reset.json()["reason"], "history_lost");
            assert_eq!(reset.json()["recover"]["link"], "/d/c");
            at = reset.id.unwrap();
        }
        set.insert(n).await;
        for client in &mut clients {
            assert_eq!(keys(client, 1).await, [n], "{code}");
        }
        assert_eq!(plain.closed().await, (4410, "history lost".to_owned()));
        let mut said = Vec::new();
        while said.last().is_none_or(|event| event != "change") {
            said.push(enveloped.json().await["event"].as_str().unwrap().to_owned());
        }
        said.retain(|event| event != "heartbeat");
        assert_eq!(said, ["ready", "reset", "change"], "{code}");
        // The id of the reset is a place to come back to.
        assert_eq!(keys(&mut set.app.resume("c/all", &at).await, 1).await, [n]);
        let opened = set.faults.count("aggregate").await - before;
        assert_eq!(opened, 1, "{code}: one opening, at now");
    }
    set.stop().await;
}

/// An id older than the oplog gives `200` and `reset`, on a MongoDB that really forgot; a client that was
/// connected throughout, on a stream that rejects everything, comes back without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_older_than_the_oplog() {
    let mongod = tiny_oplog().await;
    let db = connect(&mongod.uri()).await.database("d");
    let app = TestApp::at(&mongod.uri(), db, "streams: { heartbeat: 100ms, linger: 0s }").await;
    let never = doc! { "uri": "never", "stages": [{ "$match": { "fullDocument::x": "never" } }] };
    app.declare("c", vec![all(), never]).await;
    let old = app.sse("c/all").await.last_id;
    let mut quiet = app.sse("c/never").await;
    roll_oplog(&app.db).await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    // Heartbeats come on until one stands for this write: `ready` stands for what follows it.
    let written = time_of(&app.sse("c/all").await.last_id) - 1;
    while time_of(&quiet.last_id) < written {
        quiet.block().await;
    }
    let mut late = app.resume("c/all", &old).await;
    let reset = late.event().await;
    assert!(reset.is("reset"), "{reset:?}");
    assert_eq!(reset.json()["reason"], "history_lost");
    app.coll("c").insert_one(doc! { "_id": 2, "x": "never" }).await.unwrap();
    assert_eq!(keys(&mut late, 1).await, [2]);
    let id = quiet.last_id.clone();
    drop(quiet);
    let mut back = app.resume("c/never", &id).await;
    assert_eq!(keys(&mut back, 1).await, [2]);
    mongod.stop().await.unwrap();
}

/// A cursor on a collection where nothing happens, while the oplog turns over with others' writes, is opened
/// again from where it has looked, not from its last event: nothing is lost, and nothing said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_cursor_is_opened_again_from_where_it_has_looked() {
    let mongod = tiny_oplog().await;
    let db = connect(&mongod.uri()).await.database("d");
    let yaml = "streams: { heartbeat: 100ms, await: 200ms }";
    let app = TestApp::at(&mongod.uri(), db, yaml).await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut sse, 1).await, [1]);
    let old = sse.last_id.clone();
    roll_oplog(&app.db).await;
    // One that remembers nothing has to ask MongoDB.
    let replica = TestApp::at(&mongod.uri(), app.db.clone(), yaml).await;
    let late = replica.resume("c/all", &old).await.event().await;
    assert!(late.is("reset"), "the last event has left the oplog: {late:?}");
    replica.stop().await;
    let faults = FailPoints::of(&mongod.uri()).await;
    let opened = faults.count("aggregate").await;
    faults.hit(1, &["getMore"], "d.c", doc! { "errorCode": 91 }).await;
    eventually("the cursor is opened again", async || faults.count("aggregate").await > opened)
        .await;
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    // The machine may be so slow that an outage is told; nothing else is.
    let mut next = sse.event().await;
    while next.is("status") {
        next = sse.event().await;
    }
    assert_eq!(next.json()["documentKey"]["_id"], 2, "{next:?}");
    mongod.stop().await.unwrap();
}
