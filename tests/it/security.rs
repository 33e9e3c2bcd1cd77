//! What a definition or a client may not make MongoDB do.

use bson::{Bson, Document, bson, doc};

use crate::support::{TestApp, all, websocket::Socket};

fn stream(uri: &str, stages: Bson) -> Document {
    doc! { "uri": uri, "stages": stages }
}

/// A safe stream opens; one that writes is refused when written, and 403 when it was stored. RESTHeart stores it
/// and refuses it when it is opened.
#[tokio::test]
async fn stages_that_write_are_refused() {
    let streams = r#"{ "streams": [
        { "uri": "safe", "stages": [
            { "$match": { "operationType": "insert" } }, { "$project": { "fullDocument": 1, "operationType": 1 } } ] },
        { "uri": "writes", "stages": [ { "$match": {} }, { "$out": "stolen" } ] } ] }"#;
    for (dialect, written) in [("", 422), ("compat: restheart", 200)] {
        let app = TestApp::configured(dialect).await;
        let path = app.coll_path("c");
        assert_eq!(app.send("PUT", &path, "{}").await.status, 201);
        let patched = app.send("PATCH", &format!("{path}?wm=upsert"), streams).await;
        assert_eq!(patched.status, written, "{}", patched.body);
        let stages = bson!([{ "$match": { "operationType": "insert" } }]);
        let writes = bson!([{ "$match": {} }, { "$out": "stolen" }]);
        app.declare("c", vec![stream("safe", stages), stream("writes", writes)]).await;
        app.socket("c/safe").await;
        let refused = app.refused("c/writes").await;
        assert_eq!(refused.status, 403);
        let text = "Cannot open change stream: Security violation: BLACKLISTED_STAGE operator '$out' at pipeline[1] - ";
        assert!(refused.message().starts_with(text), "{}", refused.message());
        let socket = Socket::refused(app.address, &app.path("c/writes")).await;
        assert_eq!(socket, (403, refused.message()));
    }
}

/// A stage or operator outside the allow-list is refused with its kind and its place, wherever it hides: in
/// `$expr`, in an optional stage that is only taken with a variable, below a default.
#[tokio::test]
async fn forbidden_stages_and_operators_are_refused_at_any_depth() {
    let app = TestApp::start().await;
    let function = || bson!({ "$function": { "body": "x", "args": [], "lang": "js" } });
    let rows = [
        (bson!([{ "$out": "x" }]), "BLACKLISTED_STAGE"),
        (bson!([{ "_$merge": "x" }]), "BLACKLISTED_STAGE"),
        (bson!([{ "$lookup": { "from": "other", "as": "x" } }]), "BLACKLISTED_STAGE"),
        (bson!([{ "$unionWith": "other" }]), "BLACKLISTED_STAGE"),
        (bson!([{ "$graphLookup": {} }]), "BLACKLISTED_STAGE"),
        (bson!([{ "$facet": { "x": [{ "$lookup": {} }] } }]), "$facet"),
        (bson!([{ "$group": { "_id": 1 } }]), "UNSUPPORTED_STAGE"),
        (bson!([{ "$match": { "$where": "true" } }]), "BLACKLISTED_OPERATOR"),
        (bson!([{ "$match": { "$or": [{ "$and": [{ "$where": "1" }] }] } }]), "$where"),
        (bson!([{ "$match": { "$expr": (function()) } }]), "BLACKLISTED_OPERATOR"),
        (bson!([{ "$set": { "a": { "b": [(function())] } } }]), "$function"),
        (bson!([{ "$set": { "a": { "$accumulator": {} } } }]), "$accumulator"),
        (bson!([{ "$ifvar": ["x", { "$out": "y" }] }]), "$out"),
        (bson!([{ "$ifvar": ["x", { "$match": {} }, { "$merge": "y" }] }]), "$merge"),
        (bson!([{ "$match": { "a": { "$var": ["x", { "$where": "1" }] } } }]), "$where"),
        (bson!([{ "$set": { "a": { "$rand": {} } } }]), "$rand"),
    ];
    for (stages, named) in rows {
        let body = doc! { "streams": [stream("s", stages.clone()), all()] };
        let body = Bson::Document(body).into_relaxed_extjson().to_string();
        let written = app.send("PUT", &app.coll_path("c"), &body).await;
        assert_eq!(written.status, 422, "{stages}");
        assert!(written.message().contains(named), "{} lacks {named}", written.message());
        assert!(written.message().contains("streams[0].stages[0]"), "{}", written.message());

        app.declare("c", vec![stream("s", stages.clone()), all()]).await;
        let opened = app.refused("c/s").await;
        assert_eq!(opened.status, 403, "{stages}: {}", opened.body);
        assert!(opened.message().contains(named), "{} lacks {named}", opened.message());
        app.sse("c/all").await;
    }
}

/// A stage that only turns out to be forbidden with the client's variables is `403`, in RESTHeart's words.
#[tokio::test]
async fn a_stage_made_of_variables_is_checked_when_it_is_known() {
    let app = TestApp::start().await;
    let whole = bson!([{ "$var": ["st", { "$match": {} }] }]);
    app.declare("c", vec![stream("s", whole)]).await;
    app.sse("c/s").await;
    let smuggled = app.refused("c/s?avars=%7B%22st%22:%7B%22$out%22:%22x%22%7D%7D").await;
    assert_eq!(smuggled.status, 400, "operators are not data");
    let text = app.refused("c/s?st=x").await;
    assert_eq!(text.status, 400, "{}", text.body);
}

