//! Large documents: whole, on every transport, and nobody waits behind them.

use bson::doc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{TestApp, all, client::Transport, websocket::Socket};

/// 60 KB, 1 MB and 8 MB arrive whole and in order, with small ones in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_documents_arrive_whole() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut clients = Vec::new();
    for transport in Transport::ALL {
        clients.push(transport.open(app.address, &app.path("c/all")).await);
    }
    let sizes = [60_000, 10, 1_000_000, 10, 8_000_000, 10];
    for (n, size) in sizes.into_iter().enumerate() {
        // A letter of its own at each end, so that a cut or a mix shows.
        let text = format!("<{}>", "abcdefghij".repeat(size / 10));
        app.coll("c").insert_one(doc! { "_id": n as i64, "text": text }).await.unwrap();
    }
    for client in &mut clients {
        for (n, size) in sizes.into_iter().enumerate() {
            let change = client.change().await;
            assert_eq!(change["documentKey"]["_id"], n);
            let text = change["fullDocument"]["text"].as_str().unwrap();
            assert_eq!(text.len(), size + 2);
            assert!(text.starts_with("<abcdefghij") && text.ends_with("abcdefghij>"));
        }
    }
}

/// An event whose text exceeds `streams.max_event` is reported in its place, and its neighbours arrive.
#[tokio::test]
async fn an_event_beyond_the_bound_is_reported() {
    let app = TestApp::with_streams("max_event: 100KiB").await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    let mut plain = app.socket("c/all").await;
    let (mut enveloped, _) = app.enveloped("c/all").await;
    for (n, size) in [(1_i64, 90_000), (2, 110_000), (3, 10)] {
        let document = doc! { "_id": n, "text": "x".repeat(size) };
        app.coll("c").insert_one(document).await.unwrap();
    }
    let reason = "the event is larger than the service delivers";
    assert_eq!(sse.change().await["documentKey"]["_id"], 1);
    let skipped = sse.event().await;
    assert!(skipped.is("skipped"), "{skipped:?}");
    assert_eq!(skipped.json()["reason"], reason);
    let mut back = app.resume("c/all", skipped.id.as_deref().unwrap()).await;
    assert_eq!(back.change().await["documentKey"]["_id"], 3);
    assert_eq!(sse.change().await["documentKey"]["_id"], 3);
    for n in [1, 3] {
        assert_eq!(plain.json().await["documentKey"]["_id"], n);
    }
    for event in ["change", "skipped", "change"] {
        let message = enveloped.json().await;
        assert_eq!(message["event"], event);
        assert!(event == "change" || message["data"]["reason"] == reason, "{message}");
    }
}

/// A client's ping is answered while a message of 8 MB is going out: between its fragments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_is_answered_during_a_large_message() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    // A small receive buffer: the kernel must not take the whole message at once.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let socket = socket.connect(app.address).await.unwrap();
    let socket = Socket::over(socket, &app.path("c/all"), None).await.unwrap();
    let mut raw = socket.stream.into_inner();
    let text = "x".repeat(8_000_000);
    app.coll("c").insert_one(doc! { "_id": 1, "text": &text }).await.unwrap();
    let (first, size) = head(&mut raw).await;
    assert_eq!((first, size), (0x01, 64 * 1024), "the first fragment of a text message");
    // The message has begun: a masked ping with the payload "beat".
    let mask = [1, 2, 3, 4];
    let payload: Vec<u8> = b"beat".iter().zip(mask).map(|(byte, key)| byte ^ key).collect();
    raw.write_all(&[&[0x89, 0x84], &mask[..], &payload].concat()).await.unwrap();
    let mut rest = size;
    let mut message = 0;
    loop {
        let mut frame = vec![0; rest];
        raw.read_exact(&mut frame).await.unwrap();
        message += rest;
        let (first, size) = head(&mut raw).await;
        if first == 0x8A {
            let mut pong = vec![0; size];
            raw.read_exact(&mut pong).await.unwrap();
            assert_eq!(pong, b"beat");
            break;
        }
        assert_eq!(first, 0x00, "a continuation, and not the last one");
        rest = size;
    }
    assert!(message < 8_000_000, "the pong came before the end of the message: {message}");
}

/// The first byte of a frame's head and the length of its payload.
async fn head(raw: &mut TcpStream) -> (u8, usize) {
    let first = raw.read_u8().await.unwrap();
    let size = match raw.read_u8().await.unwrap() {
        126 => usize::from(raw.read_u16().await.unwrap()),
        127 => usize::try_from(raw.read_u64().await.unwrap()).unwrap(),
        short => usize::from(short),
    };
    (first, size)
}

/// A message of a client over 64 KiB is answered with 1009; one below is ignored.
#[tokio::test]
async fn a_clients_own_message_is_bounded() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut socket = app.socket("c/all").await;
    socket.send(Message::text("x".repeat(64 * 1024))).await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(socket.json().await["documentKey"]["_id"], 1);
    socket.send(Message::text("x".repeat(64 * 1024 + 1))).await;
    assert_eq!(socket.closed().await, (1009, "message too big".to_owned()));
}
