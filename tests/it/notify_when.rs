//! `notify_when`: who hears of an event, decided on the shared cursor.

use bson::{Document, doc, oid::ObjectId};
use serde_json::Value;

use crate::support::{TestApp, sse::Sse};

fn by(path: &str) -> Document {
    doc! { "uri": "by", "stages": [], "notify_when": { path: { "$var": "tid" } } }
}

async fn app_by(path: &str) -> TestApp {
    let app = TestApp::start().await;
    app.declare("c", vec![by(path)]).await;
    app
}

/// The `_id`s that a client has heard of, up to and including the marker.
async fn heard(sse: &mut Sse, marker: i32) -> Vec<i64> {
    let mut ids = Vec::new();
    loop {
        let id = sse.change().await["documentKey"]["_id"].as_i64().unwrap();
        if id == i64::from(marker) {
            return ids;
        }
        ids.push(id);
    }
}

/// Two clients with two values hear each of their own, and share one cursor with a hundred others.
#[tokio::test]
async fn each_client_hears_of_its_own_on_one_cursor() {
    let app = app_by("fullDocument::tenantId").await;
    let mut clients = Vec::new();
    for n in 0..100 {
        clients.push((n, app.sse(&format!("c/by?tid=tenant-{n}")).await));
    }
    let mut socket = app.socket("c/by?tid=tenant-7").await;
    for n in 0..100 {
        let document = doc! { "_id": n, "tenantId": format!("tenant-{n}") };
        app.coll("c").insert_one(document).await.unwrap();
    }
    for (n, client) in &mut clients {
        assert_eq!(client.change().await["documentKey"]["_id"], *n);
    }
    assert_eq!(socket.json().await["documentKey"]["_id"], 7);
    app.has_cursors("c", 1).await;
}

/// Distinct values of a stage variable share a cursor where the stage can run in process; where only MongoDB
/// can run it they cost a cursor each, and equal values share it.
#[tokio::test]
async fn variables_of_stages_cost_no_more_cursors_than_they_must() {
    let app = TestApp::start().await;
    let here = doc! { "$match": { "fullDocument.t": { "$var": "t" } } };
    let there = doc! { "$set": { "x": { "$concat": [{ "$var": "t" }, "!"] } } };
    let stream = |uri: &str, stage: Document| doc! { "uri": uri, "stages": [stage] };
    for (coll, stage, cursors) in [("here", here, 1), ("there", there, 3)] {
        app.declare(coll, vec![stream("s", stage)]).await;
        let mut open = Vec::new();
        for t in ["a", "b", "c", "a", "b", "c"] {
            open.push(app.sse(&format!("{coll}/s?t={t}")).await);
        }
        assert_eq!(app.cursors(coll).await, cursors, "{coll}");
    }
}

/// A variable that is not bound is `400` with its name, on either transport: never everything.
#[tokio::test]
async fn an_unbound_variable_is_refused() {
    let app = app_by("fullDocument::tenantId").await;
    for query in ["", "?TID=x", "?avars=%7B%7D", "?avars=%7B%22tId%22:1%7D"] {
        let answer = app.refused(&format!("c/by{query}")).await;
        assert_eq!((answer.status, answer.message().as_str()), (400, "variable tid not bound"));
        let path = app.path(&format!("c/by{query}"));
        let refused = crate::support::websocket::Socket::refused(app.address, &path).await;
        assert_eq!(refused, (400, "variable tid not bound".to_owned()));
    }
    let mut empty = app.sse("c/by?tid=").await;
    app.coll("c").insert_one(doc! { "_id": 1, "tenantId": "x" }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 3, "tenantId": "" }).await.unwrap();
    assert_eq!(empty.change().await["documentKey"]["_id"], 3, "an empty value matches only itself");
}

/// `?tid=acme` is `avars={"tid":"acme"}`; when both are given `avars` wins.
#[tokio::test]
async fn plain_parameters_and_avars_bind_alike() {
    let app = app_by("fullDocument::tenantId").await;
    let queries =
        ["tid=acme", "avars=%7B%22tid%22:%22acme%22%7D", "tid=no&avars=%7B'tid':'acme'%7D"];
    let mut clients = Vec::new();
    for query in queries {
        clients.push(app.sse(&format!("c/by?{query}")).await);
    }
    app.coll("c").insert_one(doc! { "_id": 1, "tenantId": "no" }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2, "tenantId": "acme" }).await.unwrap();
    for client in &mut clients {
        assert_eq!(client.change().await["documentKey"]["_id"], 2);
    }
}

/// The path walks documents, arrays and arrays of documents as MongoDB does; what has no image is not for
/// anybody who binds.
#[tokio::test]
async fn paths_walk_as_those_of_mongodb() {
    let rows: [(&str, Document, bool); 10] = [
        ("fullDocument::t", doc! { "t": "v" }, true),
        ("fullDocument::t", doc! { "t": "other" }, false),
        ("fullDocument::t", doc! { "u": "v" }, false),
        ("fullDocument::t", doc! { "t": ["a", "v"] }, true),
        ("fullDocument::t", doc! { "t": ["a", "b"] }, false),
        ("fullDocument::t", doc! { "t": [] }, false),
        ("fullDocument::org.id", doc! { "org": { "id": "v" } }, true),
        ("fullDocument::org.id", doc! { "org": { "id": "w" } }, false),
        (
            "fullDocument::recipients.id",
            doc! { "recipients": [{ "id": "u" }, { "id": "v" }] },
            true,
        ),
        ("fullDocument::a.0.b", doc! { "a": [{ "b": "v" }] }, true),
    ];
    for (path, mut document, expected) in rows {
        let app = app_by(path).await;
        let mut client = app.sse("c/by?tid=v").await;
        document.insert("_id", 1);
        app.coll("c").insert_one(&document).await.unwrap();
        app.coll("c").delete_one(doc! { "_id": 1 }).await.unwrap();
        let marker = doc! { "_id": 9, "t": "v", "org": { "id": "v" }, "recipients": [{ "id": "v" }], "a": [{ "b": "v" }] };
        app.coll("c").insert_one(marker).await.unwrap();
        let ids = heard(&mut client, 9).await;
        assert_eq!(ids, if expected { vec![1] } else { vec![] }, "{path} on {document}");
    }
}