/// Values of variables are data only: operators at any depth and in any spelling are `400`.
#[tokio::test]
async fn operators_cannot_be_smuggled_in() {
    let app = TestApp::start().await;
    let stages = bson!([{ "$match": { "fullDocument.tid": { "$var": "tid" } } }]);
    let notify = doc! { "fullDocument::tid": { "$var": "tid" } };
    let notified = doc! { "uri": "n", "stages": [], "notify_when": notify };
    app.declare("c", vec![stream("s", stages), notified]).await;
    for avars in [
        r#"{"tid":{"$ne":null}}"#,
        r#"{"tid":{"\u0024ne":null}}"#,
        r#"{"tid":{"$exists":true}}"#,
        r#"{"tid":{"$regex":".*"}}"#,
        r#"{"tid":{"$regularExpression":{"pattern":".*","options":""}}}"#,
        r#"{"tid":[{"a":[{"$gt":1}]}]}"#,
        r#"{"tid":{"$in":["a"]}}"#,
        r#"{"$or":[{}]}"#,
        r#"{"tid":{"a":{"$where":"1"}}}"#,
        r#"{"tid":{"$code":"1"}}"#,
        r#"{"tid":/.*/}"#,
        r#"{"other":{"$ne":1},"tid":"x"}"#,
    ] {
        for uri in ["s", "n"] {
            let query =
                percent_encoding::utf8_percent_encode(avars, percent_encoding::NON_ALPHANUMERIC);
            let answer = app.refused(&format!("c/{uri}?avars={query}")).await;
            assert_eq!(answer.status, 400, "{avars}: {}", answer.body);
            assert!(answer.message().starts_with("illegal avars"), "{}", answer.message());
        }
    }
}

/// A string that lands in an expression stays a string: it names no field and no variable of MongoDB.
#[tokio::test]
async fn a_value_never_becomes_a_field_path() {
    let app = TestApp::start().await;
    let stages = bson!([
        { "$set": { "tag": { "$var": "t" }, "list": [{ "$var": "t" }], "doc": { "in": { "$var": "t" } } } },
        { "$match": { "$expr": { "$ne": ["$fullDocument.ssn", { "$var": "t" }] } } },
    ]);
    app.declare("c", vec![stream("s", stages)]).await;
    for text in ["$fullDocument.ssn", "$$ROOT", "$$REMOVE", "$", "$$", "plain"] {
        let query = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
        for query in [format!("t={query}"), format!("avars=%7B%22t%22:%22{query}%22%7D")] {
            let mut sse = app.sse(&format!("c/s?{query}")).await;
            app.coll("c").insert_one(doc! { "ssn": "123-45" }).await.unwrap();
            let event = sse.change().await;
            assert_eq!(event["tag"], text);
            assert_eq!(event["list"][0], text);
            assert_eq!(event["doc"]["in"], text);
        }
    }
}

/// Names that start with `@` are the server's: a value for a whole name is ignored, and what would reach into
/// one is refused, in whatever spelling.
#[tokio::test]
async fn server_variables_cannot_be_forged() {
    let app = TestApp::start().await;
    let stages = bson!([{ "$match": { "fullDocument.owner": { "$var": "@user._id" } } }]);
    app.declare("c", vec![stream("s", stages), all()]).await;
    for query in [
        "@user._id=joe",
        "%40user.name=joe",
        "avars=%7B%22@user._id%22:%22joe%22%7D",
        "avars=%7B%22\\u0040user._id%22:%22joe%22%7D",
        "avars=%7B%22.@user._id%22:%22joe%22%7D",
        "avars=%7B%22@mongoPermissions.readFilter%22:1%7D",
    ] {
        for uri in ["s", "all"] {
            assert_eq!(app.refused(&format!("c/{uri}?{query}")).await.status, 400, "{query}");
        }
    }
    for query in ["", "?%40user=joe", "?avars=%7B%22@user%22:%7B%22_id%22:%22joe%22%7D%7D"] {
        let anonymous = app.refused(&format!("c/s{query}")).await;
        assert_eq!(
            (anonymous.status, anonymous.message().as_str()),
            (400, "variable @user._id not bound")
        );
        app.sse(&format!("c/all{query}")).await;
    }
}

/// Equal string hashes are not equal bindings, and each client gets the JSON it asked for.
#[tokio::test]
async fn what_collides_is_not_mixed_up() {
    let app = TestApp::start().await;
    let stages = bson!([{ "$match": { "fullDocument.tid": { "$var": "tid" } } }]);
    let notify = doc! { "fullDocument::tid": { "$var": "tid" } };
    let notified = doc! { "uri": "n", "stages": [], "notify_when": notify };
    app.declare("c", vec![stream("s", stages), notified]).await;
    for uri in ["s", "n"] {
        let mut first = app.sse(&format!("c/{uri}?avars=%7B%22tid%22:%22Aa%22%7D")).await;
        let mut second = app.sse(&format!("c/{uri}?tid=BB")).await;
        let mut exact = app.sse(&format!("c/{uri}?tid=BB&jsonMode=EXTENDED")).await;
        for tid in ["Aa", "BB"] {
            app.coll("c").insert_one(doc! { "tid": tid, "n": 1 }).await.unwrap();
        }
        assert_eq!(first.change().await["fullDocument"]["tid"], "Aa");
        let event = second.change().await;
        assert_eq!(
            (&event["fullDocument"]["tid"], &event["fullDocument"]["n"]),
            (&"BB".into(), &1.into())
        );
        assert_eq!(exact.change().await["fullDocument"]["n"]["$numberInt"], "1");
    }
    app.has_cursors("c", 1).await;
}
