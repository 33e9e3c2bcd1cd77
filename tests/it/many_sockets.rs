//! Several streams on one WebSocket of the subprotocol.

use bson::doc;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    many_streams::started,
    support::{TestApp, all, client::key, eventually, websocket::Socket},
};

/// A socket that is opened with no stream.
async fn bare(app: &TestApp) -> Socket {
    Socket::open(app.address, "/_/ws", Some("tailwater.v1")).await
}

async fn say(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await;
}

async fn subscribe(socket: &mut Socket, app: &TestApp, stream: &str, reference: Value) -> Value {
    let subscribe = json!({ "path": app.path(stream) });
    say(socket, json!({ "subscribe": subscribe, "ref": reference })).await;
    let answer = socket.json().await;
    assert_eq!((&answer["event"], &answer["ref"]), (&json!("ready"), &reference), "{answer}");
    answer
}

async fn insert(app: &TestApp, coll: &str, n: i64) {
    let kind = if n % 2 == 0 { "even" } else { "odd" };
    app.coll(coll).insert_one(doc! { "_id": n, "kind": kind }).await.unwrap();
}

/// The next change: the stream's name on the socket and the document's `_id`.
async fn change(socket: &mut Socket) -> (Value, i64) {
    let message = socket.json().await;
    assert_eq!(message["event"], "change", "{message}");
    (message["ref"].clone(), key(&message["data"]))
}

async fn error(socket: &mut Socket) -> (Value, Value) {
    let message = socket.json().await;
    assert_eq!(message["event"], "error", "{message}");
    assert!(message["data"]["message"].is_string(), "{message}");
    (message["ref"].clone(), message["data"]["status"].clone())
}

/// Every message of a stream that was subscribed to carries its `ref`; those of the socket's own
/// stream carry none.
#[tokio::test]
async fn messages_carry_their_ref() {
    let app = started("heartbeat: off").await;
    let (mut socket, _) = app.enveloped("a/all").await;
    let ready = subscribe(&mut socket, &app, "b/all", json!("other")).await;
    assert_eq!(ready["id"], ready["data"]["id"]);
    subscribe(&mut socket, &app, "b/kind?k=odd", json!(7)).await;
    insert(&app, "b", 1).await;
    let mut seen = [change(&mut socket).await, change(&mut socket).await];
    seen.sort_by_key(|(reference, _)| reference.is_string());
    assert_eq!(seen, [(json!(7), 1), (json!("other"), 1)]);
    insert(&app, "a", 2).await;
    let own = socket.json().await;
    assert_eq!((key(&own["data"]), own.get("ref")), (2, None));
}

/// `vars` bind typed variables, `lastEventId` goes on from any id, also of another connection.
#[tokio::test]
async fn vars_and_ids_are_given_with_the_subscription() {
    let app = started("heartbeat: off").await;
    let id = app.sse("a/all").await.last_id;
    for n in 1..=4 {
        insert(&app, "a", n).await;
    }
    let mut socket = bare(&app).await;
    let path = app.path("a/kind");
    let wish = json!({ "path": path, "vars": { "k": "even" }, "lastEventId": id });
    say(&mut socket, json!({ "subscribe": wish, "ref": "r" })).await;
    assert_eq!(socket.json().await["id"], id);
    assert_eq!(change(&mut socket).await, (json!("r"), 2));
    let last = socket.json().await;
    assert_eq!(key(&last["data"]), 4);
    // The id of a message is a place to come back to, for that stream alone.
    let wish = json!({ "path": path, "vars": { "k": "even" }, "lastEventId": last["id"] });
    insert(&app, "a", 6).await;
    assert_eq!(change(&mut socket).await, (json!("r"), 6));
    say(&mut socket, json!({ "subscribe": wish, "ref": "s" })).await;
    assert_eq!(socket.json().await["event"], "ready");
    assert_eq!(change(&mut socket).await, (json!("s"), 6));
    // An id that is none is answered as everywhere.
    let wish = json!({ "path": path, "vars": { "k": 1 }, "lastEventId": "0" });
    say(&mut socket, json!({ "subscribe": wish, "ref": "t" })).await;
    assert_eq!(socket.json().await["event"], "ready");
    let reset = socket.json().await;
    assert_eq!((&reset["event"], &reset["ref"]), (&json!("reset"), &json!("t")));
}

/// After `unsubscribe` nothing comes with that `ref`, its cursor ends, and the name is free again.
#[tokio::test]
async fn unsubscribing_ends_one_stream() {
    let app = started("heartbeat: off\nlinger: 0s").await;
    let mut socket = bare(&app).await;
    subscribe(&mut socket, &app, "a/all", json!("a")).await;
    subscribe(&mut socket, &app, "b/all", json!("b")).await;
    say(&mut socket, json!({ "unsubscribe": true, "ref": "a" })).await;
    eventually("the cursor is gone", async || app.cursors("a").await == 0).await;
    insert(&app, "a", 1).await;
    insert(&app, "b", 2).await;
    assert_eq!(change(&mut socket).await, (json!("b"), 2));
    subscribe(&mut socket, &app, "a/kind?k=odd", json!("a")).await;
    insert(&app, "a", 3).await;
    assert_eq!(change(&mut socket).await, (json!("a"), 3));
    drop(socket);
    eventually("no cursor is left", async || {
        (app.cursors("a").await, app.cursors("b").await) == (0, 0)
    })
    .await;
}

