//! The main job: a write reaches everyone who watches, over either transport.

use bson::doc;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{TestApp, all};

/// Every change committed after the response head was sent is delivered, over both transports.
#[tokio::test]
async fn an_insert_reaches_both_transports() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    let mut socket = app.socket("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1, "name": "uji" }).await.unwrap();
    for event in [sse.change().await, socket.json().await] {
        assert_eq!(event["operationType"], "insert");
        assert_eq!(event["fullDocument"]["name"], "uji");
        assert_eq!(event["documentKey"]["_id"], 1);
        assert_eq!(event["ns"]["coll"], "c");
        assert!(event.get("_id").is_none(), "the resume token stays inside");
    }
    app.has_cursors("c", 1).await;
}

/// The response is the contract's, and the first frame says that the stream is live.
#[tokio::test]
async fn the_head_and_the_first_frame_are_those_of_the_contract() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let sse = app.sse("c/all").await;
    let header = |name: &str| sse.headers.get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-cache, no-transform");
    assert_eq!(header("x-accel-buffering"), "no");
    let ready = sse.ready.json();
    assert_eq!(ready["id"], sse.ready.id.clone().unwrap());
    assert_eq!(ready["heartbeat"], 20_000);
    assert!(ready["operationTime"]["$timestamp"]["t"].as_u64().unwrap() > 0);
    let retry: u32 = sse.ready.retry.clone().unwrap().parse().unwrap();
    assert!((500..=6000).contains(&retry));
}

/// Clients that lost their connection together are told different waits: 550 of them come back at an even rate,
/// over more than five seconds.
#[tokio::test]
async fn waits_before_coming_back_are_spread() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut histogram = [0; 11];
    for _ in 0..550 {
        let ready = app.sse("c/all").await.ready;
        let wait: usize = ready.retry.unwrap().parse().unwrap();
        histogram[(wait - 500).min(5_499) / 500] += 1;
    }
    // 50 are expected in each; 20 are more than four standard deviations off.
    assert!(histogram.iter().all(|count| (20..=80).contains(count)), "{histogram:?}");
}

/// Updates, replaces and deletes keep their kind, and what was removed is named.
#[tokio::test]
async fn every_kind_of_write_keeps_its_kind() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    let coll = app.coll("c");
    coll.insert_one(doc! { "_id": 1, "a": 1, "b": 2 }).await.unwrap();
    let update = doc! { "$set": { "a": 5, "n": "x" }, "$unset": { "b": 1 } };
    coll.update_one(doc! { "_id": 1 }, update).await.unwrap();
    coll.replace_one(doc! { "_id": 1 }, doc! { "z": 1 }).await.unwrap();
    coll.delete_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(sse.change().await["operationType"], "insert");
    let update = sse.change().await;
    assert_eq!(update["operationType"], "update");
    assert_eq!(update["updateDescription"]["updatedFields"]["a"], 5);
    assert_eq!(update["updateDescription"]["removedFields"][0], "b");
    assert!(update["updateDescription"]["truncatedArrays"].is_array());
    assert_eq!(sse.change().await["operationType"], "replace");
    let delete = sse.change().await;
    assert_eq!(delete["operationType"], "delete");
    assert_eq!(delete["documentKey"]["_id"], 1);
    assert!(delete.get("fullDocument").is_none());
}

/// A client that was cut comes back with the last id and misses and repeats nothing.
#[tokio::test]
async fn a_client_that_was_away_resumes() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let coll = app.coll("c");
    let mut first = app.sse("c/all").await;
    coll.insert_one(doc! { "_id": 1 }).await.unwrap();
    first.change().await;
    let id = first.last_id.clone();
    drop(first);
    for n in 2..=5 {
        coll.insert_one(doc! { "_id": n }).await.unwrap();
    }
    let mut back = app.resume("c/all", &id).await;
    assert_eq!(
        back.ready.id.as_deref(),
        Some(id.as_str()),
        "ready carries the id that was asked for"
    );
    for n in 2..=5 {
        assert_eq!(back.change().await["documentKey"]["_id"], n);
    }
}

/// Another process that shares the key serves the id that the first one gave.
#[tokio::test]
async fn an_id_survives_a_restart() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let coll = app.coll("c");
    let mut first = app.sse("c/all").await;
    coll.insert_one(doc! { "_id": 1 }).await.unwrap();
    first.change().await;
    let (id, db) = (first.last_id.clone(), app.db.clone());
    app.stop().await;
    coll.insert_one(doc! { "_id": 2 }).await.unwrap();
    let uri = crate::support::mongod::shared_uri().await;
    let again = TestApp::at(&uri, db, "").await;
    let mut back = again.resume("c/all", &id).await;
    coll.insert_one(doc! { "_id": 3 }).await.unwrap();
    for n in 2..=3 {
        assert_eq!(back.change().await["documentKey"]["_id"], n);
    }
}

/// A client's ping is answered with its payload; whatever else it says is ignored.
#[tokio::test]
async fn pings_are_answered_and_text_is_ignored() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut socket = app.socket("c/all").await;
    socket.send(Message::text("hello")).await;
    socket.send(Message::Ping("beat".into())).await;
    assert_eq!(socket.message().await, Message::Pong("beat".into()));
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(socket.json().await["documentKey"]["_id"], 1);
}

/// A drain says goodbye with the contract's code on either transport, and ends the body cleanly.
#[tokio::test]
async fn a_drain_says_goodbye() {
    let mut app = TestApp::with_streams("drain: 2s").await;
    app.declare("c", vec![all()]).await;
    let sse = app.sse("c/all").await;
    let mut socket = app.socket("c/all").await;
    app.begin_drain();
    assert_eq!(socket.closed().await, (1012, "service restart".to_owned()));
    let rest = sse.rest().await;
    let last = rest.last().unwrap();
    assert!(last.is("close"), "{last:?}");
    let expected =
        serde_json::json!({ "code": 1012, "reason": "service restart", "reconnect": true });
    assert_eq!(last.json(), expected);
    app.stop().await;
}
