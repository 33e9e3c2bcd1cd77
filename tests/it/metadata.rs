//! Metadata over HTTP: what is written, under which condition, and what is shown of it.

use bson::{Document, doc, oid::ObjectId};
use serde_json::json;

use crate::support::{TestApp, http, http::Answer};

async fn with_tag(
    app: &TestApp,
    method: &str,
    path: &str,
    header: (&str, &str),
    body: &str,
) -> Answer {
    let headers = [("content-type", "application/json"), header];
    http::request(app.address, method, path, &headers, body).await
}

/// PUT makes the collection and needs no PUT of the database before; it replaces everything, expands dotted
/// keys, drops `_id`, gives a fresh tag, and says nothing.
#[tokio::test]
async fn put_creates_and_replaces() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    let body =
        r#"{ "_id": "mine", "_etag": "mine", "a.b.c": 1, "a.d": 2, "descr": "x", "streams": [] }"#;
    let created = app.send("PUT", &path, body).await;
    assert_eq!((created.status, created.body.as_str()), (201, ""));
    let names = app.db.list_collection_names().await.unwrap();
    assert!(names.contains(&"c".to_owned()), "{names:?}");
    let stored = app.stored("c").await.unwrap();
    assert_eq!(stored.get_document("a").unwrap(), &doc! { "b": { "c": 1 }, "d": 2 });
    assert_eq!(created.header("etag").unwrap(), stored.get_object_id("_etag").unwrap().to_hex());

    let replaced = app.send("PUT", &path, "{'other': ObjectId('62166d53ebdcd56455a1a7aa')}").await;
    assert_eq!(replaced.status, 200);
    assert_ne!(replaced.header("etag"), created.header("etag"));
    let stored = app.stored("c").await.unwrap();
    let keys: Vec<_> = stored.keys().collect();
    assert_eq!(keys, ["_id", "other", "_etag"]);
    assert!(stored.get_object_id("other").is_ok());

    assert_eq!(app.send("PUT", &path, "").await.status, 200, "an empty body is an empty object");
    assert_eq!(app.stored("c").await.unwrap().len(), 2);
}

