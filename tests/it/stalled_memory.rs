//! What clients who stop reading cost: no more than the bounds say, however much is written.

use std::net::SocketAddr;

use bson::{Document, doc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::{
    operators::metric,
    support::{
        TestApp, all, eventually,
        mongod::{connect, private},
        program::Service,
        setting,
    },
};

/// Each round some more clients stop reading, so that they stand at different places.
const PER_ROUND: usize = 5;

/// What is written in a round, and how many of it have 1 MB; the others have 1 KB.
const DOCUMENTS: usize = 400;
const LARGE: usize = 40;

/// Rounds, unless `TAILWATER_STALL_ROUNDS` says otherwise; ten bring clients.
const ROUNDS: usize = 12;

/// What a client may hold: a mailbox, what was handed to it, and what is being written, each at least
/// one event of 1 MB and its text.
const PER_CLIENT: u64 = 6 << 20;

const OPEN: &str = "tailwater_connections{transport=\"sse\",surface=\"streams\"}";

/// A client that reads the head of its answer and nothing more.
async fn stalled(address: SocketAddr, path: &str, upgrade: bool) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // Little is on its way.
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let ask = match upgrade {
        true => {
            "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        }
        false => "Accept: text/event-stream",
    };
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{ask}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first[..9], b"HTTP/1.1 ");
    stream
}

fn documents(round: usize) -> impl Iterator<Item = Document> {
    let (large, small) = ("x".repeat(1 << 20), "x".repeat(1 << 10));
    let document = move |n: usize| {
        let text = if n < LARGE { &large } else { &small };
        doc! { "round": round as i64, "k": "1", "text": text }
    };
    (0..DOCUMENTS).map(document)
}

/// 50 clients who stop reading, at different places, on shared and on selective streams, while events of
/// 1 KB and 1 MB are written and another client reads them all: memory stays within what they may hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_clients_hold_no_more_than_they_may() {
    let mongod = private().await;
    let db = connect(&mongod.uri()).await.database("d");
    let bounds = [
        ("TAILWATER_STREAMS__MAILBOX__BYTES", "1MiB"),
        ("TAILWATER_STREAMS__WRITE_TIMEOUT", "10m"),
        ("TAILWATER_STREAMS__HEARTBEAT", "1m"),
    ];
    let service = Service::with(&mongod.uri(), &bounds).await;
    let app = TestApp::of(service.address(), db);
    let k =
        doc! { "uri": "k", "stages": [], "notify_when": { "fullDocument::k": { "$var": "k" } } };
    app.declare("c", vec![all(), k]).await;
    let mut reader = app.sse("c/all").await;
    let (mut clients, mut before, mut most) = (Vec::new(), 0, 0);
    for round in 0..setting("TAILWATER_STALL_ROUNDS", ROUNDS) {
        let documents: Vec<_> = documents(round).collect();
        // No more at once than the history holds.
        for some in documents.chunks(8) {
            app.coll("c").insert_many(some).await.unwrap();
            for _ in some {
                assert_eq!(reader.change().await["fullDocument"]["round"], round);
            }
        }
        if round == 0 {
            before = service.resident();
        }
        most = most.max(service.resident());
        for n in 0..PER_ROUND {
            if clients.len() < 50 {
                let path = app.path(["c/all", "c/k?k=1"][n % 2]);
                clients.push(stalled(app.address, &path, n % 3 == 0).await);
            }
        }
    }
    let grown = most.saturating_sub(before);
    println!("{} MB before, {} MB at most", before >> 20, most >> 20);
    assert!(grown < clients.len() as u64 * PER_CLIENT, "grown by {} MB", grown >> 20);
    assert!(metric(&app, OPEN).await > 1.0, "some wait still, the others were told to come back");
    drop(clients);
    eventually("they are gone", async || metric(&app, OPEN).await == 1.0).await;
    drop(reader);
    service.stop().await;
    mongod.stop().await.unwrap();
}
