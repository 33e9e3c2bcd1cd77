//! Heartbeats: they tell that the cursor lives, and carry a place to come back to.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bson::{Document, doc};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    TestApp, all,
    client::{keys, time_of},
    eventually, mongod,
    websocket::Socket,
};

/// A heartbeat is a comment and an `id:`-only block, which fires no event in a browser.
#[tokio::test]
async fn a_heartbeat_is_a_comment_and_an_id() {
    let app = TestApp::with_streams("heartbeat: 100ms").await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    assert_eq!(sse.ready.json()["heartbeat"], 100);
    let beat = sse.block().await;
    assert_eq!(beat.comments, ["heartbeat"]);
    assert!(beat.id.is_some());
    assert_eq!((beat.event, beat.data, beat.retry), (None, None, None));
}

/// `?heartbeat=named` sends it as an event with the id as data; the subprotocol has the same event.
#[tokio::test]
async fn a_heartbeat_can_be_an_event() {
    let app = TestApp::with_streams("heartbeat: 100ms").await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all?heartbeat=named").await;
    let beat = sse.event().await;
    assert!(beat.is("heartbeat"), "{beat:?}");
    assert_eq!(beat.json()["id"], beat.id.unwrap());
    let mut socket = Socket::open(app.address, &app.path("c/all"), Some("tailwater.v1")).await;
    assert_eq!(socket.protocol.as_deref(), Some("tailwater.v1"));
    assert_eq!(socket.json().await["event"], "ready");
    let beat = socket.json().await;
    assert_eq!((&beat["event"], &beat["data"]["id"]), (&"heartbeat".into(), &beat["id"]));
    assert_eq!(app.refused("c/all?heartbeat=loud").await.status, 400);
}

/// The server pings every heartbeat, jittered by a tenth.
#[tokio::test]
async fn pings_come_at_the_configured_interval() {
    let app = TestApp::with_streams("heartbeat: 200ms").await;
    app.declare("c", vec![all()]).await;
    let mut socket = app.socket("c/all").await;
    let opened = Instant::now();
    for _ in 0..10 {
        assert!(matches!(socket.message().await, Message::Ping(_)));
    }
    let elapsed = opened.elapsed().as_millis();
    assert!((1_800..4_000).contains(&elapsed), "{elapsed} ms for ten pings");
}

/// `heartbeat: off` sends none: of two services the one is silent while the other beats ten times.
#[tokio::test]
async fn no_heartbeat_is_sent_when_it_is_off() {
    let silent = TestApp::with_streams("heartbeat: off").await;
    let uri = mongod::shared_uri().await;
    let yaml = "streams: { heartbeat: 50ms }";
    let beating = TestApp::at(&uri, silent.db.clone(), yaml).await;
    silent.declare("c", vec![all()]).await;
    let mut sse = silent.sse("c/all").await;
    let mut socket = silent.socket("c/all").await;
    assert_eq!(sse.ready.json()["heartbeat"], 0);
    let mut clock = beating.sse("c/all").await;
    for _ in 0..10 {
        clock.block().await;
    }
    silent.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert!(sse.block().await.is("change"));
    assert!(matches!(socket.message().await, Message::Text(_)));
}

/// A client whose filter rejects everything holds an id that moves on while anyone writes anywhere, and
/// that serves to come back.
#[tokio::test]
async fn the_id_of_a_quiet_stream_moves_on() {
    let app = TestApp::with_streams("heartbeat: 50ms").await;
    let never = doc! { "uri": "never", "stages": [{ "$match": { "fullDocument::x": "never" } }] };
    app.declare("c", vec![never, all()]).await;
    let mut quiet = app.sse("c/never").await;
    let start = time_of(&quiet.last_id);
    let sibling = app.coll("sibling");
    sibling.insert_one(doc! { "_id": 0 }).await.unwrap();
    let written = sibling.find_one(doc! {}).await.unwrap();
    assert!(written.is_some());
    let mut last = start;
    while last == start {
        let beat = quiet.block().await;
        let time = time_of(&beat.id.unwrap());
        assert!(time >= last, "an id never goes back");
        last = time;
    }
    // The events of its own collection move it too, though none is delivered.
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    let rejected = last;
    while last == rejected {
        last = time_of(&quiet.block().await.id.unwrap());
    }
    app.coll("c").insert_one(doc! { "_id": 2, "x": "never" }).await.unwrap();
    let id = quiet.last_id.clone();
    drop(quiet);
    let mut back = app.resume("c/never", &id).await;
    assert_eq!(back.ready.id.as_deref(), Some(id.as_str()));
    assert_eq!(keys(&mut back, 1).await, [2]);
}

/// A heartbeat's id queues behind undelivered events: whoever comes back with it misses nothing.
#[tokio::test]
async fn a_heartbeat_id_loses_nothing_and_repeats_nothing() {
    let app = TestApp::with_streams("heartbeat: 50ms").await;
    app.declare("c", vec![all()]).await;
    let coll = app.coll("c");
    let mut expected = 0;
    let mut client = app.sse("c/all").await;
    for n in 0..40 {
        coll.insert_one(doc! { "_id": n }).await.unwrap();
        // Whichever comes first, a heartbeat or the event, is where this client leaves.
        let block = client.block().await;
        if block.is("change") {
            assert_eq!(block.json()["documentKey"]["_id"], expected);
            expected += 1;
        }
        if n % 4 == 3 {
            let id = client.last_id.clone();
            client = app.resume("c/all", &id).await;
        }
    }
    for n in expected..40 {
        assert_eq!(client.change().await["documentKey"]["_id"], n);
    }
}

/// A session that nobody holds costs nothing: the last one's cursor ends although nothing is written.
#[tokio::test]
async fn a_client_that_closes_on_an_idle_stream_is_noticed() {
    let app = TestApp::with_streams("linger: 0s").await;
    app.declare("c", vec![all()]).await;
    let closed = async |what: &str| {
        eventually(what, async || app.cursors("c").await == 0).await;
    };
    let start = Instant::now();
    drop(app.sse("c/all").await);
    closed("the SSE client is gone").await;
    let mut socket = app.socket("c/all").await;
    socket.send(Message::Close(None)).await;
    closed("the WebSocket client has said goodbye").await;
    drop(app.socket("c/all").await);
    closed("the WebSocket client is gone").await;
    // Far below the heartbeat of 20 s: no write was needed to find out.
    assert!(start.elapsed().as_secs() < 15, "{:?}", start.elapsed());
}

/// Ids of `ready`, of heartbeats and of changes are 44 characters of base64url.
#[tokio::test]
async fn ids_of_all_kinds_have_one_form() {
    let app = TestApp::with_streams("heartbeat: 50ms").await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    let beat = sse.block().await.id.unwrap();
    app.db.collection::<Document>("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    sse.until("change").await;
    for id in [sse.ready.id.clone().unwrap(), beat, sse.last_id.clone()] {
        assert_eq!(id.len(), 44, "{id}");
        assert!(URL_SAFE_NO_PAD.decode(&id).is_ok(), "{id}");
    }
}
