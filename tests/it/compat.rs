//! `compat: restheart`: where its dialect differs from the contract, byte for byte and status for status.

use bson::{Document, doc};

use crate::{
    restheart_streams::{bare, started},
    support::{
        TestApp,
        fail_point::FailPoints,
        http,
        mongod::{connect, private},
        websocket::Socket,
    },
};

/// An invalid element: refused with its reason on write; where RESTHeart's rules hold, stored as it is and
/// answered 500 for every stream of the collection, also for one that nobody declared.
#[tokio::test]
async fn an_invalid_definition_never_breaks_the_service() {
    let broken = r#"{ "streams": [ { "stages": [] } ] }"#;
    for (dialect, written, opened) in [("", 422, 404), ("compat: restheart", 201, 500)] {
        let app = started(dialect).await;
        assert_eq!(app.send("PUT", &app.coll_path("other"), broken).await.status, written);
        app.declare("stored", vec![doc! { "stages": [] }]).await;
        let path = app.path("stored/whatever");
        assert_eq!(Socket::refused(app.address, &path).await.0, opened, "{dialect}");
        assert_eq!(app.get("/_/health/live").await.status, 200);
    }
}

/// In RESTHeart's dialect a stream is exactly its frames: no space after colons, the raw token, four fields.
#[tokio::test]
async fn the_other_dialect_sends_its_frames_byte_for_byte() {
    let app = started("compat: restheart").await;
    let mut head = b"GET ".to_vec();
    head.extend(app.path("coll/changeStream").bytes());
    head.extend(b" HTTP/1.1\r\naccept: text/event-stream");
    let reading = tokio::spawn({
        let address = app.address;
        async move { http::raw_answer(address, &head).await }
    });
    crate::support::eventually("the stream is open", async || app.cursors("coll").await == 1).await;
    app.coll("coll").insert_one(doc! { "_id": 1, "a": 1.0 }).await.unwrap();
    let mut socket = app.socket("coll/changeStream").await;
    app.coll("coll").insert_one(doc! { "_id": 2 }).await.unwrap();
    let second = socket.json().await;
    let keys: Vec<_> = second.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["fullDocument", "documentKey", "operationType"]);
    app.send("PUT", &app.coll_path("coll"), "{}").await;
    let answer = reading.await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let data = "data:{\"fullDocument\": {\"_id\": 1, \"a\": 1.0}, \"documentKey\": {\"_id\": 1}, \
                \"operationType\": \"insert\"}\n\n";
    assert!(body.contains("id:{\"_data\": \"82"), "{body}");
    assert!(body.contains(&format!("\"}}\nevent:change\n{data}")), "{body}");
    for other in ["ready", "close", "retry"] {
        assert!(!body.contains(other), "{body}");
    }
}

/// What cannot be read as a resume token is ignored there: the stream is live, without an error.
#[tokio::test]
async fn the_other_dialect_ignores_unreadable_ids() {
    let app = started("compat: restheart").await;
    for id in ["", "garbage", "{\"_data\": 1}", "{\"_data\": \"zz\"}", "{\"_data\": \"8263\"}"] {
        let mut sse = bare(&app, "coll/changeStream", &[("last-event-id", id)]).await;
        app.coll("coll").insert_one(Document::new()).await.unwrap();
        assert!(sse.until("change").await.id.is_some(), "{id}");
    }
}

/// What is gone for good, and an event on which a stage fails, are silence there. Here they are told by a
/// name that RESTHeart's clients do not listen to.
#[tokio::test]
async fn the_other_dialect_keeps_no_loss_silent() {
    let mongod = private().await;
    let db = connect(&mongod.uri()).await.database("d");
    let yaml = "compat: restheart\nstreams: { await: 200ms, max_event: 100KiB }";
    let app = TestApp::at(&mongod.uri(), db, yaml).await;
    let divide = doc! { "_$addFields": { "q": { "$divide": [1, "$fullDocument.n"] } } };
    app.declare("c", vec![doc! { "uri": "div", "stages": [divide] }]).await;
    let mut sse = bare(&app, "c/div", &[]).await;
    app.has_cursors("c", 1).await;
    for n in [0, 1] {
        app.coll("c").insert_one(doc! { "n": n }).await.unwrap();
    }
    let skipped = sse.event().await;
    assert!(skipped.is("skipped") && skipped.id.is_none(), "{skipped:?}");
    assert!(sse.event().await.is("change"));
    // One that was read and is too large is told alike: no id takes the place of a token.
    app.coll("c").insert_one(doc! { "n": 1, "text": "x".repeat(200_000) }).await.unwrap();
    let large = sse.event().await;
    assert!(large.is("skipped") && large.id.is_none(), "{large:?}");
    let faults = FailPoints::of(&mongod.uri()).await;
    faults.hit(1, &["getMore"], "d.c", doc! { "errorCode": 286 }).await;
    let reset = sse.event().await;
    assert!(reset.is("reset") && reset.id.is_none(), "{reset:?}");
    assert_eq!(reset.json()["reason"], "history_lost");
    mongod.stop().await.unwrap();
}
