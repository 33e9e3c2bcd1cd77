//! Collections that are special, images that are asked for, and users that may not.

use std::time::Instant;

use bson::{Document, doc};
use mongodb::options::{TimeseriesOptions, WriteConcern};

use crate::support::{
    TestApp, all,
    mongod::{WithUsers, connect},
    websocket::Socket,
};

/// A view or a time-series collection cannot be watched: 422 with the reason over either transport, at once.
#[tokio::test]
async fn views_and_time_series_are_refused() {
    let app = TestApp::start().await;
    app.coll("c").insert_one(doc! {}).await.unwrap();
    app.db
        .create_collection("view")
        .view_on("c".to_owned())
        .pipeline([doc! { "$match": {} }])
        .await
        .unwrap();
    let series = TimeseriesOptions::builder().time_field("t").build();
    app.db.create_collection("series").timeseries(series).await.unwrap();
    for coll in ["view", "series"] {
        let own = doc! { "uri": "own", "stages": [{ "$set": { "x": { "$var": ["x", "$y"] } } }] };
        app.declare(coll, vec![all(), own]).await;
        for uri in ["all", "own"] {
            let answer = app.refused(&format!("{coll}/{uri}")).await;
            assert_eq!(answer.status, 422, "{coll}: {}", answer.body);
            assert!(answer.message().contains("view or a time-series"), "{}", answer.message());
            let path = app.path(&format!("{coll}/{uri}"));
            assert_eq!(Socket::refused(app.address, &path).await, (422, answer.message()));
        }
        assert_eq!(app.cursors(coll).await, 0);
    }
    app.declare("c", vec![all()]).await;
    app.sse("c/all").await;
}

/// Updates and deletes a document in one transaction, so that the look-up of the update finds nothing.
async fn update_then_delete(app: &TestApp) {
    let mut session = app.db.client().start_session().await.unwrap();
    session.start_transaction().write_concern(WriteConcern::majority()).await.unwrap();
    let coll = app.coll("c");
    let filter = doc! { "_id": 1 };
    coll.update_one(filter.clone(), doc! { "$set": { "n": 2 } })
        .session(&mut session)
        .await
        .unwrap();
    coll.delete_one(filter).session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
}

/// An update whose document is gone is delivered with a null where nothing is selected by it, and is for nobody
/// who selects by its fields; the stream goes on.
#[tokio::test]
async fn an_update_without_its_document_is_null() {
    let app = TestApp::start().await;
    let notify = doc! { "fullDocument::t": { "$var": "t" } };
    let filter = vec![doc! { "$match": { "fullDocument.t": { "$var": "t" } } }];
    let streams = vec![
        all(),
        doc! { "uri": "by", "stages": [], "notify_when": notify },
        doc! { "uri": "match", "stages": filter },
    ];
    app.declare("c", streams).await;
    app.coll("c").insert_one(doc! { "_id": 1, "t": "a" }).await.unwrap();
    let (mut sse, mut socket) = (app.sse("c/all").await, app.socket("c/all").await);
    let queries = ["c/by?t=a", "c/by?avars={t:null}", "c/match?t=a"]
        .map(|query| query.replace('{', "%7B").replace('}', "%7D"));
    let mut selecting = Vec::new();
    for query in &queries {
        selecting.push(app.sse(query).await);
    }
    update_then_delete(&app).await;
    for event in [sse.change().await, socket.json().await] {
        assert_eq!(event["operationType"], "update");
        assert!(event.as_object().unwrap().contains_key("fullDocument"));
        assert!(event["fullDocument"].is_null());
        assert_eq!(event["updateDescription"]["updatedFields"]["n"], 2);
    }
    assert_eq!(sse.change().await["operationType"], "delete");
    app.coll("c").insert_one(doc! { "_id": 2, "t": ["a", null] }).await.unwrap();
    for client in &mut selecting {
        assert_eq!(client.change().await["documentKey"]["_id"], 2);
    }
}

/// Pre-images that a definition asks for are in the event, for updates and deletes, over both transports; a
/// definition that does not ask gets none.
#[tokio::test]
async fn pre_images_are_shown_when_asked_for() {
    let app = TestApp::start().await;
    app.db.create_collection("c").await.unwrap();
    let images = doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } };
    app.db.run_command(images).await.unwrap();
    let with = |uri: &str, full: &str, before: &str| {
        doc! { "uri": uri, "stages": [], "full_document": full, "full_document_before_change": before }
    };
    let streams = vec![
        all(),
        with("available", "whenAvailable", "whenAvailable"),
        with("required", "required", "required"),
        with("none", "off", "off"),
    ];
    app.declare("c", streams).await;
    app.coll("c").insert_one(doc! { "_id": 1, "n": 1 }).await.unwrap();
    let mut plain = app.sse("c/all").await;
    let mut none = app.sse("c/none").await;
    let mut asking = Vec::new();
    for uri in ["available", "required"] {
        asking.push((app.sse(&format!("c/{uri}")).await, app.socket(&format!("c/{uri}")).await));
    }
    for n in [2, 3] {
        app.coll("c").update_one(doc! { "_id": 1 }, doc! { "$set": { "n": n } }).await.unwrap();
    }
    app.coll("c").delete_one(doc! { "_id": 1 }).await.unwrap();
    for (sse, socket) in &mut asking {
        for (operation, before, after) in [
            ("update", 1, 2.into()),
            ("update", 2, 3.into()),
            ("delete", 3, serde_json::Value::Null),
        ] {
            for event in [sse.change().await, socket.json().await] {
                assert_eq!(event["operationType"], operation);
                assert_eq!(event["fullDocumentBeforeChange"]["n"], before);
                assert_eq!(event["fullDocument"]["n"], after, "the image of that moment");
            }
        }
    }
    for _ in 0..3 {
        assert!(plain.change().await.get("fullDocumentBeforeChange").is_none());
        let event = none.change().await;
        assert!(event.get("fullDocumentBeforeChange").is_none() && event["fullDocument"].is_null());
    }
}

