//! The primary dies, or steps down again and again: nothing is lost and nobody is cut.

use bson::{Document, doc};
use mongodb::{Collection, error::ErrorKind};
use tokio::time::interval;

use super::Faulty;
use crate::support::{
    TestApp, all,
    client::keys,
    eventually,
    mongod::{ThreeNodes, connect},
};

/// Inserts until it is known that a majority has it, through elections.
async fn insert(coll: &Collection<Document>, n: i64) {
    eventually("the insert is acknowledged", async || {
        match coll.insert_one(doc! { "_id": n }).await {
            Ok(_) => true,
            Err(error) => is_duplicate(&error),
        }
    })
    .await;
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    use mongodb::error::WriteFailure;
    matches!(error.kind.as_ref(), ErrorKind::Write(WriteFailure::WriteError(e)) if e.code == 11000)
}

/// `kill -9` of the primary of three: the connections stay, and what a majority acknowledged before,
/// during and after the election arrives in order, each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_primary_costs_no_event() {
    let mut set = ThreeNodes::start().await;
    let db = connect(&set.uri()).await.database("d");
    let app = TestApp::at(&set.uri(), db, "streams: { heartbeat: 1s, await: 200ms }").await;
    app.declare("c", vec![all()]).await;
    let mut client = app.sse("c/all").await;
    let coll = app.coll("c");
    for n in 0..200 {
        if n == 60 {
            set.kill_primary().await;
        }
        insert(&coll, n).await;
    }
    let mut seen = Vec::new();
    while seen.len() < 200 {
        let block = client.event().await;
        assert!(block.is("change") || block.is("status"), "{block:?}");
        if block.is("change") {
            seen.push(block.json()["documentKey"]["_id"].as_i64().unwrap());
        }
    }
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
    // The id of the last event before the election is good after it, from MongoDB too.
    let fresh = TestApp::at(&set.uri(), app.db.clone(), "").await;
    let first = client.ready.id.clone().unwrap();
    let mut back = fresh.resume("c/all", &first).await;
    assert_eq!(keys(&mut back, 200).await, seen);
}

/// Five step-downs within a minute while 1..2000 are written: all arrive, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_step_downs_cost_no_event() {
    let set = Faulty::start(vec![]).await;
    let mut client = set.app.sse("c/all").await;
    let coll = set.app.coll("c");
    let admin = set.app.db.client().database("admin");
    let stepping = async {
        let mut every = interval(std::time::Duration::from_secs(2));
        for _ in 0..5 {
            every.tick().await;
            // Its connections may be closed before it answers.
            drop(admin.run_command(doc! { "replSetStepDown": 1, "force": true }).await);
        }
    };
    let writing = async {
        for n in 1..=2000 {
            insert(&coll, n).await;
        }
    };
    tokio::join!(stepping, writing);
    let mut next = 1;
    while next <= 2000 {
        let block = client.event().await;
        if block.is("change") {
            assert_eq!(block.json()["documentKey"]["_id"], next);
            next += 1;
        } else {
            assert!(block.is("status"), "{block:?}");
        }
    }
    set.stop().await;
}
