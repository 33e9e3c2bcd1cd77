//! Everybody comes back at once: MongoDB hears of it a few times, and nobody misses anything.

use bson::doc;
use futures_util::future::join_all;

use crate::support::{
    TestApp, all,
    client::{key, keys},
    fail_point::FailPoints,
    mongod::{connect, private},
};

/// How many come back, each with a position of its own. A debug build of both sides on one machine
/// takes 2,000 in a minute or two.
const CLIENTS: i64 = 400;

/// Catch-up cursors that the service may open.
const CATCH_UPS: i64 = 8;

/// Clients with distinct positions inside and outside of the history resume by few readings, and each
/// goes on exactly where it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_reconnects_opens_few_cursors() {
    let mongod = private().await;
    let db = connect(&mongod.uri()).await.database("d");
    let history = CLIENTS / 2;
    let bounds = format!(
        "streams: {{ catch_up: {CATCH_UPS}, history: {{ events: {history}, bytes: 64MiB }} }}"
    );
    let app = TestApp::at(&mongod.uri(), db, &bounds).await;
    app.declare("c", vec![all()]).await;
    let faults = FailPoints::of(&mongod.uri()).await;
    let mut reader = app.sse("c/all").await;
    let mut ids = Vec::new();
    for n in 1..=CLIENTS {
        app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
        assert_eq!(key(&reader.change().await), n);
        ids.push(reader.last_id.clone());
    }
    let before = faults.count("aggregate").await;
    let back = ids.iter().map(|id| app.resume("c/all", id));
    let mut clients = join_all(back).await;
    app.coll("c").insert_one(doc! { "_id": CLIENTS + 1 }).await.unwrap();
    let read = clients.iter_mut().zip(1..).map(async |(client, n)| {
        let expected: Vec<i64> = (n + 1..=CLIENTS + 1).collect();
        assert_eq!(keys(client, expected.len()).await, expected, "after {n}");
    });
    join_all(read).await;
    let opened = faults.count("aggregate").await - before;
    assert!((1..=CATCH_UPS).contains(&opened), "{opened} aggregates");
    mongod.stop().await.unwrap();
}