/// The number 5 is what a plain `5` spells, and not what a typed string `"5"` is.
#[tokio::test]
async fn plain_text_spells_typed_values() {
    let app = app_by("fullDocument::tenantId").await;
    let mut plain = app.sse("c/by?tid=5").await;
    let mut typed = app.sse("c/by?avars=%7B%22tid%22:%225%22%7D").await;
    let mut number = app.sse("c/by?avars=%7B%22tid%22:5%7D").await;
    let values: [bson::Bson; 4] = [5.into(), 5_i64.into(), 5.0.into(), "5".into()];
    for (id, value) in (1..).zip(values) {
        app.coll("c").insert_one(doc! { "_id": id, "tenantId": value }).await.unwrap();
    }
    app.coll("c").insert_one(doc! { "_id": 9, "tenantId": [5, "5"] }).await.unwrap();
    assert_eq!(heard(&mut plain, 9).await, [1, 2, 3, 4]);
    assert_eq!(heard(&mut typed, 9).await, [4]);
    assert_eq!(heard(&mut number, 9).await, [1, 2, 3]);
}

/// `documentKey::_id` finds ObjectIds by their digits, and so reaches deletes as well.
#[tokio::test]
async fn the_document_key_finds_deletes() {
    let app = app_by("documentKey::_id").await;
    let id = ObjectId::new();
    let mut client = app.sse(&format!("c/by?tid={id}")).await;
    app.coll("c").insert_many([doc! { "_id": ObjectId::new() }, doc! { "_id": id }]).await.unwrap();
    app.coll("c").delete_one(doc! { "_id": id }).await.unwrap();
    for operation in ["insert", "delete"] {
        let event = client.change().await;
        assert_eq!(event["operationType"], operation);
        assert_eq!(event["documentKey"]["_id"]["$oid"], id.to_hex());
    }
}

/// Several entries must all hold; a default stands in for what is not bound; a constant needs no client.
#[tokio::test]
async fn several_entries_must_all_hold() {
    let app = TestApp::start().await;
    let notify = doc! {
        "fullDocument::a": { "$var": "x" },
        "fullDocument::b": { "_$var": ["y", 2] },
        "fullDocument::c": true,
    };
    app.declare("c", vec![doc! { "uri": "by", "stages": [], "notify_when": notify }]).await;
    let mut client = app.sse("c/by?x=1").await;
    let rows =
        [(1, 1, 2, true), (2, 1, 3, true), (3, 1, 2, false), (4, 0, 2, true), (9, 1, 2, true)];
    for (id, a, b, c) in rows {
        app.coll("c").insert_one(doc! { "_id": id, "a": a, "b": b, "c": c }).await.unwrap();
    }
    assert_eq!(heard(&mut client, 9).await, [1]);
}

/// Entries that cannot be understood are refused when written, and that stream alone when stored by others.
#[tokio::test]
async fn malformed_entries_are_refused() {
    let app = TestApp::start().await;
    for notify in [
        r#"{}"#,
        r#"[]"#,
        r#""x""#,
        r#"{ "fullDocument::": { "$var": "x" } }"#,
        r#"{ "::a": { "$var": "x" } }"#,
        r#"{ "fullDocument::a": { "$var": 1 } }"#,
        r#"{ "fullDocument::a": { "$var": "" } }"#,
        r#"{ "fullDocument::a": { "$gt": 1 } }"#,
    ] {
        let body = format!(
            r#"{{ "streams": [ {{ "uri": "by", "stages": [], "notify_when": {notify} }}, {{ "uri": "all", "stages": [] }} ] }}"#
        );
        let written = app.send("PUT", &app.coll_path("c"), &body).await;
        assert_eq!(written.status, 422, "{notify}");
        assert!(written.message().contains("streams[0].notify_when"), "{}", written.message());
        let mut stored: Document = serde_json::from_str::<Value>(&body)
            .map(|body| bson::Bson::try_from(body).unwrap())
            .map(|body| body.as_document().unwrap().clone())
            .unwrap();
        stored.insert("_id", "_properties.c");
        let properties = app.db.collection::<Document>("_properties");
        properties.replace_one(doc! { "_id": "_properties.c" }, stored).upsert(true).await.unwrap();
        assert_eq!(app.refused("c/by?x=1").await.status, 422, "{notify}");
        app.sse("c/all").await;
    }
}

/// A resume works with `notify_when`, and replays only what the client would have heard of.
#[tokio::test]
async fn a_resume_replays_the_selection() {
    let app = app_by("fullDocument::tenantId").await;
    let mut client = app.sse("c/by?tid=a").await;
    app.coll("c").insert_one(doc! { "_id": 1, "tenantId": "a" }).await.unwrap();
    client.change().await;
    let id = client.last_id.clone();
    drop(client);
    for (n, tenant) in [(2, "b"), (3, "a"), (4, "b"), (5, "a")] {
        app.coll("c").insert_one(doc! { "_id": n, "tenantId": tenant }).await.unwrap();
    }
    let mut back = app.resume("c/by?tid=a", &id).await;
    for n in [3, 5] {
        assert_eq!(back.change().await["documentKey"]["_id"], n);
    }
}
