//! Coming back while everybody writes: the union of what was received is exactly what was written.

use bson::{Document, doc};
use mongodb::Collection;
use tokio::{sync::watch, task::JoinHandle};

use crate::support::{TestApp, all, client::key, eventually, mongod, proxy::Proxy, sse::Sse};

const BACKLOG: i64 = 20_000;

fn by_kind() -> Document {
    doc! { "uri": "kind", "stages": [], "notify_when": { "fullDocument::kind": { "$var": "k" } } }
}

async fn backlog(coll: &Collection<Document>) {
    for start in (1..=BACKLOG).step_by(1000) {
        let document = |n: i64| doc! { "_id": n, "kind": if n % 10 == 0 { "ten" } else { "" } };
        coll.insert_many((start..start + 1000).map(document)).await.unwrap();
    }
}

/// Writes on, one by one, until it is told to stop; gives the number after the last.
fn keep_writing(coll: Collection<Document>, stop: watch::Receiver<bool>) -> JoinHandle<i64> {
    tokio::spawn(async move {
        let mut n = BACKLOG + 1;
        while !*stop.borrow() {
            let kind = if n % 10 == 0 { "ten" } else { "" };
            coll.insert_one(doc! { "_id": n, "kind": kind }).await.unwrap();
            n += 1;
        }
        n
    })
}

/// A backlog of twenty thousand events is replayed while writes go on, from MongoDB: strictly in order,
/// no gap, no repeat across the hand-over, for a selection as for everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_meets_live_events_without_gap_or_repeat() {
    let first = TestApp::start().await;
    first.declare("c", vec![all(), by_kind()]).await;
    let id = first.sse("c/all").await.last_id;
    backlog(&first.coll("c")).await;
    // A service that begins in the middle: its cursor is open while the replays run.
    let app = TestApp::at(&mongod::shared_uri().await, first.db.clone(), "").await;
    let keeper = app.sse("c/all").await;
    let (stop, stopped) = watch::channel(false);
    let coll = app.db.collection("c");
    let writing = keep_writing(coll, stopped);
    let mut clients = Vec::new();
    for step in [1, 10, 1, 10] {
        let stream = if step == 1 { "c/all" } else { "c/kind?k=ten" };
        clients.push((app.resume(stream, &id).await, step, 0));
    }
    for (client, step, last) in &mut clients {
        while *last < BACKLOG + 300 {
            *last += *step;
            assert_eq!(key(&client.change().await), *last);
        }
    }
    stop.send(true).unwrap();
    let end = writing.await.unwrap();
    for (client, step, mut last) in clients {
        let mut client = client;
        while last + step < end {
            last += step;
            assert_eq!(key(&client.change().await), last);
        }
    }
    drop(keeper);
}

/// A client whose connection is cut again and again receives 1..5000, in order, each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_a_hundred_times_loses_nothing() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let proxy = Proxy::start(app.address).await;
    let path = app.path("c/all");
    let mut client = Sse::open(proxy.address(), &path, &[]).await;
    let coll = app.db.collection::<Document>("c");
    let writing = tokio::spawn(async move {
        for n in 1..=5000_i64 {
            coll.insert_one(doc! { "_id": n }).await.unwrap();
        }
    });
    let (mut last, mut cuts) = (0, 0);
    while last < 5000 {
        match client.try_block().await {
            Some(block) if block.is("change") => {
                last += 1;
                assert_eq!(key(&block.json()), last, "after {cuts} cuts");
                if last % 50 == 0 {
                    proxy.reset_all();
                    cuts += 1;
                }
            }
            Some(block) => assert!(block.event.is_none() || block.is("ready"), "{block:?}"),
            None => {
                let id = client.last_id.clone();
                client = Sse::begin(proxy.address(), &path, &[("last-event-id", &id)]).await;
                client.last_id = id;
            }
        }
    }
    assert_eq!(cuts, 100);
    writing.await.unwrap();
}

/// A replay ends with its cursor: when it has been handed over, and when its client leaves half-way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_leaves_no_cursor_behind() {
    let first = TestApp::start().await;
    first.declare("c", vec![all()]).await;
    let id = first.sse("c/all").await.last_id;
    backlog(&first.coll("c")).await;
    let app = TestApp::at(&mongod::shared_uri().await, first.db.clone(), "").await;
    let _keeper = app.sse("c/all").await;
    let mut whole = app.resume("c/all", &id).await;
    for n in 0..12 {
        let mut left = app.resume("c/all", &id).await;
        if n % 2 == 0 {
            left.change().await;
        }
    }
    for n in 1..=BACKLOG {
        assert_eq!(key(&whole.change().await), n);
    }
    // The service that gave the id lingers with a cursor of its own.
    first.stop().await;
    eventually("only the shared cursor is left", async || app.cursors("c").await == 1).await;
}
