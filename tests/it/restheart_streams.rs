//! What RESTHeart's own suites ask of streams, in both dialects: its clients must not notice a difference.

use bson::doc;
use serde_json::Value;

use crate::support::{TestApp, sse::Sse};

/// The contract's dialect, and exactly RESTHeart's.
const DIALECTS: [&str; 2] = ["", "compat: restheart"];

/// The streams of RESTHeart's suite, in the escaped spelling that it stores.
const STREAMS: &str = r#"{ "streams": [
    { "uri": "changeStream", "stages": [] },
    { "uri": "changeStreamWithStageParam", "stages": [
        { "_$match": { "fullDocument.targettedProperty": { "_$var": "param" } } } ] },
    { "uri": "cs", "stages": [
        { "_$match": { "fullDocument::name": "uji" } },
        { "_$match": { "_$or": [ { "operationType": "insert" }, { "operationType": "update" } ] } } ] },
    { "uri": "ud", "stages": [
        { "_$match": { "updateDescription::updatedFields::a": { "_$exists": true } } } ] },
    { "uri": "testResume", "stages": [
        { "_$match": { "operationType": "insert" } },
        { "_$addFields": { "fullDocument.div": { "_$divide": [1, "$fullDocument.n"] } } } ] } ] }"#;

/// A service with RESTHeart's streams, declared as its suite does.
pub(crate) async fn started(yaml: &str) -> TestApp {
    let app = TestApp::configured(yaml).await;
    let db = format!("/{}", app.db.name());
    assert_eq!(app.send("PUT", &db, "{}").await.status, 201);
    assert_eq!(app.send("PUT", &app.coll_path("coll"), STREAMS).await.status, 201);
    app
}

/// `coll/…` as a bare SSE stream: RESTHeart's begin without a greeting.
pub(crate) async fn bare(app: &TestApp, stream: &str, headers: &[(&str, &str)]) -> Sse {
    Sse::begin(app.address, &app.path(stream), headers).await
}

/// The single quotes of RESTHeart's suite, as a URL carries them.
const PARAM: &str = "%7B'param':%20'test'%7D";

/// Declaring twice answers 201 and then 200; a plain GET on a declared stream is 400.
#[tokio::test]
async fn declaring_works_as_its_scripts_expect() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let db = format!("/{}", app.db.name());
        assert_eq!(app.send("PUT", &db, "{}").await.status, 200);
        assert_eq!(app.send("PUT", &app.coll_path("coll"), STREAMS).await.status, 200);
        let plain = app.get(&app.path("coll/changeStream")).await;
        assert_eq!(plain.status, 400);
        assert_eq!(
            plain.message(),
            "Change Stream requires WebSocket or SSE \u{2014} send either 'Upgrade: websocket' or \
             'Accept: text/event-stream'"
        );
        assert_eq!(app.get(&app.path("coll/nowhere")).await.status, 404, "404 comes before 400");
    }
}

/// A socket without variables hears of every insert with its fields; one with `avars` in single quotes only
/// of what matches.
#[tokio::test]
async fn sockets_hear_of_inserts() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut every = app.socket("coll/changeStream").await;
        let mut some = app.socket(&format!("coll/changeStreamWithStageParam?avars={PARAM}")).await;
        let coll = app.coll("coll");
        coll.insert_one(doc! { "_id": 1, "targettedProperty": "other", "a": { "b": [1, 2] } })
            .await
            .unwrap();
        coll.insert_one(doc! { "_id": 2, "targettedProperty": "test" }).await.unwrap();
        let event = every.json().await;
        assert_eq!(event["operationType"], "insert");
        assert_eq!(event["fullDocument"]["a"]["b"][1], 2);
        let event = some.json().await;
        assert_eq!(event["fullDocument"]["_id"], 2, "the other one did not match: {dialect}");
    }
}

/// Updates carry the new values and name the removed ones, without and with `avars`; an upsert inserts first
/// and replaces then.
#[tokio::test]
async fn updates_and_upserts_keep_their_kind() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let with_avars = format!("coll/changeStreamWithStageParam?avars={PARAM}");
        let mut sockets = [app.socket("coll/changeStream").await, app.socket(&with_avars).await];
        let coll = app.coll("coll");
        for gone in [1, 2] {
            let document = doc! { "targettedProperty": "test", "gone": gone };
            coll.replace_one(doc! { "_id": 1 }, document).upsert(true).await.unwrap();
        }
        let update = doc! { "$set": { "a": "new", "b.c": 5 }, "$unset": { "gone": "" } };
        coll.update_one(doc! { "_id": 1 }, update).await.unwrap();
        for socket in &mut sockets {
            let insert = socket.json().await;
            assert_eq!(
                (&insert["operationType"], &insert["fullDocument"]["gone"]),
                (&"insert".into(), &1.into())
            );
            assert_eq!(socket.json().await["operationType"], "replace");
            check_update(&socket.json().await);
        }
    }
}

#[track_caller]
fn check_update(event: &Value) {
    assert_eq!(event["operationType"], "update");
    let description = &event["updateDescription"];
    assert_eq!(description["updatedFields"]["a"], "new");
    assert_eq!(description["removedFields"], serde_json::json!(["gone"]));
}

/// A stream on changed fields only fires when the field changed.
#[tokio::test]
async fn a_match_on_updated_fields_fires_only_when_the_field_changed() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut socket = app.socket("coll/ud").await;
        let coll = app.coll("coll");
        coll.insert_one(doc! { "_id": 1, "a": 1, "b": 1 }).await.unwrap();
        coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "b": 2 } }).await.unwrap();
        coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 2 } }).await.unwrap();
        let event = socket.json().await;
        assert_eq!(event["updateDescription"]["updatedFields"], serde_json::json!({ "a": 2 }));
    }
}

