//! Ids that are none, of another stream, or from the future: answered in band, never with an error or silence.

use bson::doc;
use serde_json::Value;

use crate::support::{TestApp, all, http, sse::Sse};

/// Garbage as clients really send it.
fn garbage() -> Vec<String> {
    let mut ids: Vec<String> = [
        "0",
        "null",
        "undefined",
        "NaN",
        "xyz",
        "{\"_data\": \"8263\"}",
        "82ZZ",
        "-1",
        "..",
        "AAAA",
        "=",
        "%41",
        "a b",
        "'; drop",
        "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("A".repeat(44));
    ids.push("x".repeat(4000));
    ids.extend(["\u{e9}\u{1F600}", "\r\nx: y", "\0"].map(str::to_owned));
    ids
}

async fn started() -> TestApp {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    app.declare("d", vec![all()]).await;
    app
}

/// Opens with any bytes in the header.
async fn resume(app: &TestApp, stream: &str, id: &str) -> Sse {
    let encoded = percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC);
    let path = app.path(stream);
    if id.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Sse::open(app.address, &path, &[("last-event-id", id)]).await;
    }
    Sse::open(app.address, &format!("{path}?lastEventId={encoded}"), &[]).await
}

#[track_caller]
fn check_reset(reset: &Value, collection: &str) {
    assert_eq!(reset["reason"], "unknown_id", "{reset}");
    assert!(!reset["message"].as_str().unwrap().is_empty());
    assert_eq!(reset["recover"]["link"], collection);
    assert!(reset["recover"]["advice"].as_str().unwrap().len() > 20);
}

/// Over SSE: 200, `ready`, `reset` with the way back, and then the stream is live.
#[tokio::test]
async fn an_unknown_id_is_a_reset() {
    let app = started().await;
    for id in garbage() {
        let mut sse = resume(&app, "c/all", &id).await;
        let reset = sse.event().await;
        assert!(reset.is("reset"), "{id:.50}: {reset:?}");
        assert!(reset.id.is_some(), "the client's position is moved off the bad id");
        check_reset(&reset.json(), &app.coll_path("c"));
        app.coll("c").insert_one(doc! {}).await.unwrap();
        sse.change().await;
        // What the reset moved the client to is an id like any other.
        let mut back = resume(&app, "c/all", reset.id.as_deref().unwrap()).await;
        assert!(back.event().await.is("change"), "{id:.50}");
    }
}

/// A plain WebSocket has no words for it and is closed with 4410; the subprotocol has.
#[tokio::test]
async fn an_unknown_id_on_a_socket() {
    let app = started().await;
    for id in garbage() {
        let encoded =
            percent_encoding::utf8_percent_encode(&id, percent_encoding::NON_ALPHANUMERIC);
        let stream = format!("c/all?lastEventId={encoded}");
        let mut plain = app.socket(&stream).await;
        assert_eq!(plain.closed().await, (4410, "history lost".to_owned()), "{id:.50}");
        let (mut enveloped, _) = app.enveloped(&stream).await;
        let reset = enveloped.json().await;
        assert_eq!(reset["event"], "reset");
        check_reset(&reset["data"], &app.coll_path("c"));
        app.coll("c").insert_one(doc! {}).await.unwrap();
        let change = enveloped.json().await;
        assert_eq!((&change["event"], change["id"].is_string()), (&"change".into(), true));
    }
}

/// An id of another collection, or with one letter changed, is unknown; one of another stream of the same
/// collection is good.
#[tokio::test]
async fn an_id_belongs_to_its_collection() {
    let app = started().await;
    let stages = vec![doc! { "$match": { "operationType": "insert" } }];
    app.declare("c", vec![all(), doc! { "uri": "inserts", "stages": stages }]).await;
    let mut sse = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    sse.change().await;
    let id = sse.last_id.clone();
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    let mut other = resume(&app, "c/inserts", &id).await;
    assert_eq!(other.change().await["documentKey"]["_id"], 2);
    let mut foreign = resume(&app, "d/all", &id).await;
    assert!(foreign.event().await.is("reset"));
    for at in [0, 10, 30, 43] {
        let mut forged = id.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let mut sse = resume(&app, "c/all", &String::from_utf8(forged).unwrap()).await;
        assert!(sse.event().await.is("reset"), "{at}");
    }
}

/// An empty id is none; the header wins over the query; the `_etag` that a client names is in the way back.
#[tokio::test]
async fn where_an_id_comes_from() {
    let app = started().await;
    let mut sse = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    sse.change().await;
    let id = sse.last_id.clone();
    for n in [2, 3] {
        app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
        // Once the shared cursor has read it, a live client cannot be given it any more.
        sse.change().await;
    }
    for (header, query, expected) in [
        (Some(""), "", None),
        (Some("  "), "", None),
        (None, "?lastEventId=", None),
        (None, "?lastEventId=GOOD", Some("change")),
        (Some("GOOD"), "?lastEventId=x", Some("change")),
        (Some("x"), "?lastEventId=GOOD", Some("reset")),
        (Some(""), "?lastEventId=GOOD", None),
    ] {
        let path = app.path(&format!("c/all{}", query.replace("GOOD", &id)));
        let header = header.map(|header| header.replace("GOOD", &id));
        let headers: Vec<_> =
            header.iter().map(|header| ("last-event-id", header.as_str())).collect();
        let mut sse = Sse::open(app.address, &path, &headers).await;
        app.coll("c").insert_one(doc! { "_id": format!("{header:?}{query}") }).await.unwrap();
        let first = sse.event().await;
        match expected {
            None => assert!(first.json()["documentKey"]["_id"].is_string(), "{header:?} {query}"),
            Some("change") => {
                assert_eq!(first.json()["documentKey"]["_id"], 2, "{header:?} {query}");
            }
            Some(_) => assert!(first.is("reset"), "{header:?} {query}: {first:?}"),
        }
    }
    let etag = "62166d53ebdcd56455a1a7aa";
    let mut sse = app.resume(&format!("c/all?etag={etag}"), "x").await;
    let link = sse.event().await.json()["recover"]["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("{}?filter=%7B%22_etag%22", app.coll_path("c"))), "{link}");
    assert!(link.contains(etag) && link.ends_with("&sort=%7B%22_etag%22%3A1%7D"), "{link}");
    assert_eq!(app.get(&link).await.status, 200);
    let two = [("accept", "text/event-stream"), ("last-event-id", "x"), ("last-event-id", "y")];
    let status = http::begin(app.address, "GET", &app.path("c/all"), &two, "").await.status();
    assert_eq!(status, 200);
    let head =
        format!("GET {} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream", app.path("c/all"));
    let bytes = [head.as_bytes(), b"\r\nlast-event-id: \xff\xfe\r\n\r\n"].concat();
    assert_eq!(http::raw(app.address, &bytes).await, "HTTP/1.1 200 OK");
}
