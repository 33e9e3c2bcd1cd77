//! Everybody comes back at once: MongoDB hears of it a few times, and nobody misses anything.

use bson::doc;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::support::{
    TestApp, all,
    client::{key, keys},
    fail_point::FailPoints,
    mongod::{connect, private},
    setting,
    sse::Sse,
};

/// How many come back, each with a position of its own, unless `TAILWATER_STORM_CLIENTS` says otherwise.
/// Each takes two file descriptors here, its own and the service's.
const CLIENTS: i64 = 400;

/// Catch-up cursors that the service may open.
const CATCH_UPS: i64 = 8;

/// Clients with distinct positions inside and outside of the history resume by few readings, and each
/// goes on exactly where it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_reconnects_opens_few_cursors() {
    let count = setting("TAILWATER_STORM_CLIENTS", CLIENTS);
    let mongod = private().await;
    let db = connect(&mongod.uri()).await.database("d");
    let history = count / 2;
    let bounds = format!(
        "streams: {{ catch_up: {CATCH_UPS}, history: {{ events: {history}, bytes: 64MiB }} }}"
    );
    let app = TestApp::at(&mongod.uri(), db, &bounds).await;
    app.declare("c", vec![all()]).await;
    let faults = FailPoints::of(&mongod.uri()).await;
    let mut reader = app.sse("c/all").await;
    let mut ids = Vec::new();
    for n in 1..=count {
        app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
        assert_eq!(key(&reader.change().await), n);
        ids.push(reader.last_id.clone());
    }
    let before = faults.count("aggregate").await;
    let back = ids.iter().map(|id| app.resume("c/all", id));
    let mut clients = join_all(back).await;
    app.coll("c").insert_one(doc! { "_id": count + 1 }).await.unwrap();
    let read = clients.iter_mut().zip(1..).map(async |(client, n)| {
        let expected: Vec<i64> = (n + 1..=count + 1).collect();
        assert_eq!(keys(client, expected.len()).await, expected, "after {n}");
    });
    join_all(read).await;
    let opened = faults.count("aggregate").await - before;
    // Each catch-up finds the events that ids name with one, and reads with another.
    assert!((1..=2 * CATCH_UPS).contains(&opened), "{opened} aggregates");
    mongod.stop().await.unwrap();
}

/// Clients that come back and read nothing keep nobody else from coming back, though they are as many as
/// there may be catch-up cursors, several times over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_clients_keep_nobody_from_resuming() {
    let first = TestApp::start().await;
    let stage = |n: i32| doc! { "$match": { "operationType": { "$ne": format!("never-{n}") } } };
    let own = |n: i32| doc! { "uri": format!("own-{n}"), "stages": [stage(n)] };
    first.declare("c", (0..4).map(own).chain([all()]).collect()).await;
    let id = first.sse("c/all").await.last_id;
    // Several times what loopback's buffers hold.
    let text = "x".repeat(256 * 1024);
    let documents = (0..96_i64).map(|n| doc! { "_id": n, "text": &text });
    first.coll("c").insert_many(documents).await.unwrap();
    let app = first.replica("streams: { catch_up: 1 }").await;
    let last = [("last-event-id", id.as_str())];
    let mut stalled = Vec::new();
    for n in 0..4 {
        let path = app.path(&format!("c/own-{n}"));
        stalled.push(Sse::begin(app.address, &path, &last).await);
    }
    let began = Instant::now();
    let mut quick = app.resume("c/all", &id).await;
    assert_eq!(keys(&mut quick, 96).await, (0..96).collect::<Vec<_>>());
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    // Whoever reads at last has missed nothing.
    let mut late = stalled.remove(0).ready().await;
    assert_eq!(keys(&mut late, 96).await, (0..96).collect::<Vec<_>>());
}