/// Two `$match` stages with escaped paths and `$or` select as MongoDB does.
#[tokio::test]
async fn escaped_stages_select() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut socket = app.socket("coll/cs").await;
        let coll = app.coll("coll");
        coll.insert_one(doc! { "_id": 1, "name": "other" }).await.unwrap();
        coll.insert_one(doc! { "_id": 2, "name": "uji" }).await.unwrap();
        coll.replace_one(doc! { "_id": 2 }, doc! { "name": "uji", "x": 1 }).await.unwrap();
        coll.update_one(doc! { "_id": 2 }, doc! { "$set": { "x": 2 } }).await.unwrap();
        assert_eq!(socket.json().await["fullDocument"]["_id"], 2);
        let event = socket.json().await;
        assert_eq!(event["operationType"], "update", "the replacement is no part of the stream");
    }
}

/// One event on which a stage fails is left out, and the next one arrives on the same socket.
#[tokio::test]
async fn a_stage_that_fails_on_one_event_does_not_end_the_stream() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut socket = app.socket("coll/testResume").await;
        let mut sse = bare(&app, "coll/testResume", &[]).await;
        let coll = app.coll("coll");
        coll.insert_one(doc! { "_id": 1, "n": 1 }).await.unwrap();
        coll.insert_one(doc! { "_id": 2, "n": "string" }).await.unwrap();
        coll.insert_one(doc! { "_id": 3, "n": 0 }).await.unwrap();
        coll.insert_one(doc! { "_id": 4, "n": 2 }).await.unwrap();
        for (id, div) in [(1, 1.0), (4, 0.5)] {
            for event in [socket.json().await, sse.until("change").await.json()] {
                assert_eq!(event["documentKey"]["_id"], id);
                assert_eq!(event["fullDocument"]["div"], div);
            }
        }
    }
}

/// Clearing the streams closes every open connection, and the write is answered 200.
#[tokio::test]
async fn clearing_the_streams_closes_them() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut socket = app.socket("coll/changeStream").await;
        let sse = bare(&app, "coll/cs", &[]).await;
        let cleared = app.send("PUT", &app.coll_path("coll"), r#"{ "streams": [] }"#).await;
        assert_eq!((cleared.status, cleared.body.as_str()), (200, ""));
        assert_eq!(socket.closed().await.0, 4404);
        sse.rest().await;
        assert_eq!(app.refused("coll/cs").await.status, 404);
    }
}

/// SSE: 200, the content type, `id`, `event` and `data` of each event; both transports hear the same.
#[tokio::test]
async fn events_have_three_lines() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let mut sse = bare(&app, "coll/changeStream", &[]).await;
        let mut socket = app.socket("coll/changeStream").await;
        assert!(sse.headers["content-type"].to_str().unwrap().contains("text/event-stream"));
        app.coll("coll").insert_one(doc! { "_id": 1 }).await.unwrap();
        let block = sse.until("change").await;
        assert!(block.id.is_some() && block.data.is_some() && block.retry.is_none());
        assert!(block.data.unwrap().contains("insert"));
        assert_eq!(socket.json().await["operationType"], "insert");
    }
}

/// A reconnect with `Last-Event-ID` brings what came later and nothing that was seen; a fresh connection after
/// the only one has closed works.
#[tokio::test]
async fn reconnecting_works_with_and_without_an_id() {
    for dialect in DIALECTS {
        let app = started(dialect).await;
        let coll = app.coll("coll");
        let mut first = bare(&app, "coll/changeStream", &[]).await;
        coll.insert_one(doc! { "_id": 1 }).await.unwrap();
        let id = first.until("change").await.id.unwrap();
        drop(first);
        coll.insert_one(doc! { "_id": 2 }).await.unwrap();
        let mut back = bare(&app, "coll/changeStream", &[("last-event-id", &id)]).await;
        assert_eq!(back.until("change").await.json()["documentKey"]["_id"], 2);
        drop(back);
        let mut fresh = bare(&app, "coll/changeStream", &[]).await;
        coll.insert_one(doc! { "_id": 3 }).await.unwrap();
        assert_eq!(fresh.until("change").await.json()["documentKey"]["_id"], 3);
    }
}

/// An idle stream is kept alive by comments that no parser of events minds; a socket by pings.
#[tokio::test]
async fn idle_streams_are_kept_alive() {
    for dialect in DIALECTS {
        let app = started(&format!("change-streams-keep-alive-ms: 100\n{dialect}")).await;
        let mut sse = bare(&app, "coll/changeStream", &[]).await;
        let mut socket = app.socket("coll/changeStream").await;
        assert!(socket.message().await.is_ping());
        assert!(socket.message().await.is_ping());
        app.coll("coll").insert_one(doc! { "_id": 1 }).await.unwrap();
        let mut comments = 0;
        let change = loop {
            let block = sse.block().await;
            comments += block.comments.len();
            if block.is("change") {
                break block;
            }
        };
        assert!(comments > 0, "{dialect}");
        assert_eq!(change.json()["documentKey"]["_id"], 1);
        assert_eq!(socket.json().await["documentKey"]["_id"], 1);
    }
}

/// A keep-alive of 0 sends none: between the beginning and the first event there is nothing.
#[tokio::test]
async fn a_keep_alive_of_zero_sends_none() {
    let app = TestApp::configured("change-streams-keep-alive-ms: 0").await;
    app.declare("c", vec![crate::support::all()]).await;
    let mut sse = app.sse("c/all").await;
    assert_eq!(sse.ready.json()["heartbeat"], 0);
    let mut socket = app.socket("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert!(sse.block().await.is("change"));
    assert!(socket.message().await.is_text());
}