/// Subscribing again and again, to the same names, leaves nothing behind.
#[tokio::test]
async fn subscribing_again_and_again_leaves_nothing_behind() {
    let app = started("heartbeat: off").await;
    let mut socket = bare(&app).await;
    for round in 0..200 {
        subscribe(&mut socket, &app, "a/all", json!(round % 3)).await;
        say(&mut socket, json!({ "unsubscribe": true, "ref": round % 3 })).await;
        // Given up before it is open.
        say(&mut socket, json!({ "subscribe": { "path": app.path("a/all") }, "ref": "x" })).await;
        say(&mut socket, json!({ "unsubscribe": true, "ref": "x" })).await;
        let again = json!({ "subscribe": { "path": app.path("a/none") }, "ref": "y" });
        say(&mut socket, again).await;
        loop {
            let message = socket.json().await;
            if message["ref"] == "y" {
                assert_eq!(message["data"]["status"], 404);
                break;
            }
            assert_eq!((&message["event"], &message["ref"]), (&json!("ready"), &json!("x")));
        }
    }
    subscribe(&mut socket, &app, "a/all", json!("last")).await;
    let path = format!("/_/explain?path={}", app.path("a/all"));
    let subscribers = async || app.get(&path).await.json()["cursor"]["subscribers"].clone();
    eventually("one is left", async || subscribers().await == 1).await;
    assert_eq!(app.cursors("a").await, 1);
}

/// What cannot be opened or understood is answered with an error, its status and its `ref`; the socket
/// stays, and so do its streams.
#[tokio::test]
async fn what_cannot_be_done_is_answered_and_the_socket_stays() {
    let app = started("heartbeat: off").await;
    let mut socket = bare(&app).await;
    subscribe(&mut socket, &app, "a/all", json!("a")).await;
    let path = |stream: &str| json!({ "path": app.path(stream) });
    let rows = [
        (json!({ "subscribe": path("a/none"), "ref": 1 }), json!(1), 404),
        (json!({ "subscribe": path("none/all"), "ref": 1 }), json!(1), 404),
        (json!({ "subscribe": path("a/kind"), "ref": 1 }), json!(1), 400),
        (json!({ "subscribe": path("a/kind?@user=x"), "ref": 1 }), json!(1), 400),
        (json!({ "subscribe": { "path": "/_/health/live" }, "ref": 1 }), json!(1), 404),
        (
            json!({ "subscribe": { "path": "/tailwater/settings/_streams/x" }, "ref": 1 }),
            json!(1),
            403,
        ),
        (json!({ "subscribe": { "path": app.coll_path("a") }, "ref": 1 }), json!(1), 400),
        (
            json!({ "subscribe": { "path": app.path("a/kind"), "vars": { "k": { "$gt": 1 } } }, "ref": 1 }),
            json!(1),
            400,
        ),
        (
            json!({ "subscribe": { "path": app.path("a/kind?avars={}"), "vars": {} }, "ref": 1 }),
            json!(1),
            400,
        ),
        (json!({ "subscribe": path("a/all"), "ref": "a" }), json!("a"), 409),
        (json!({ "subscribe": path("a/all") }), json!(null), 400),
        (json!({ "subscribe": path("a/all"), "ref": {} }), json!(null), 400),
        (json!({ "subscribe": path("a/all"), "ref": 1, "more": 1 }), json!(1), 400),
        (json!({ "unsubscribe": true, "ref": "b" }), json!("b"), 404),
        (json!({ "unsubscribe": false, "ref": "a" }), json!("a"), 400),
        (json!("hello"), json!(null), 400),
    ];
    for (message, reference, status) in rows {
        say(&mut socket, message.clone()).await;
        assert_eq!(error(&mut socket).await, (reference, json!(status)), "{message}");
    }
    for message in [Message::text("{"), Message::text(""), Message::binary(vec![0xff, 0])] {
        socket.send(message).await;
        assert_eq!(error(&mut socket).await, (json!(null), json!(400)));
    }
    insert(&app, "a", 1).await;
    assert_eq!(change(&mut socket).await, (json!("a"), 1));
}

