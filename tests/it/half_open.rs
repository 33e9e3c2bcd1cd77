//! Clients that are gone without a word, and clients that do not read.

use bson::doc;
use tokio::time::Instant;

use crate::{
    operators::metric,
    support::{
        TestApp, all,
        client::{Client, Transport, keys},
        eventually,
        proxy::{Direction, Flow, Proxy},
        sse::Sse,
        websocket::Socket,
    },
};

/// As large as what loopback's buffers hold, several times over.
const KILOBYTES: usize = 24 * 1024;

async fn fill(app: &TestApp, first: i32) {
    let text = "x".repeat(256 * 1024);
    let documents = (0..KILOBYTES as i32 / 256).map(|n| doc! { "_id": first + n, "text": &text });
    app.coll("c").insert_many(documents).await.unwrap();
}

/// A WebSocket peer that answers neither of two pings in a row is dropped, though nobody says a word.
#[tokio::test]
async fn half_open_websockets_are_gone_within_three_heartbeats() {
    let app = TestApp::with_streams("heartbeat: 300ms\nlinger: 0s").await;
    app.declare("c", vec![all()]).await;
    let proxy = Proxy::start(app.address).await;
    let mut sockets = Vec::new();
    for _ in 0..50 {
        sockets.push(Socket::open(proxy.address(), &app.path("c/all"), None).await);
    }
    app.has_cursors("c", 1).await;
    proxy.set_both(Flow::Swallow);
    let lost = Instant::now();
    eventually("all peers are dropped", async || app.cursors("c").await == 0).await;
    // Three heartbeats, and the await time after which a cursor ends.
    assert!(lost.elapsed().as_millis() < 3_000, "{:?}", lost.elapsed());
}

/// A client that answers pings stays, however long nothing is written.
#[tokio::test]
async fn a_websocket_that_answers_stays() {
    let app = TestApp::with_streams("heartbeat: 100ms\nlinger: 0s").await;
    app.declare("c", vec![all()]).await;
    let mut socket = app.socket("c/all").await;
    for _ in 0..12 {
        // Reading answers.
        socket.message().await;
    }
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(socket.json().await["documentKey"]["_id"], 1);
}

/// A client that takes nothing for the write timeout is dropped, on either transport, and delays nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_client_is_dropped_and_delays_nobody() {
    let app = TestApp::with_streams("write_timeout: 8s\nheartbeat: 10s\nlinger: 0s").await;
    app.declare("c", vec![all(), doc! { "uri": "mine", "stages": [], "full_document": "off" }])
        .await;
    let proxy = Proxy::start(app.address).await;
    let mut stalled = Vec::new();
    for transport in Transport::ALL {
        // A cursor of their own tells when they are gone.
        stalled.push(transport.open(proxy.address(), &app.path("c/mine")).await);
    }
    let mut quick = app.sse("c/all").await;
    proxy.set_flow(Direction::Down, Flow::Stall);
    fill(&app, 0).await;
    let all: Vec<i64> = (0..KILOBYTES as i64 / 256).collect();
    assert_eq!(keys(&mut quick, all.len()).await, all, "in order, while the others stall");
    app.has_cursors("c", 2).await;
    eventually("the stalled clients are dropped", async || app.cursors("c").await == 1).await;
}

/// A client that reads too slowly for the bounds is told to come back, or resumes where it was cut:
/// there is never a silent gap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_client_is_never_left_with_a_gap() {
    let bounds = "history: { events: 20, bytes: 4MiB }\nmailbox: { events: 5, bytes: 1MiB }";
    let app = TestApp::with_streams(bounds).await;
    let mine =
        doc! { "uri": "k", "stages": [], "notify_when": { "fullDocument::k": { "$var": "k" } } };
    app.declare("c", vec![all(), mine]).await;
    let proxy = Proxy::start(app.address).await;
    for (round, stream) in ["c/all", "c/k?k=1"].into_iter().enumerate() {
        let first = round as i64 * 1000;
        let path = app.path(stream);
        let mut sse = Sse::open(proxy.address(), &path, &[]).await;
        let mut socket = Socket::open(proxy.address(), &path, Some("tailwater.v1")).await;
        let mut quick = app.sse(stream).await;
        proxy.set_flow(Direction::Down, Flow::Stall);
        let text = "x".repeat(256 * 1024);
        for n in 0..96 {
            let document = doc! { "_id": first + n, "k": "1", "text": &text };
            app.coll("c").insert_one(document).await.unwrap();
            assert_eq!(keys(&mut quick, 1).await, [first + n]);
        }
        proxy.set_flow(Direction::Down, Flow::Pass);
        let expected: Vec<i64> = (first..first + 96).collect();
        assert_eq!(until_slow_sse(&app, stream, &mut sse).await, expected, "{stream}");
        assert_eq!(until_slow_socket(&app, stream, &mut socket).await, expected, "{stream}");
    }
    let closed = metric(&app, "tailwater_connections_closed_total{cause=\"slow consumer\"}").await;
    assert_eq!(closed, 4.0, "a connection of each transport and stream");
}

/// Reads to the close event, comes back with the last id, and reads the rest.
async fn until_slow_sse(app: &TestApp, stream: &str, sse: &mut Sse) -> Vec<i64> {
    let mut seen = Vec::new();
    let close = loop {
        let block = sse.event().await;
        if block.is("close") {
            break block.json();
        }
        seen.push(block.json()["documentKey"]["_id"].as_i64().unwrap());
    };
    assert_eq!((&close["code"], &close["reconnect"]), (&4408.into(), &true.into()));
    rest(app, stream, &sse.last_id, seen).await
}

async fn until_slow_socket(app: &TestApp, stream: &str, socket: &mut Socket) -> Vec<i64> {
    let (mut seen, mut last) = (Vec::new(), String::new());
    loop {
        let message = socket.json().await;
        if let Some(id) = message["id"].as_str() {
            last = id.to_owned();
        }
        match message["event"].as_str().unwrap() {
            "change" => seen.push(message["data"]["documentKey"]["_id"].as_i64().unwrap()),
            "close" => break,
            _ => {}
        }
    }
    assert_eq!(socket.closed().await, (4408, "slow consumer".to_owned()));
    rest(app, stream, &last, seen).await
}

async fn rest(app: &TestApp, stream: &str, id: &str, mut seen: Vec<i64>) -> Vec<i64> {
    assert!(seen.len() < 96, "the client was cut");
    let mut back = Client::Sse(app.resume(stream, id).await);
    seen.extend(back.keys(96 - seen.len()).await);
    seen
}
