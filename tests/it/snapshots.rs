//! `?snapshot=true`: the documents that are there, and then every change after them.

use std::collections::BTreeMap;

use bson::{Document, doc};
use futures_util::TryStreamExt;
use mongodb::Collection;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::support::{TestApp, all, client::key, sse::Sse, websocket::Socket};

/// What a page holds: each document's `n` by its `_id`. Every message has to fit to what it holds.
#[derive(Default)]
struct Page {
    documents: BTreeMap<String, i64>,
    is_whole: bool,
    is_over: bool,
}

impl Page {
    fn take(&mut self, event: &str, id: &Value, data: &Value) {
        match event {
            "ready" => assert_eq!((id, &data["id"]), (&Value::Null, &Value::Null)),
            "snapshot" => {
                assert!(!self.is_whole && id.is_null(), "{data}");
                let document = &data["document"];
                let known = self.documents.insert(name(&document["_id"]), number(&document["n"]));
                assert_eq!(known, None, "{document} twice");
            }
            "snapshot-end" => {
                assert!(!self.is_whole && !id.is_null() && *id == data["id"], "{data}");
                self.is_whole = true;
            }
            "change" => self.apply(data),
            "heartbeat" => assert_eq!(id.is_null(), !self.is_whole),
            other => panic!("{other}: {data}"),
        }
    }

    /// No change is missed and none is in the snapshot already.
    fn apply(&mut self, data: &Value) {
        assert!(self.is_whole, "{data}");
        let name = name(&data["documentKey"]["_id"]);
        let known = self.documents.get(&name).copied();
        match data["operationType"].as_str().unwrap() {
            "insert" => {
                assert_eq!(known, None, "{data}");
                self.is_over |= name == "\"end\"";
                self.documents.insert(name, 0);
            }
            "update" => {
                let n = number(&data["updateDescription"]["updatedFields"]["n"]);
                assert_eq!(known, Some(n - 1), "{data}");
                self.documents.insert(name, n);
            }
            "delete" => assert!(self.documents.remove(&name).is_some(), "{data}"),
            other => panic!("{other}"),
        }
    }
}

fn name(id: &Value) -> String {
    id.to_string()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value}"))
}

/// Inserts, increments and deletes until told to stop.
fn keep_writing(coll: Collection<Document>, stop: CancellationToken) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut number = 10_000_i64;
        while !stop.is_cancelled() {
            coll.insert_one(doc! { "_id": number, "n": 0_i64 }).await.unwrap();
            for id in [number, number % 3000] {
                coll.update_one(doc! { "_id": id }, doc! { "$inc": { "n": 1_i64 } }).await.unwrap();
            }
            if number % 2 == 0 {
                coll.delete_one(doc! { "_id": number - 5 }).await.unwrap();
                coll.delete_one(doc! { "_id": number % 3000 + 1 }).await.unwrap();
            }
            number += 1;
        }
    })
}

async fn stored(coll: &Collection<Document>) -> BTreeMap<String, i64> {
    let found: Vec<Document> = coll.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    let entry = |document: Document| {
        let id = document.get("_id").unwrap().clone().into_relaxed_extjson();
        (name(&id), document.get_i64("n").unwrap())
    };
    found.into_iter().map(entry).collect()
}

async fn filled(app: &TestApp, count: i64) {
    app.declare("c", vec![all()]).await;
    let documents = (0..count).map(|n| doc! { "_id": n, "n": 0_i64, "text": "x".repeat(100) });
    app.coll("c").insert_many(documents).await.unwrap();
}

async fn over_sse(mut sse: Sse) -> Page {
    let mut page = Page::default();
    while !page.is_over {
        let block = sse.block().await;
        let id = block.id.as_ref().map_or(Value::Null, |id| json!(id));
        match &block.event {
            Some(event) => page.take(event, &id, &block.json()),
            None => page.take("heartbeat", &id, &Value::Null),
        }
    }
    page
}

async fn over_socket(mut socket: Socket) -> Page {
    let mut page = Page::default();
    while !page.is_over {
        let message = socket.json().await;
        page.take(message["event"].as_str().unwrap(), &message["id"], &message["data"]);
    }
    page
}

/// A bare socket that has asked for a stream.
async fn subscribed(app: &TestApp, path: &str) -> Socket {
    let mut socket = Socket::open(app.address, "/_/ws", Some("tailwater.v1")).await;
    let wish = json!({ "subscribe": { "path": path }, "ref": 1 });
    socket.send(Message::text(wish.to_string())).await;
    socket
}