/// The number of streams on a socket is bounded, and an unsubscribed one makes room.
#[tokio::test]
async fn the_number_of_streams_is_bounded() {
    let app =
        TestApp::configured("limits: { streams_per_connection: 2, inbound_message: 1KiB }").await;
    app.declare("a", vec![all()]).await;
    let mut socket = bare(&app).await;
    subscribe(&mut socket, &app, "a/all", json!(1)).await;
    subscribe(&mut socket, &app, "a/all", json!(2)).await;
    say(&mut socket, json!({ "subscribe": { "path": app.path("a/all") }, "ref": 3 })).await;
    assert_eq!(error(&mut socket).await, (json!(3), json!(429)));
    say(&mut socket, json!({ "unsubscribe": true, "ref": 1 })).await;
    subscribe(&mut socket, &app, "a/all", json!(3)).await;
    // A message beyond the configured bound ends the socket with the contract's code.
    say(&mut socket, json!({ "subscribe": { "path": "x".repeat(1024) }, "ref": 4 })).await;
    assert_eq!(socket.closed().await, (1009, "message too big".to_owned()));
}

/// A stream that ends is told to end by its `ref`, and the others go on; a drain ends the socket.
#[tokio::test]
async fn a_stream_that_ends_leaves_the_others_alone() {
    let mut app = started("heartbeat: off\ndrain: 1s").await;
    let mut socket = bare(&app).await;
    subscribe(&mut socket, &app, "a/all", json!("a")).await;
    subscribe(&mut socket, &app, "b/all", json!("b")).await;
    app.declare("b", vec![]).await;
    let close = socket.json().await;
    assert_eq!((&close["event"], &close["ref"]), (&json!("close"), &json!("b")), "{close}");
    assert_eq!(close["data"]["code"], 4404);
    insert(&app, "a", 1).await;
    assert_eq!(change(&mut socket).await, (json!("a"), 1));
    // The name is free again.
    say(&mut socket, json!({ "subscribe": { "path": app.path("b/all") }, "ref": "b" })).await;
    assert_eq!(error(&mut socket).await, (json!("b"), json!(404)));
    app.begin_drain();
    assert_eq!(socket.closed().await, (1012, "service restart".to_owned()));
    app.stop().await;
}

/// One stream with a backlog does not keep another from being heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_stream_leaves_room_for_a_quiet_one() {
    let app = started("heartbeat: off\nmailbox: { events: 100000, bytes: 1GiB }").await;
    let id = app.sse("a/all").await.last_id;
    let documents = (0..5000_i64).map(|n| doc! { "_id": n, "text": "x".repeat(4000) });
    app.coll("a").insert_many(documents).await.unwrap();
    let mut socket = bare(&app).await;
    subscribe(&mut socket, &app, "b/all", json!("quiet")).await;
    let wish = json!({ "path": app.path("a/all"), "lastEventId": id });
    say(&mut socket, json!({ "subscribe": wish, "ref": "busy" })).await;
    assert_eq!(socket.json().await["event"], "ready");
    let mut busy = 0;
    while busy < 100 {
        assert_eq!(change(&mut socket).await, (json!("busy"), busy));
        busy += 1;
    }
    insert(&app, "b", 1).await;
    // Twenty megabytes are waiting; the quiet stream is heard before most of them.
    let at = loop {
        match change(&mut socket).await {
            (reference, n) if reference == "busy" => {
                assert_eq!(n, busy);
                busy += 1;
            }
            (_, n) => {
                assert_eq!(n, 1);
                break busy;
            }
        }
    };
    assert!(at < 4900, "only after {at} events of the busy one");
    while busy < 5000 {
        assert_eq!(change(&mut socket).await, (json!("busy"), busy));
        busy += 1;
    }
}

/// A socket that is opened with no stream needs an upgrade and the subprotocol.
#[tokio::test]
async fn a_bare_socket_needs_the_subprotocol() {
    let app = started("heartbeat: 50ms").await;
    assert_eq!(app.get("/_/ws").await.status, 400);
    assert_eq!(app.with("HEAD", "/_/ws", &[]).await.status, 405);
    let (status, message) = Socket::refused(app.address, "/_/ws").await;
    assert_eq!(status, 400);
    assert!(message.contains("tailwater.v1"), "{message}");
    // It is kept alive by pings, and its streams have heartbeats of their own.
    let mut socket = bare(&app).await;
    assert!(matches!(socket.message().await, Message::Ping(_)));
    let wish = json!({ "subscribe": { "path": app.path("a/all") }, "ref": 1 });
    say(&mut socket, wish).await;
    assert_eq!(socket.json().await["event"], "ready");
    let beat = socket.json().await;
    assert_eq!((&beat["event"], &beat["ref"]), (&json!("heartbeat"), &json!(1)));
    assert_eq!(beat["id"], beat["data"]["id"]);
}

/// A client without the subprotocol asks for nothing: its messages are ignored.
#[tokio::test]
async fn a_plain_socket_takes_no_requests() {
    let app = started("heartbeat: off").await;
    let mut plain = app.socket("a/all").await;
    say(&mut plain, json!({ "subscribe": { "path": app.path("b/all") }, "ref": 1 })).await;
    for _ in 0..40 {
        say(&mut plain, json!("hello")).await;
    }
    let (mut other, _) = app.enveloped("b/all").await;
    insert(&app, "b", 1).await;
    assert_eq!(key(&other.json().await["data"]), 1);
    insert(&app, "a", 2).await;
    assert_eq!(key(&plain.json().await), 2);
}