/// PATCH sets plain and dotted keys, lets operators pass, and leaves the rest alone.
#[tokio::test]
async fn patch_updates() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    let body = r#"{ "descr": "x", "gone": 1, "streams": [ { "uri": "a", "stages": [] } ] }"#;
    let put = app.send("PUT", &path, body).await;
    let rows = [
        (r#"{ "descr": "y", "_id": "z", "_etag": "z" }"#, r#""descr": "y""#),
        (r#"{ "$push": { "streams": { "uri": "b", "stages": [] } } }"#, r#""uri": "b""#),
        (r#"{ "streams.1.uri": "c" }"#, r#""uri": "c""#),
        (r#"{ "deep.er": 1, "$set": { "deep.est": 2 } }"#, r#""deep": {"er": 1, "est": 2}"#),
        (r#"{ "$unset": { "gone": "" }, "kept": true }"#, r#""kept": true"#),
        (
            r#"{ "$pull": { "streams": { "uri": "a" } } }"#,
            r#""streams": [{"uri": "c", "stages": []}]"#,
        ),
    ];
    for (patch, shown) in rows {
        let patched = app.send("PATCH", &path, patch).await;
        assert_eq!((patched.status, patched.body.as_str()), (200, ""), "{patch}");
        let meta = app.get(&format!("{path}/_meta")).await;
        assert!(meta.body.contains(shown), "{shown} is not in {}", meta.body);
        assert_eq!(patched.header("etag"), meta.header("etag"));
    }
    let stored = app.stored("c").await.unwrap();
    assert!(stored.get("gone").is_none());
    assert_eq!(stored.get_str("_id").ok(), Some("_properties.c"));
    assert_ne!(put.header("etag").unwrap(), stored.get_object_id("_etag").unwrap().to_hex());
    app.sse("c/c").await;
}

/// PATCH needs data and a collection; a collection without metadata gets some.
#[tokio::test]
async fn patch_needs_something_to_patch() {
    let app = TestApp::start().await;
    let nowhere = app.send("PATCH", &app.coll_path("c"), r#"{ "a": 1 }"#).await;
    assert_eq!(nowhere.status, 404);
    assert_eq!(nowhere.message(), format!("Db '{}' does not exist", app.db.name()));
    app.coll("other").insert_one(doc! {}).await.unwrap();
    let no_coll = app.send("PATCH", &app.coll_path("c"), r#"{ "a": 1 }"#).await;
    assert_eq!(
        (no_coll.status, no_coll.message().as_str()),
        (404, "Collection 'c' does not exist")
    );
    for empty in ["", "{}", " "] {
        let answer = app.send("PATCH", &app.coll_path("other"), empty).await;
        assert_eq!((answer.status, answer.message().as_str()), (400, "no data provided"));
    }
    assert_eq!(app.send("PATCH", &app.coll_path("other"), r#"{ "a": 1 }"#).await.status, 200);
    assert_eq!(app.stored("other").await.unwrap().get_i32("a").ok(), Some(1));
    assert_eq!(app.send("PATCH", &app.coll_path("_x"), r#"{ "a": 1 }"#).await.status, 400);
}

/// `_meta` shows what is stored, with its tag; 304 when the client has it, 404 when there is none.
#[tokio::test]
async fn meta_shows_what_is_stored() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    let meta = format!("{path}/_meta");
    assert_eq!(app.get(&meta).await.message(), format!("Db '{}' does not exist", app.db.name()));
    app.coll("c").insert_one(doc! {}).await.unwrap();
    let none = app.get(&meta).await;
    assert_eq!(none.status, 404);
    assert_eq!(none.message(), "resource _meta is not defined for this collection.");
    let body = r#"{ "streams": [ { "uri": "a", "stages": [ { "_$match": { "fullDocument::x": 1 } } ] } ] }"#;
    let tag = app.send("PUT", &path, body).await.header("etag").unwrap().to_owned();
    for spelled in ["_meta", "_META"] {
        let shown = app.get(&format!("{path}/{spelled}")).await;
        assert_eq!((shown.status, shown.header("etag")), (200, Some(tag.as_str())));
        let json = shown.json();
        assert_eq!(json["_id"], "_meta");
        assert_eq!(json["streams"][0]["stages"][0]["_$match"]["fullDocument::x"], 1, "as stored");
        assert_eq!(json["_etag"]["$oid"], tag);
    }
    for known in [tag.clone(), format!("\"{tag}\""), format!("W/\"{tag}\"")] {
        let header = [("if-none-match", known.as_str())];
        let same = http::request(app.address, "GET", &meta, &header, "").await;
        assert_eq!((same.status, same.body.as_str()), (304, ""), "{known}");
        assert_eq!(same.header("etag"), Some(tag.as_str()));
    }
    let header = [("if-none-match", "62166d53ebdcd56455a1a7aa")];
    assert_eq!(http::request(app.address, "GET", &meta, &header, "").await.status, 200);
    for method in ["PUT", "PATCH", "DELETE", "POST"] {
        assert_eq!(app.send(method, &meta, "{}").await.status, 405, "{method}");
    }
}

/// `If-Match`: the write happens when the tag is the stored one, else 412 and nothing changes; `?checkEtag`
/// without a tag is 409. Both answers carry the current tag.
#[tokio::test]
async fn tags_guard_writes() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    let stale = ObjectId::new().to_hex();
    for (method, body) in [("PUT", r#"{ "n": 1 }"#), ("PATCH", r#"{ "n": 1 }"#)] {
        let tag = app.send("PUT", &path, r#"{ "n": 0 }"#).await.header("etag").unwrap().to_owned();
        for wrong in [stale.as_str(), "", "x", "\"\""] {
            let refused = with_tag(&app, method, &path, ("if-match", wrong), body).await;
            assert_eq!(refused.status, 412, "{method} {wrong}");
            assert_eq!(refused.header("etag"), Some(tag.as_str()));
            assert_eq!(refused.json()["http status description"], "Precondition Failed");
        }
        let required = app.send(method, &format!("{path}?checkEtag"), body).await;
        assert_eq!(
            (required.status, required.header("etag")),
            (409, Some(tag.as_str())),
            "{method}"
        );
        assert_eq!(
            app.stored("c").await.unwrap().get_i32("n").ok(),
            Some(0),
            "nothing was written"
        );
        let quoted = format!("\"{tag}\"");
        let done = with_tag(&app, method, &path, ("if-match", &quoted), body).await;
        assert_eq!(done.status, 200, "{method}: {}", done.body);
        assert_ne!(done.header("etag"), Some(tag.as_str()));
        assert_eq!(app.stored("c").await.unwrap().get_i32("n").ok(), Some(1));
    }
    let missing = app.coll_path("never");
    let refused = with_tag(&app, "PUT", &missing, ("if-match", &stale), "{}").await;
    assert_eq!((refused.status, refused.header("etag")), (412, None));
    assert!(app.stored("never").await.is_none());
    assert!(!app.db.list_collection_names().await.unwrap().contains(&"never".to_owned()));
}

/// PUT of a database is accepted, so that scripts written for RESTHeart run.
#[tokio::test]
async fn databases_can_be_declared() {
    let app = TestApp::start().await;
    let path = format!("/{}", app.db.name());
    let created = app.send("PUT", &path, r#"{ "descr": "x" }"#).await;
    assert_eq!((created.status, created.body.as_str()), (201, ""));
    assert!(created.header("etag").is_some());
    assert_eq!(app.send("PUT", &format!("{path}/"), "").await.status, 200);
    assert_eq!(app.send("PATCH", &path, r#"{ "a": 1 }"#).await.status, 405);
    assert_eq!(app.send("PATCH", &app.coll_path("c"), r#"{ "a": 1 }"#).await.status, 404);
}

/// Many clients that patch at once all succeed, and every change is there at the end.
#[tokio::test]
async fn concurrent_patches_all_succeed() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    app.send("PUT", &path, "{}").await;
    let other = app.replica("").await;
    let patches: Vec<_> = (0..24)
        .map(|n| {
            let address = if n % 2 == 0 { app.address } else { other.address };
            let (path, body) = (path.clone(), format!(r#"{{ "k{n}": {n} }}"#));
            tokio::spawn(async move {
                let json = [("content-type", "application/json")];
                http::request(address, "PATCH", &path, &json, &body).await
            })
        })
        .collect();
    for patch in patches {
        let answer = patch.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let stored: Document = app.stored("c").await.unwrap();
    assert!((0..24).all(|n| stored.get_i32(format!("k{n}")).ok() == Some(n)), "{stored}");
}

/// The list names each stream with its link, its variables and what its author should know; bad siblings are
/// not in it, and a collection without metadata has none.
#[tokio::test]
async fn streams_are_listed() {
    let app = TestApp::start().await;
    let list = format!("{}/_streams", app.coll_path("c"));
    assert_eq!(app.get(&list).await.status, 404);
    app.coll("c").insert_one(doc! {}).await.unwrap();
    assert_eq!(app.get(&list).await.json(), json!([]));
    let stage = doc! { "$match": { "a": { "$var": "x" }, "b": { "$var": ["y", 1] } } };
    let streams = vec![
        doc! { "uri": "é x", "stages": [], "description": "odd" },
        doc! { "uri": "bad", "stages": 1 },
        doc! { "uri": "s", "stages": [stage], "notify_when": { "fullDocument::t": { "$var": "tid" } } },
    ];
    app.declare("c", streams).await;
    let listed = app.get(&list).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["uri"], &listed[0]["description"]), (&json!("é x"), &json!("odd")));
    let link = listed[0]["link"].as_str().unwrap();
    assert_eq!(link, format!("{list}/%C3%A9%20x"));
    let variables = json!([
        { "name": "x", "required": true }, { "name": "y", "required": false },
        { "name": "tid", "required": true } ]);
    assert_eq!(listed[1]["variables"], variables);
    assert!(listed[1]["warnings"].is_array(), "a client chooses its tenant: {}", listed[1]);
    crate::support::sse::Sse::open(app.address, link, &[]).await;
    let odd = format!("{}/_STREAMS/", app.coll_path("c"));
    assert_eq!(
        app.get(&odd).await.json(),
        listed,
        "links are paths of this service, however it was asked"
    );
}