/// Under constant writes, whenever it was taken and over whichever transport, a snapshot and the changes
/// after it are exactly the collection: nothing is missed, and nothing told twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_and_its_changes_are_the_collection() {
    let app = TestApp::with_streams("heartbeat: 50ms\nsnapshots: 3").await;
    filled(&app, 3000).await;
    let path = app.path("c/all?snapshot=true");
    let stop = CancellationToken::new();
    let writing = keep_writing(app.db.collection("c"), stop.clone());
    let mut pages = Vec::new();
    for round in 0..12 {
        let page = match round % 3 {
            0 => tokio::spawn(over_sse(Sse::begin(app.address, &path, &[]).await)),
            1 => {
                let socket = Socket::open(app.address, &path, Some("tailwater.v1")).await;
                tokio::spawn(over_socket(socket))
            }
            _ => tokio::spawn(over_socket(subscribed(&app, &path).await)),
        };
        pages.push(page);
    }
    // Each takes its snapshot while writes go on: the last of them is whole only after that.
    let mut probe = Sse::begin(app.address, &path, &[]).await;
    probe.until("snapshot-end").await;
    for _ in 0..50 {
        probe.until("change").await;
    }
    stop.cancel();
    writing.await.unwrap();
    app.coll("c").insert_one(doc! { "_id": "end", "n": 0_i64 }).await.unwrap();
    let expected = stored(&app.coll("c")).await;
    for page in pages {
        assert_eq!(page.await.unwrap().documents, expected);
    }
}

/// The id of `snapshot-end`, as every later one, resumes after it; with an id there is no snapshot.
#[tokio::test]
async fn its_end_is_a_place_to_come_back_to() {
    let app = TestApp::with_streams("heartbeat: off").await;
    filled(&app, 3).await;
    let mut sse = Sse::begin(app.address, &app.path("c/all?snapshot=true"), &[]).await;
    let ready = sse.event().await;
    assert!(ready.is("ready") && ready.id.is_none() && ready.retry.is_some(), "{ready:?}");
    for _ in 0..3 {
        let block = sse.event().await;
        assert!(block.is("snapshot") && block.id.is_none(), "{block:?}");
    }
    let end = sse.event().await;
    assert!(end.is("snapshot-end"), "{end:?}");
    assert!(end.json()["operationTime"]["$timestamp"]["t"].is_number());
    drop(sse);
    app.coll("c").insert_one(doc! { "_id": 10, "n": 0_i64 }).await.unwrap();
    let mut back = app.resume("c/all?snapshot=true", &end.id.unwrap()).await;
    assert!(back.ready.id.is_some());
    assert_eq!(key(&back.change().await), 10);
    // What was cut before its end begins anew: a browser has no id to send.
    let mut cut = Sse::begin(app.address, &app.path("c/all?snapshot=true"), &[]).await;
    cut.until("snapshot").await;
    assert_eq!(cut.last_id, "");
    let mut anew = Sse::begin(app.address, &app.path("c/all?snapshot=true"), &[]).await;
    anew.event().await;
    for _ in 0..4 {
        assert!(anew.event().await.is("snapshot"));
    }
    assert!(anew.event().await.is("snapshot-end"));
}

/// A snapshot holds what the stream would tell of, were each document inserted now: its stages hold,
/// in MongoDB or in process, and so do the client's variables.
#[tokio::test]
async fn a_snapshot_is_what_the_stream_selects() {
    let app = TestApp::with_streams("heartbeat: off").await;
    let stream = |uri: &str, stages: Vec<Document>| doc! { "uri": uri, "stages": stages };
    let above = doc! { "$match": { "fullDocument::n": { "$gt": { "$var": "n" } } } };
    // No part of it can be decided in process.
    let computed = doc! { "$match": { "$expr": { "$eq": [{ "$mod": ["$fullDocument.n", { "$var": "m" }] }, 0] } } };
    let reshaped =
        doc! { "$project": { "fullDocument": { "n": 1 }, "operationType": 1, "documentKey": 1 } };
    app.declare(
        "c",
        vec![
            stream("above", vec![above.clone()]),
            stream("computed", vec![computed]),
            stream("reshaped", vec![doc! { "$match": { "fullDocument::kind": "a" } }, reshaped]),
            stream("deletes", vec![doc! { "$match": { "operationType": "delete" } }]),
            doc! { "uri": "kind", "stages": [], "notify_when": { "fullDocument::kind": { "$var": "k" } } },
        ],
    )
    .await;
    let documents =
        (0..10).map(|n| doc! { "_id": n, "n": n, "kind": if n < 4 { "a" } else { "b" } });
    app.coll("c").insert_many(documents).await.unwrap();
    for (stream, expected) in [
        ("c/above?avars={%22n%22:6}", vec![7, 8, 9]),
        ("c/computed?avars={%22m%22:4}", vec![0, 4, 8]),
        ("c/reshaped?x=1", vec![0, 1, 2, 3]),
        ("c/deletes?x=1", vec![]),
        ("c/kind?k=b", vec![4, 5, 6, 7, 8, 9]),
        ("c/kind?k=none", vec![]),
    ] {
        let path = app.path(&format!("{stream}&snapshot=true"));
        let mut sse = Sse::begin(app.address, &path, &[]).await;
        let mut numbers = Vec::new();
        loop {
            let block = sse.event().await;
            match block.event.as_deref() {
                Some("snapshot") => {
                    let document = block.json()["document"].clone();
                    assert_eq!(document.get("kind").is_none(), stream.starts_with("c/reshaped"));
                    numbers.push(document["n"].as_i64().unwrap());
                }
                Some("snapshot-end") => break,
                _ => assert!(block.is("ready"), "{block:?}"),
            }
        }
        numbers.sort_unstable();
        assert_eq!(numbers, expected, "{stream}");
    }
}