/// A pre-image that is required and not there skips that one event and says so; one that is asked for when
/// available is null.
#[tokio::test]
async fn a_missing_image_does_not_end_the_stream() {
    let app = TestApp::start().await;
    let with = |uri: &str, mode: &str| doc! { "uri": uri, "stages": [], "full_document_before_change": mode };
    app.declare("c", vec![with("available", "whenAvailable"), with("required", "required")]).await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    let (mut available, mut required) = (app.sse("c/available").await, app.sse("c/required").await);
    app.coll("c").update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 1 } }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    assert!(available.change().await["fullDocumentBeforeChange"].is_null());
    assert_eq!(available.change().await["documentKey"]["_id"], 2);
    let skipped = required.event().await;
    assert!(skipped.is("skipped"), "{skipped:?}");
    assert!(skipped.json()["reason"].as_str().unwrap().len() > 10);
    assert_eq!(required.change().await["documentKey"]["_id"], 2);
}

/// A stage that fails on one event: the others arrive, and clients that have words for it learn of the gap.
#[tokio::test]
async fn an_event_on_which_a_stage_fails_is_reported() {
    let app = TestApp::start().await;
    let divide = doc! { "$addFields": { "div": { "$divide": [1, "$fullDocument.n"] } } };
    app.declare("c", vec![doc! { "uri": "div", "stages": [divide] }]).await;
    let mut sse = app.sse("c/div").await;
    let mut plain = app.socket("c/div").await;
    let (mut enveloped, _) = app.enveloped("c/div").await;
    for n in [1, 0, 2] {
        app.coll("c").insert_one(doc! { "_id": n, "n": n }).await.unwrap();
    }
    assert_eq!(sse.change().await["div"], 1.0);
    let skipped = sse.event().await;
    assert!(skipped.is("skipped") && skipped.id.is_some(), "{skipped:?}");
    assert_eq!(sse.change().await["div"], 0.5);
    for div in [1.0, 0.5] {
        assert_eq!(plain.json().await["div"], div);
    }
    for event in ["change", "skipped", "change"] {
        assert_eq!(enveloped.json().await["event"], event);
    }
}

/// A service whose MongoDB user may read one database only: that one works, the others are 503 with the remedy
/// and nothing of the pipeline, without a wait.
#[tokio::test]
async fn missing_privileges_are_said_with_their_remedy() {
    let set = WithUsers::start().await;
    let root = connect(&set.root_uri()).await;
    let find_only = doc! {
        "createRole": "finder", "roles": [],
        "privileges": [{ "resource": { "db": "finds", "collection": "" }, "actions": ["find", "listCollections"] }],
    };
    root.database("admin").run_command(find_only).await.unwrap();
    let roles =
        vec![doc! { "role": "read", "db": "reads" }, doc! { "role": "finder", "db": "admin" }];
    let uri = set.user("service", roles).await;
    let secret = doc! { "uri": "s", "stages": [{ "$match": { "fullDocument.secret": "hidden" } }] };
    for db in ["reads", "finds", "nothing"] {
        let properties = root.database(db).collection::<Document>("_properties");
        let streams = vec![all(), secret.clone()];
        properties.insert_one(doc! { "_id": "_properties.c", "streams": streams }).await.unwrap();
        root.database(db).collection("c").insert_one(doc! {}).await.unwrap();
    }
    let app = TestApp::at(&uri, root.database("reads"), "").await;
    let mut sse = app.sse("c/all").await;
    for (db, remedy) in [
        ("finds", "grant it the changeStream and find"),
        ("nothing", "grant it find on nothing._properties"),
    ] {
        for uri in ["all", "s"] {
            let asked = Instant::now();
            let path = format!("/{db}/c/_streams/{uri}");
            let accept = [("accept", "text/event-stream")];
            let answer =
                crate::support::http::request(app.address, "GET", &path, &accept, "").await;
            assert_eq!(answer.status, 503, "{}", answer.body);
            assert!(answer.message().contains(remedy), "{}", answer.message());
            assert!(
                !answer.body.contains("hidden") && !answer.body.contains("pipeline"),
                "{}",
                answer.body
            );
            assert!(answer.header("retry-after").is_some());
            assert!(asked.elapsed().as_secs() < 4, "{path} took {:?}", asked.elapsed());
        }
    }
    app.coll("c").insert_one(doc! { "_id": "still" }).await.unwrap();
    assert_eq!(sse.change().await["documentKey"]["_id"], "still");
    assert_eq!(app.send("PUT", "/nothing/c", "{}").await.status, 503);
    drop(set);
}
