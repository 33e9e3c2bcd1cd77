//! Order: every client receives changes in the order in which MongoDB committed them.

use std::net::SocketAddr;

use bson::{Document, doc};
use futures_util::future::join_all;
use tokio::task::JoinHandle;

use crate::support::{
    TestApp, all,
    client::{Client, Transport, key},
    proxy::Proxy,
};

const READERS: usize = 20;

/// A stream whose clients are selected in process, on the same cursor as the others.
fn by_kind() -> Document {
    doc! { "uri": "kind", "stages": [], "notify_when": { "fullDocument::kind": { "$var": "k" } } }
}

/// Twenty clients of every kind, some of them behind a line of 4 MB/s.
async fn readers(app: &TestApp) -> (Vec<Client>, Proxy) {
    let slow_line = Proxy::start(app.address).await;
    slow_line.set_bandwidth(Some(4 << 20));
    let open = |n: usize| {
        let stream = if n % 5 == 4 { "c/kind?k=a" } else { "c/all" };
        let address: SocketAddr = if n % 4 == 3 { slow_line.address() } else { app.address };
        let transport = Transport::ALL[n % 3];
        let path = app.path(stream);
        async move { transport.open(address, &path).await }
    };
    let clients = join_all((0..READERS).map(open)).await;
    (clients, slow_line)
}

/// Reads as many changes as there are to come, each in a task of its own.
fn collect(
    clients: Vec<Client>,
    count: usize,
    pick: fn(&serde_json::Value) -> i64,
) -> Vec<JoinHandle<Vec<i64>>> {
    let collect = |mut client: Client| async move {
        let mut seen = Vec::with_capacity(count);
        while seen.len() < count {
            seen.push(pick(&client.change().await));
        }
        seen
    };
    clients.into_iter().map(|client| tokio::spawn(collect(client))).collect()
}

async fn check(reading: Vec<JoinHandle<Vec<i64>>>, expected: &[i64]) {
    for (n, reading) in reading.into_iter().enumerate() {
        let seen = reading.await.unwrap();
        let wrong = seen.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "reader {n}");
        assert_eq!(seen.len(), expected.len(), "reader {n}");
    }
}

/// Ten thousand increments of one document reach every client in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn increments_of_one_document_keep_their_order() {
    let app = TestApp::start().await;
    app.declare("c", vec![all(), by_kind()]).await;
    let coll = app.coll("c");
    coll.insert_one(doc! { "_id": 1, "kind": "a", "n": 0 }).await.unwrap();
    let (clients, _line) = readers(&app).await;
    let reading = collect(clients, 10_000, |change| {
        change["updateDescription"]["updatedFields"]["n"].as_i64().unwrap()
    });
    let one = doc! { "q": { "_id": 1 }, "u": { "$inc": { "n": 1 } } };
    for _ in 0..20 {
        let updates = doc! { "update": "c", "updates": vec![one.clone(); 500] };
        app.db.run_command(updates).await.unwrap();
    }
    let expected: Vec<i64> = (1..=10_000).collect();
    check(reading, &expected).await;
}

/// Two thousand inserts in batches of a hundred reach every client in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_inserts_keep_their_order() {
    let app = TestApp::start().await;
    app.declare("c", vec![all(), by_kind()]).await;
    let (clients, _line) = readers(&app).await;
    let reading = collect(clients, 2_000, key);
    let coll = app.coll("c");
    for batch in 0..20 {
        let documents = (0..100).map(|n| doc! { "_id": batch * 100 + n, "kind": "a" });
        coll.insert_many(documents).await.unwrap();
    }
    let expected: Vec<i64> = (0..2_000).collect();
    check(reading, &expected).await;
    app.has_cursors("c", 1).await;
}
