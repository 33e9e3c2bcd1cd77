//! Why was the connection closed? Every cause is counted, and said in one line.

use bson::doc;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    operators::metric,
    support::{
        TestApp, all, eventually,
        mongod::{fresh_database, shared_uri},
        program::Service,
        sse::Sse,
        websocket::Socket,
    },
};

async fn started(streams: &str) -> TestApp {
    let app = TestApp::with_streams(streams).await;
    app.declare("c", vec![all()]).await;
    app
}

/// The cause is counted once, and nobody counts as connected any more.
async fn check(app: &TestApp, cause: &str) {
    let closed = format!("tailwater_connections_closed_total{{cause=\"{cause}\"}}");
    eventually(cause, async || metric(app, &closed).await == 1.0).await;
    for transport in ["sse", "websocket"] {
        let open =
            format!("tailwater_connections{{transport=\"{transport}\",surface=\"streams\"}}");
        assert_eq!(metric(app, &open).await, 0.0, "{cause}: {transport}");
    }
    assert_eq!(metric(app, "tailwater_subscribers{surface=\"streams\"}").await, 0.0, "{cause}");
}

/// What clients do: leave with or without a word, send too much, break the protocol, fall silent.
#[tokio::test]
async fn what_clients_do_is_counted() {
    let app = started("").await;
    drop(app.sse("c/all").await);
    check(&app, "client gone").await;
    let mut socket = app.socket("c/all").await;
    socket.stream.close(None).await.unwrap();
    check(&app, "client closed").await;
    let mut socket = app.socket("c/all").await;
    socket.send(Message::text("x".repeat(70_000))).await;
    assert_eq!(socket.closed().await.0, 1009);
    check(&app, "message too big").await;
    let mut socket = Socket::open(app.address, &app.path("c/all"), None).await;
    // A frame of an opcode that does not exist.
    tokio::io::AsyncWriteExt::write_all(socket.stream.get_mut(), &[0x83, 0x80, 0, 0, 0, 0])
        .await
        .unwrap();
    assert_eq!(socket.closed().await.0, 1002);
    check(&app, "protocol error").await;

    let app = started("heartbeat: 50ms").await;
    let silent = app.socket("c/all").await;
    check(&app, "ping timeout").await;
    drop(silent);
}

/// What the service says: the cause is the reason of the contract.
#[tokio::test]
async fn what_the_service_does_is_counted() {
    let app = started("max_connection_age: 1s").await;
    let old = app.sse("c/all").await;
    assert_eq!(old.rest().await.last().unwrap().json()["code"], 1001);
    check(&app, "going away").await;

    let app = started("").await;
    let mut redefined = app.sse("c/all").await;
    app.declare("c", vec![doc! { "uri": "all", "stages": [], "leave": true }]).await;
    redefined.until("close").await;
    check(&app, "stream redefined").await;
    let (mut gone, _) = app.enveloped("c/all").await;
    app.declare("c", vec![]).await;
    assert_eq!(gone.closed().await.0, 4404);
    check(&app, "stream gone").await;
    app.declare("c", vec![all()]).await;
    let mut lost = app.socket("c/all?lastEventId=nonsense").await;
    assert_eq!(lost.closed().await.0, 4410);
    check(&app, "history lost").await;
    assert_eq!(metric(&app, "tailwater_resets_total{surface=\"streams\"}").await, 1.0);
}

/// A client that takes nothing is cut for that, over either transport, and the cause says so.
#[tokio::test]
async fn a_stalled_client_is_counted_as_that() {
    let app = started("write_timeout: 300ms\nhistory: { bytes: 1GiB }").await;
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n",
        app.path("c/all")
    );
    let mut stalled = small(&app).await;
    tokio::io::AsyncWriteExt::write_all(&mut stalled, head.as_bytes()).await.unwrap();
    let open = "tailwater_connections{transport=\"sse\",surface=\"streams\"}";
    eventually("it is open", async || metric(&app, open).await == 1.0).await;
    let closed = "tailwater_connections_closed_total{cause=\"write timeout\"}";
    let big = "x".repeat(4 << 20);
    for id in 0..8 {
        app.coll("c").insert_one(doc! { "_id": id, "big": &big }).await.unwrap();
    }
    check(&app, "write timeout").await;
    let socket = Socket::over(small(&app).await, &app.path("c/all"), None).await.unwrap();
    for id in 8..16 {
        app.coll("c").insert_one(doc! { "_id": id, "big": &big }).await.unwrap();
    }
    eventually("the socket too", async || metric(&app, closed).await == 2.0).await;
    drop((stalled, socket));
}

/// A connection whose client's side holds little, so that what is not read is soon not written either.
async fn small(app: &TestApp) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(app.address).await.unwrap()
}

/// Each connection leaves one line with who it was, why it ended, how long it was there and what it was
/// given; off a terminal without colours.
#[tokio::test]
async fn each_connection_leaves_one_line() {
    let db = fresh_database().await;
    let stored = db.collection("_properties");
    stored.insert_one(doc! { "_id": "_properties.c", "streams": [all()] }).await.unwrap();
    let service = Service::start(&shared_uri().await).await;
    let app = TestApp::of(service.address(), db);
    let mut first = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    first.change().await;
    drop(first);
    check(&app, "client gone").await;
    let mut second = app.socket("c/all").await;
    second.stream.close(None).await.unwrap();
    check(&app, "client closed").await;
    let third = Sse::open(app.address, &app.path("c/all"), &[]).await;
    let lines = service.stop().await;
    third.rest().await;
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:#?}");
    let closed: Vec<_> = lines.iter().filter(|line| line.contains("connection closed")).collect();
    let [first, second, third] = closed.as_slice() else { panic!("{lines:#?}") };
    let topic = format!("topic=\"{}\"", app.path("c/all"));
    for (line, cause, transport, events) in [
        (first, "client gone", "sse", 1),
        (second, "client closed", "websocket", 0),
        (third, "service restart", "sse", 0),
    ] {
        let (cause, transport) =
            (format!("cause=\"{cause}\""), format!("transport=\"{transport}\""));
        for part in [&cause, &transport, &topic, &format!("events={events}")] {
            assert!(line.contains(part.as_str()), "no {part} in {line}");
        }
        assert!(line.contains("duration_ms=") && field(line, "bytes=") > 0, "{line}");
    }
    assert!(
        field(first, "sub=") < field(second, "sub=")
            && field(second, "sub=") < field(third, "sub=")
    );
}

fn field(line: &str, name: &str) -> u64 {
    let value = line.split(name).nth(1).unwrap_or_else(|| panic!("no {name} in {line}"));
    value.split_whitespace().next().unwrap().parse().unwrap()
}
