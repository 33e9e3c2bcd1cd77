//! Events beyond the 16 MB that MongoDB sends in one message: whole all the same.

use bson::{Document, doc};
use mongodb::options::{ClientOptions, ServerAddress};
use serde_json::Value;

use crate::support::{
    TestApp,
    client::Transport,
    mongod::{fresh_database, shared_uri},
    proxy::Proxy,
    sse::Sse,
};

/// Half of what one message holds, and a little more.
const BYTES: usize = 9_000_000;

/// Both images, and a field that a stage adds.
fn images() -> Document {
    let stages = vec![doc! { "_$addFields": { "seen": "$fullDocument.n" } }];
    doc! {
        "uri": "images", "stages": stages,
        "full_document": "updateLookup", "full_document_before_change": "whenAvailable",
    }
}

fn mine() -> Document {
    let mut mine = images();
    mine.insert("uri", "mine");
    mine.insert("notify_when", doc! { "fullDocument::n": { "$var": "n" } });
    mine
}

#[track_caller]
fn check_whole(event: &Value, n: i64) {
    assert_eq!(event["operationType"], "update");
    assert_eq!((&event["fullDocument"]["n"], &event["seen"]), (&n.into(), &n.into()));
    assert_eq!(event["fullDocumentBeforeChange"]["n"], n - 1);
    assert_eq!(event["updateDescription"]["updatedFields"]["n"], n);
    for image in ["fullDocument", "fullDocumentBeforeChange"] {
        assert_eq!(event[image]["text"].as_str().unwrap().len(), BYTES, "{image}");
    }
    assert!(event.get("splitEvent").is_none() && event.get("_id").is_none());
}

/// An update whose images exceed 16 MB together arrives whole, in its place, under an id of its own, live
/// and in a replay, for a selection as for everything; what follows arrives too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_over_16_mb_arrives_whole() {
    let app = TestApp::start().await;
    app.db.create_collection("c").await.unwrap();
    let collmod = doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } };
    app.db.run_command(collmod).await.unwrap();
    app.declare("c", vec![images(), mine()]).await;
    let coll = app.coll("c");
    let document = doc! { "_id": 1, "n": 1_i64, "text": "x".repeat(BYTES) };
    coll.insert_one(document).await.unwrap();
    let mut all = app.sse("c/images").await;
    let mut two = app.sse("c/mine?n=2").await;
    let mut socket = Transport::Plain.open(app.address, &app.path("c/images")).await;
    let start = all.last_id.clone();
    for n in [2_i64, 3] {
        coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": n } }).await.unwrap();
        // Looked up when it is read: the next update waits until this one has been.
        check_whole(&socket.change().await, n);
    }
    coll.insert_one(doc! { "_id": 2, "n": 2_i64 }).await.unwrap();
    check_whole(&two.change().await, 2);
    let ids = check_rest(&mut all, &[2, 3]).await;
    assert_eq!(two.change().await["documentKey"]["_id"], 2);
    // Elsewhere nothing is in memory: the same is read from MongoDB.
    let other = app.replica("").await;
    let mut back = other.resume("c/images", &ids[0]).await;
    assert_eq!(check_rest(&mut back, &[3]).await, ids[1..]);
    let mut back = other.resume("c/images", &start).await;
    // What is looked up now is newer; the pre-images are as they were.
    for before in [1, 2] {
        let event = back.change().await;
        assert_eq!(event["fullDocumentBeforeChange"]["n"], before);
        assert_eq!(event["fullDocument"]["n"], 3);
    }
}

/// A MongoDB that does not cut up events (before 6.0.9) does not know the stage that asks for it: the event is
/// skipped, that is said in its place, and what follows arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_events_are_not_cut_up_a_large_one_is_skipped() {
    let uri = shared_uri().await;
    let ClientOptions { hosts, .. } = ClientOptions::parse(&uri).await.unwrap();
    let [ServerAddress::Tcp { port: Some(port), .. }] = hosts[..] else { panic!("{hosts:?}") };
    let proxy = Proxy::start(([127, 0, 0, 1], port).into()).await;
    proxy.rename("$changeStreamSplitLargeEvent", "$changeStreamSplitLargeEvenX");
    let uri = format!("mongodb://{}/?directConnection=true", proxy.address());
    let app = TestApp::at(&uri, fresh_database().await, "").await;
    app.db.create_collection("c").await.unwrap();
    let collmod = doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } };
    app.db.run_command(collmod).await.unwrap();
    app.declare("c", vec![images()]).await;
    let coll = app.coll("c");
    coll.insert_one(doc! { "_id": 1, "n": 1_i64, "text": "x".repeat(BYTES) }).await.unwrap();
    let mut sse = app.sse("c/images").await;
    let start = sse.last_id.clone();
    coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 2_i64 } }).await.unwrap();
    coll.insert_one(doc! { "_id": 2, "n": 2_i64 }).await.unwrap();
    let mut back = app.resume("c/images", &start).await;
    for client in [&mut sse, &mut back] {
        assert!(client.event().await.is("skipped"), "BIG-01");
        assert_eq!(client.change().await["documentKey"]["_id"], 2, "BIG-01");
    }
}

/// Large events and then a small one; gives the ids of the large ones.
async fn check_rest(sse: &mut Sse, large: &[i64]) -> Vec<String> {
    let mut ids = Vec::new();
    for n in large {
        check_whole(&sse.change().await, *n);
        ids.push(sse.last_id.clone());
    }
    assert_eq!(sse.change().await["documentKey"]["_id"], 2);
    ids
}
