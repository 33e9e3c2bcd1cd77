//! Metadata that is refused: with a reason and a place, and as if the request had never been made.

use bson::{Document, doc};

use crate::support::{TestApp, http, http::Answer};

/// The contract's body, and nothing else in it.
#[track_caller]
pub(crate) fn check_error(answer: &Answer, status: u16, description: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json; charset=UTF-8"));
    let json = answer.json();
    let keys: Vec<_> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["http status code", "http status description", "message"]);
    assert_eq!(json["http status code"], status);
    assert_eq!(json["http status description"], description);
    assert!(!answer.message().contains(['"', '\t']) && !answer.message().is_empty());
}

/// Every invalid stream is named with its place and its reason, all in one answer.
#[tokio::test]
async fn invalid_streams_are_refused_with_their_places() {
    let app = TestApp::start().await;
    let rows = [
        (r#"{ "streams": 1 }"#, "streams"),
        (r#"{ "streams": {} }"#, "streams"),
        (r#"{ "streams": null }"#, "streams"),
        (r#"{ "streams": [1] }"#, "streams[0]"),
        (r#"{ "streams": [{ "stages": [] }] }"#, "streams[0]"),
        (r#"{ "streams": [{ "uri": 1, "stages": [] }] }"#, "streams[0].uri"),
        (r#"{ "streams": [{ "uri": "", "stages": [] }] }"#, "streams[0].uri"),
        (r#"{ "streams": [{ "uri": "a/b", "stages": [] }] }"#, "streams[0].uri"),
        (r#"{ "streams": [{ "uri": "_meta", "stages": [] }] }"#, "streams[0].uri"),
        (r#"{ "streams": [{ "uri": "a" }] }"#, "streams[0]"),
        (r#"{ "streams": [{ "uri": "a", "stages": {} }] }"#, "streams[0].stages"),
        (r#"{ "streams": [{ "uri": "a", "stages": [1] }] }"#, "streams[0].stages[0]"),
        (r#"{ "streams": [{ "uri": "a", "stages": [{}] }] }"#, "streams[0].stages[0]"),
        (
            r#"{ "streams": [{ "uri": "a", "stages": [{ "$match": {} }, { "$match": { "$var": 1 } }] }] }"#,
            "streams[0].stages[1]",
        ),
        (
            r#"{ "streams": [{ "uri": "a", "stages": [{ "$ifvar": ["x"] }] }] }"#,
            "streams[0].stages[0].$ifvar",
        ),
        (
            r#"{ "streams": [{ "uri": "a", "stages": [{ "$unset": "_id" }] }] }"#,
            "streams[0].stages[0]",
        ),
        (
            r#"{ "streams": [{ "uri": "a", "stages": [], "full_document": "x" }] }"#,
            "streams[0].full_document",
        ),
        (r#"{ "streams": [{ "uri": "a", "stages": [], "leave": 1 }] }"#, "streams[0].leave"),
        (
            r#"{ "streams": [{ "uri": "a", "stages": [] }, { "uri": "a", "stages": [] }] }"#,
            "streams[1].uri",
        ),
    ];
    for (body, place) in rows {
        let answer = app.send("PUT", &app.coll_path("c"), body).await;
        check_error(&answer, 422, "Unprocessable Entity");
        assert!(answer.message().contains(place), "{place} is not in {}", answer.message());
    }
    let both = r#"{ "streams": [{ "uri": "a" }, { "uri": "b", "stages": [] }, { "uri": "c" }] }"#;
    let message = app.send("PUT", &app.coll_path("c"), both).await.message();
    assert!(message.contains("streams[0]") && message.contains("streams[2]"), "{message}");
    assert!(app.stored("c").await.is_none());
    assert!(app.db.list_collection_names().await.unwrap().is_empty());
}

/// A refused PATCH leaves everything as it was, and nobody who watches the metadata ever saw it.
#[tokio::test]
async fn a_refused_patch_never_happened() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    let tag = app
        .send("PUT", &path, r#"{ "n": 1, "streams": [ { "uri": "all", "stages": [] } ] }"#)
        .await;
    let before = app.stored("c").await;
    let mut session = app.sse("c/all").await;
    let mut changes = app.db.collection::<Document>("_properties").watch().await.unwrap();
    for patch in [
        r#"{ "n": 2, "streams.0.stages": 1 }"#,
        r#"{ "$push": { "streams": { "uri": "b" } }, "n": 2 }"#,
        r#"{ "$push": { "streams": { "uri": "all", "stages": [] } } }"#,
        r#"{ "$unset": { "streams.0.stages": "" } }"#,
        r#"{ "$set": { "streams": [ { "uri": "all", "stages": [ { "$out": "x" } ] } ] } }"#,
        r#"{ "streams": [ { "uri": "all", "stages": [] }, { "uri": 5, "stages": [] } ] }"#,
    ] {
        let answer = app.send("PATCH", &path, patch).await;
        check_error(&answer, 422, "Unprocessable Entity");
        assert_eq!(app.stored("c").await, before, "{patch}");
    }
    app.send("PATCH", &path, r#"{ "n": 3 }"#).await;
    let first = changes.next_if_any().await.unwrap();
    let first = match first {
        Some(first) => first,
        None => futures_util::StreamExt::next(&mut changes).await.unwrap().unwrap(),
    };
    let updated = first.update_description.unwrap().updated_fields;
    assert_eq!(updated.get_i32("n").ok(), Some(3), "the only event is that of the accepted patch");
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(session.change().await["documentKey"]["_id"], 1);
    assert!(tag.header("etag").is_some());
}

/// Updates that MongoDB refuses are the client's fault.
#[tokio::test]
async fn updates_that_mongodb_refuses_are_400() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    app.send("PUT", &path, r#"{ "text": "x" }"#).await;
    for patch in [
        r#"{ "$foo": { "a": 1 } }"#,
        r#"{ "$inc": { "text": 1 } }"#,
        r#"{ "$push": { "text": 1 } }"#,
        r#"{ "$set": 1 }"#,
        r#"{ "$set": { "_id": "other" } }"#,
        r#"{ "$unset": { "_etag": "" } }"#,
        r#"{ "text.deeper": 1 }"#,
        r#"{ "a": 1, "a.b": 2 }"#,
        r#"{ "": 1 }"#,
        r#"{ "a..b": 1 }"#,
        r#"{ "a.$[x]": 1 }"#,
        r#"{ "$unset": 1 }"#,
    ] {
        check_error(&app.send("PATCH", &path, patch).await, 400, "Bad Request");
    }
    for put in [r#"{ "$set": { "a": 1 } }"#, r#"{ "$unset": {} }"#, r#"{ "a": 1, "a.b": 2 }"#] {
        check_error(&app.send("PUT", &path, put).await, 400, "Bad Request");
    }
    assert_eq!(app.stored("c").await.unwrap().get_str("text").ok(), Some("x"));
}

/// Bodies that cannot be read say where; none of them reaches the stored metadata.
#[tokio::test]
async fn unreadable_bodies_are_refused() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    app.coll("c").insert_one(doc! {}).await.unwrap();
    let deep = format!("{{\"a\": {}1{} }}", "[".repeat(10_000), "]".repeat(10_000));
    let dotted = format!("{{\"a{}\": 1}}", ".a".repeat(200_000));
    for (body, named) in [
        ("{", "line 1"),
        ("{\n  \"a\": 1,\n  \"b\" 2 }", "line 3"),
        ("[1]", ""),
        ("1", ""),
        ("\"x\"", ""),
        ("null", ""),
        ("{\"a\": 1}{\"b\": 2}", ""),
        ("{\"a\": 1, \"a\": 2}", ""),
        ("{\"a\\u0000b\": 1}", ""),
        ("{\"a\": {\"b\\u0000\": 1}}", ""),
        (&deep, ""),
        (&dotted, ""),
    ] {
        for method in ["PUT", "PATCH"] {
            let answer = app.send(method, &path, body).await;
            check_error(&answer, 400, "Bad Request");
            assert!(answer.message().contains(named), "{}", answer.message());
            assert!(answer.body.len() < 2000);
        }
    }
    assert!(app.stored("c").await.is_none());
}

/// The type has to be JSON when one is given; a body beyond the bound is 413, announced or not.
#[tokio::test]
async fn bodies_have_a_type_and_a_bound() {
    let app = TestApp::configured("limits: { request_body: 64KiB }").await;
    let path = app.coll_path("c");
    for (media, status) in [
        ("application/json", 201),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
        ("application/hal+json", 200),
        ("text/plain", 415),
        ("application/xml", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ] {
        let headers = [("content-type", media)];
        let answer = http::request(app.address, "PUT", &path, &headers, "{}").await;
        assert_eq!(answer.status, status, "{media}");
        if status == 415 {
            check_error(&answer, 415, "Unsupported Media Type");
        }
    }
    assert_eq!(http::request(app.address, "PUT", &path, &[], "{}").await.status, 200);
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(70_000));
    for method in ["PUT", "PATCH"] {
        check_error(&app.send(method, &path, &large).await, 413, "Payload Too Large");
    }
}