/// A client that does not read holds the reading back: what it has not taken stays in MongoDB, and when
/// it leaves the cursor ends.
#[tokio::test]
async fn a_client_that_does_not_read_holds_the_snapshot_back() {
    let app = TestApp::with_streams("heartbeat: off\nwrite_timeout: 5m").await;
    app.declare("c", vec![all()]).await;
    for n in 0..60 {
        let large = (0..10).map(|m| doc! { "_id": n * 10 + m, "text": "x".repeat(100_000) });
        app.coll("c").insert_many(large).await.unwrap();
    }
    let path = app.path("c/all?snapshot=true&jsonMode=EXTENDED");
    let mut slow = Sse::begin(app.address, &path, &[]).await;
    slow.until("snapshot").await;
    // Another client is served meanwhile, to its end.
    let mut other = Sse::begin(app.address, &path, &[]).await;
    other.until("snapshot-end").await;
    let open = snapshot_cursors(&app).await;
    assert_eq!(open.len(), 1, "the slow client's, and no other: {open:?}");
    assert!(open[0] < 600, "{} of 600 documents were read for a client that reads none", open[0]);
    for _ in 1..600 {
        assert!(slow.event().await.is("snapshot"));
    }
    assert!(slow.event().await.is("snapshot-end"));
    let mut left = Sse::begin(app.address, &path, &[]).await;
    left.until("snapshot").await;
    drop(left);
    crate::support::eventually("the cursor has ended", async || {
        snapshot_cursors(&app).await.is_empty()
    })
    .await;
}

/// Documents returned so far by each cursor that reads a snapshot.
async fn snapshot_cursors(app: &TestApp) -> Vec<i64> {
    let pipeline = [
        doc! { "$currentOp": { "idleCursors": true, "allUsers": true } },
        doc! { "$match": {
            "ns": format!("{}.c", app.db.name()),
            "cursor.originatingCommand.readConcern.level": "snapshot",
        } },
    ];
    let mut found = app.db.client().database("admin").aggregate(pipeline).await.unwrap();
    let mut returned = Vec::new();
    while found.advance().await.unwrap() {
        let cursor = found.current().get_document("cursor").unwrap();
        returned.push(cursor.get_i64("nDocsReturned").unwrap());
    }
    returned
}

/// What has no form for documents refuses to begin with them.
#[tokio::test]
async fn plain_messages_have_no_snapshot() {
    let app = TestApp::with_streams("heartbeat: off").await;
    filled(&app, 1).await;
    let (status, message) = Socket::refused(app.address, &app.path("c/all?snapshot=true")).await;
    assert_eq!(status, 400);
    assert!(message.contains("tailwater.v1"), "{message}");
    assert_eq!(app.open_status("c/all?snapshot=yes").await, 400);
    assert_eq!(app.open_status("c/all?snapshot=false").await, 200);
    assert_eq!(app.sse("c/all?snapshot=false").await.ready.id.map(|id| id.len()), Some(44));
    let compat = TestApp::configured("compat: restheart").await;
    filled(&compat, 1).await;
    assert_eq!(compat.open_status("c/all?snapshot=true").await, 400);
    assert_eq!(compat.open_status("c/all").await, 200);
}

/// On a connection of several streams one begins with documents and the other does not; the id has no
/// place of the first before its snapshot is whole.
#[tokio::test]
async fn one_stream_of_several_begins_with_documents() {
    let app = TestApp::with_streams("heartbeat: off").await;
    filled(&app, 2).await;
    app.declare("d", vec![all()]).await;
    let with = app.path("c/all?snapshot=true");
    let path = format!("/_/sse?stream={with}&stream={}", app.path("d/all"));
    let mut sse = Sse::begin(app.address, &path, &[]).await;
    let (mut documents, mut end) = (0, None);
    while end.is_none() {
        let block = sse.event().await;
        let data = block.json();
        match block.event.as_deref() {
            Some("ready") => assert_eq!(data["data"]["id"].is_null(), data["stream"] == with),
            Some("snapshot") => {
                assert_eq!((&data["stream"], &data["id"]), (&json!(with), &Value::Null));
                assert!(data["data"]["document"].is_object());
                documents += 1;
            }
            Some("snapshot-end") => end = block.id,
            _ => panic!("{block:?}"),
        }
    }
    assert_eq!(documents, 2);
    drop(sse);
    app.coll("c").insert_one(doc! { "_id": 5, "n": 0_i64 }).await.unwrap();
    let mut back = Sse::begin(app.address, &path, &[("last-event-id", &end.unwrap())]).await;
    let change = loop {
        let block = back.event().await;
        assert!(!block.is("snapshot"), "{block:?}");
        if block.is("change") {
            break block.json();
        }
    };
    assert_eq!((&change["stream"], key(&change["data"])), (&json!(with), 5));
}
