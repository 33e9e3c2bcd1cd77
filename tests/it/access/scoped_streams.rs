//! Streams under a permission: what moves into view and out of it, what is deleted, and what is hidden.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bson::{Bson, Document, bson, doc};
use serde_json::Value;

use super::{
    deployment::{Deployment, Way, ask, permission, socket_as, sse_as},
    tokens::{basic, bearer, bearer_of, claims, with},
};
use crate::support::{TestApp, all, client::key, sse::Sse, websocket::Socket};

/// Both transports at once.
struct Both(Sse, Socket);

impl Both {
    async fn open(app: &TestApp, authorization: &str, stream: &str) -> Self {
        Self(sse_as(app, authorization, stream).await, socket_as(app, authorization, stream).await)
    }

    /// The next change, which has to be the same on both.
    async fn change(&mut self) -> Value {
        let (event, message) = (self.0.change().await, self.1.json().await);
        assert_eq!(event, message);
        event
    }

    /// The operation and the `_id` of the next change.
    async fn next(&mut self) -> (String, i64) {
        let change = self.change().await;
        (change["operationType"].as_str().unwrap().to_owned(), key(&change))
    }
}

fn seen(operation: &str, id: i64) -> (String, i64) {
    (operation.to_owned(), id)
}

async fn scoped(filter: Document) -> TestApp {
    let options = doc! { "readFilter": filter };
    let app =
        Deployment::new().await.permissions([permission("user", "path-prefix('/')", options)]);
    app.await.start().await
}

/// With images on collection `i`, whose stream is `i/all`.
async fn with_images(app: &TestApp) {
    let images = doc! { "create": "i", "changeStreamPreAndPostImages": { "enabled": true } };
    app.db.run_command(images).await.unwrap();
    let stream = doc! {
        "uri": "all", "stages": [],
        "full_document": "whenAvailable", "full_document_before_change": "whenAvailable",
    };
    app.declare("i", vec![stream]).await;
}

/// Two users on one stream receive their own, on both transports at once.
#[tokio::test]
async fn everybody_receives_their_own() {
    let app = scoped(doc! { "owner": "@user._id" }).await;
    let mut ann = Both::open(&app, &basic("ann", "ann"), "c/all").await;
    let mut bob = Both::open(&app, &basic("bob", "bob"), "c/all").await;
    let mut root = Both::open(&app, &basic("root", "root"), "c/all").await;
    for id in 0..20 {
        let owner = ["ann", "bob", "joe"][id as usize % 3];
        app.coll("c").insert_one(doc! { "_id": id, "owner": owner }).await.unwrap();
    }
    for id in (0..20).filter(|id| id % 3 == 0) {
        assert_eq!(ann.next().await, seen("insert", id), "E8");
    }
    for id in (0..20).filter(|id| id % 3 == 1) {
        assert_eq!(bob.next().await, seen("insert", id), "E8");
    }
    for id in 0..20 {
        assert_eq!(root.next().await, seen("insert", id), "E15");
    }
    // E8 E15: nothing is added to the pipeline for anybody.
    app.has_cursors("c", 1).await;
}

/// Documents that move in and out of view, without and with images. Nothing of the others is told.
#[tokio::test]
async fn documents_move_in_and_out_of_view() {
    let app = scoped(doc! { "owner": "@user._id" }).await;
    with_images(&app).await;
    for (coll, images) in [("c", false), ("i", true)] {
        let mut ann = Both::open(&app, &basic("ann", "ann"), &format!("{coll}/all")).await;
        let mut root = Both::open(&app, &basic("root", "root"), &format!("{coll}/all")).await;
        let owned = app.coll(coll);
        let set = async |id: i32, fields: Document| {
            owned.update_one(doc! { "_id": id }, doc! { "$set": fields }).await.unwrap();
        };
        owned.insert_one(doc! { "_id": 1, "owner": "bob" }).await.unwrap();
        set(1, doc! { "n": "hidden" }).await;
        assert_eq!(root.next().await, seen("insert", 1));
        // Looked up before the document moves: a later look would show it as its new owner's.
        assert_eq!(root.change().await["fullDocument"]["n"], "hidden");
        set(1, doc! { "owner": "ann", "n": 2 }).await;
        let moved = ann.change().await;
        assert_eq!((key(&moved), &moved["fullDocument"]["n"]), (1, &2.into()), "E9");
        assert!(
            moved.get("updateDescription").is_none()
                && moved.get("fullDocumentBeforeChange").is_none(),
            "E9: {moved}"
        );
        assert!(!moved.to_string().contains("hidden"), "{moved}");
        set(1, doc! { "n": 3 }).await;
        let within = ann.change().await;
        assert_eq!((key(&within), &within["fullDocument"]["n"]), (1, &3.into()));
        assert_eq!(
            within.get("updateDescription").is_some(),
            images,
            "told where it is known who could read it then"
        );
        set(1, doc! { "owner": "bob", "n": 4 }).await;
        set(1, doc! { "n": 5 }).await;
        owned.delete_one(doc! { "_id": 1 }).await.unwrap();
        owned.insert_one(doc! { "_id": 2, "owner": "ann" }).await.unwrap();
        owned.delete_one(doc! { "_id": 2 }).await.unwrap();
        owned.insert_one(doc! { "_id": 3, "owner": "ann" }).await.unwrap();
        assert_eq!(ann.next().await, seen("insert", 2), "E10: a foreign delete is not told");
        if images {
            let deleted = ann.change().await;
            assert_eq!(deleted["operationType"], "delete", "DEL-01 {deleted}");
            assert_eq!(deleted["documentKey"], serde_json::json!({ "_id": 2 }));
            assert!(deleted.get("fullDocumentBeforeChange").is_none());
        }
        assert_eq!(ann.next().await, seen("insert", 3), "E10 {coll}");
        let deletes = async {
            loop {
                let change = root.change().await;
                match (change["operationType"].as_str().unwrap(), key(&change)) {
                    ("insert", 3) => break,
                    ("delete", _) => assert!(change["fullDocument"].is_null()),
                    _ => {}
                }
            }
        };
        deletes.await;
    }
}

/// A filter that absence fulfils lets no delete through, and no update whose document is gone; with images
/// deletes are judged by what the document was.
#[tokio::test]
async fn absence_shows_nothing() {
    for filter in [
        doc! { "private": { "$ne": true } },
        doc! { "private": Bson::Null },
        doc! { "private": { "$nin": [true] } },
        doc! { "$nor": [{ "private": true }] },
        doc! { "private": { "$exists": false } },
        doc! { "private": { "$not": { "$eq": true } } },
    ] {
        let app = scoped(filter.clone()).await;
        with_images(&app).await;
        for coll in ["c", "i"] {
            let mut ann = Both::open(&app, &basic("ann", "ann"), &format!("{coll}/all")).await;
            let owned = app.coll(coll);
            owned.insert_one(doc! { "_id": 1, "private": true }).await.unwrap();
            owned.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 1 } }).await.unwrap();
            owned.delete_one(doc! { "_id": 1 }).await.unwrap();
            // An update whose document is gone before anybody can look it up.
            owned.insert_one(doc! { "_id": 2, "private": true }).await.unwrap();
            let mut session = app.db.client().start_session().await.unwrap();
            session.start_transaction().await.unwrap();
            let set = doc! { "$set": { "n": 1 } };
            owned.update_one(doc! { "_id": 2 }, set).session(&mut session).await.unwrap();
            owned.delete_one(doc! { "_id": 2 }).session(&mut session).await.unwrap();
            session.commit_transaction().await.unwrap();
            owned.insert_one(doc! { "_id": 3 }).await.unwrap();
            assert_eq!(ann.next().await, seen("insert", 3), "E11 DEL-02 DEL-03 {filter} {coll}");
        }
    }
}

/// Stages and choices of clients judge a delete by what the document was, where that is recorded; where it is
/// not, a delete reaches nobody who asks for something, and the definition says so.
#[tokio::test]
async fn deletes_are_judged_by_what_was() {
    let app =
        Deployment::new().await.permissions([permission("user", "path-prefix('/')", doc! {})]);
    let app = app.await.start().await;
    with_images(&app).await;
    for (coll, images) in [("c", false), ("i", true)] {
        let before = if images { "whenAvailable" } else { "off" };
        let stream = |uri: &str, stages: Bson| {
            doc! { "uri": uri, "stages": stages, "full_document_before_change": before }
        };
        let mut chosen = stream("chosen", bson!([]));
        chosen.insert("notify_when", doc! { "fullDocument::tenant": { "$var": "t" } });
        let fixed = bson!([{ "$match": { "fullDocument.tenant": "A" } }]);
        let bound = bson!([{ "$match": { "fullDocument.tenant": { "$var": "t" } } }]);
        app.declare(coll, vec![stream("fixed", fixed), stream("bound", bound), chosen]).await;
        let listed =
            app.as_user("ann", "GET", &format!("{}/_streams", app.coll_path(coll))).await.json();
        for listed in listed.as_array().unwrap() {
            let warnings = listed["warnings"].to_string();
            assert_eq!(
                warnings.contains("deletes carry no fullDocument"),
                !images,
                "DEL-01 {listed}"
            );
            let choosable = !listed["variables"].as_array().unwrap().is_empty();
            assert_eq!(warnings.contains("any caller may choose"), choosable, "VAR-09 {listed}");
        }
        let ann = basic("ann", "ann");
        let mut clients = Vec::new();
        for (uri, tenant) in [
            ("fixed", "A"),
            ("bound?t=A", "A"),
            ("chosen?t=A", "A"),
            ("bound?t=B", "B"),
            ("chosen?t=B", "B"),
        ] {
            clients.push((Both::open(&app, &ann, &format!("{coll}/{uri}")).await, uri, tenant));
        }
        for (id, tenant) in [(1, "A"), (2, "B")] {
            app.coll(coll).insert_one(doc! { "_id": id, "tenant": tenant }).await.unwrap();
            app.coll(coll).delete_one(doc! { "_id": id }).await.unwrap();
        }
        for (id, tenant) in [(3, "A"), (4, "B")] {
            app.coll(coll).insert_one(doc! { "_id": id, "tenant": tenant }).await.unwrap();
        }
        for (client, uri, tenant) in &mut clients {
            let (own, last) = if *tenant == "A" { (1, 3) } else { (2, 4) };
            assert_eq!(client.next().await, seen("insert", own), "DEL-02 {coll} {uri}");
            if images {
                assert_eq!(client.next().await, seen("delete", own), "DEL-01 DEL-02 {coll} {uri}");
            }
            assert_eq!(client.next().await, seen("insert", last), "DEL-01 DEL-02 {coll} {uri}");
        }
    }
}

/// A document that stops matching is signalled where the definition asks for it, by its key alone.
#[tokio::test]
async fn leaving_is_signalled_when_asked_for() {
    let app = scoped(doc! { "owner": "@user._id" }).await;
    with_images(&app).await;
    let stream = doc! {
        "uri": "leaving", "stages": [], "leave": true,
        "full_document": "whenAvailable", "full_document_before_change": "whenAvailable",
    };
    app.declare("i", vec![stream]).await;
    let mut ann = sse_as(&app, &basic("ann", "ann"), "i/leaving").await;
    let owned = app.coll("i");
    owned.insert_one(doc! { "_id": 1, "owner": "ann", "secret": "s" }).await.unwrap();
    assert_eq!(ann.change().await["operationType"], "insert");
    owned.update_one(doc! { "_id": 1 }, doc! { "$set": { "owner": "bob" } }).await.unwrap();
    let left = ann.event().await;
    assert!(left.is("leave"), "DEL-04 {left:?}");
    assert_eq!(left.json()["documentKey"], serde_json::json!({ "_id": 1 }));
    assert_eq!(left.json()["id"].as_str(), left.id.as_deref());
    assert!(!left.data.unwrap().contains("secret"));
}

/// Variables of the server bind to the caller and cannot be chosen; those of the client hold data only.
#[tokio::test]
async fn variables_of_the_server_are_the_callers() {
    let app =
        Deployment::new().await.permissions([permission("user", "path-prefix('/')", doc! {})]);
    let app = app.await.start().await;
    let by = |variable: &str| bson!([{ "$match": { "fullDocument.owner": { "$var": variable } } }]);
    let tag = bson!([{ "$set": { "tag": { "$var": "t" } } }]);
    let streams = [("id", by("@user._id")), ("sub", by("@user.sub")), ("tag", tag)];
    let streams = streams.map(|(uri, stages)| doc! { "uri": uri, "stages": stages });
    app.declare("c", streams.to_vec()).await;
    let forged =
        "?%40user=bob&avars=%7B%22@user%22:%7B%22_id%22:%22bob%22,%22sub%22:%22bob%22%7D%7D";
    for query in
        ["", "?tid=bob&owner=bob", "?avars=%7B%22@user%22:%7B%22_id%22:%22bob%22%7D%7D", forged]
    {
        let mut stored = Both::open(&app, &basic("ann", "ann"), &format!("c/id{query}")).await;
        let mut token =
            Both::open(&app, &bearer_of("ann", &["user"]), &format!("c/sub{query}")).await;
        for (id, owner) in [(1, "bob"), (2, "ann")] {
            app.coll("c").insert_one(doc! { "_id": id, "owner": owner }).await.unwrap();
        }
        assert_eq!(stored.next().await, seen("insert", 2), "E16 E17 VAR-09 {query}");
        assert_eq!(token.next().await, seen("insert", 2), "E16 E17 VAR-09 {query}");
        app.coll("c").delete_many(doc! {}).await.unwrap();
    }
    let ann = basic("ann", "ann");
    for (line, stream, expected) in [
        ("E17", "c/sub", 400),
        ("E2", "c/tag", 400),
        ("E2", "c/none", 404),
        ("E18", "c/tag?avars=%7B%22t%22:%7B%22$ne%22:1%7D%7D", 400),
        ("E18", "c/tag?avars=[1]", 400),
        ("E18", "c/tag?avars=%7B%22@user%22:%7B%22$ne%22:1%7D%7D", 400),
        ("E16", "c/id?avars=%7B%22@user._id%22:%22bob%22%7D", 400),
    ] {
        for way in Way::STREAMS {
            let answer = ask(&app, way, &app.path(stream), &[("authorization", &ann)]).await;
            assert_eq!(answer.status, expected, "{line} {stream} {way:?}: {}", answer.body);
        }
    }
    let literal = Both::open(&app, &ann, "c/tag?t=$fullDocument.owner").await;
    let mut literal = literal;
    app.coll("c").insert_one(doc! { "_id": 1, "owner": "bob" }).await.unwrap();
    assert_eq!(literal.change().await["tag"], "$fullDocument.owner", "E18");
    let plain = app.with("GET", &app.path("c/id"), &[("authorization", &ann)]).await;
    assert_eq!(plain.status, 400, "E1");
}

/// Where strangers may go they receive what their permission shows; a filter that asks who they are shows
/// them nothing.
#[tokio::test]
async fn strangers_receive_what_is_public() {
    let filter = doc! { "readFilter": { "public": true } };
    let app = Deployment::new().await.permissions([
        permission("$unauthenticated", "path-suffix('/open')", filter),
        permission(
            "$unauthenticated",
            "path-suffix('/own')",
            doc! { "readFilter": { "owner": "@user._id" } },
        ),
        permission(
            "$unauthenticated",
            "path-suffix('/some')",
            doc! { "readFilter": { "$or": [{ "owner": "@user._id" }, { "public": true }] } },
        ),
    ]);
    let app = app.await.start().await;
    let streams = ["open", "own", "some"].map(|uri| doc! { "uri": uri, "stages": [] });
    app.declare("c", streams.to_vec()).await;
    let (mut open, mut some) = (app.sse("c/open").await, app.socket("c/some").await);
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2, "public": true }).await.unwrap();
    assert_eq!(key(&open.change().await), 2, "E23");
    assert_eq!(key(&some.json().await), 2, "E23");
    for way in Way::STREAMS {
        let answer = ask(&app, way, &app.path("c/own"), &[]).await;
        assert!(matches!(answer.status, 101 | 200), "E23 {way:?}: {}", answer.status);
    }
    let snapshot = format!("{}?snapshot=true", app.path("c/own"));
    let mut own = Sse::open(app.address, &snapshot, &[]).await;
    assert!(own.event().await.is("snapshot-end"), "E23: no document before its end");
}

/// Stages see what the permission says of documents, the caller's values in place.
#[tokio::test]
async fn stages_may_use_the_permissions_own_filter() {
    let options =
        doc! { "readFilter": { "owner": "@user._id" }, "projectResponse": { "secret": 0 } };
    let app = Deployment::new()
        .await
        .permissions([permission("user", "path-prefix('/')", options)])
        .await
        .start()
        .await;
    let set = |name: &str| bson!([{ "$set": { "rule": { "$var": name } } }]);
    let streams = ["readFilter", "projectResponse", "writeFilter"]
        .map(|part| doc! { "uri": part, "stages": set(&format!("@mongoPermissions.{part}")) });
    app.declare("c", streams.to_vec()).await;
    let ann = basic("ann", "ann");
    let mut filter = Both::open(&app, &ann, "c/readFilter").await;
    let mut project = Both::open(&app, &ann, "c/projectResponse").await;
    app.coll("c").insert_one(doc! { "_id": 1, "owner": "ann" }).await.unwrap();
    let rule = |both: &Value| both["rule"].clone();
    let (filter, project) = (filter.0.change().await, project.1.json().await);
    assert_eq!(rule(&filter), serde_json::json!({ "owner": { "$eq": "ann" } }));
    assert_eq!(rule(&project), serde_json::json!({ "secret": 0 }));
    let unbound = ask(&app, Way::Sse, &app.path("c/writeFilter"), &[("authorization", &ann)]).await;
    assert_eq!(unbound.status, 400, "{}", unbound.body);
}

/// An id is a place and no right: a resume with somebody else's id shows what its own caller may see, and no id
/// that anybody receives holds a key.
#[tokio::test]
async fn ids_are_places_and_no_rights() {
    let app = scoped(doc! { "owner": "@user._id" }).await;
    let mut ann = sse_as(&app, &basic("ann", "ann"), "c/all").await;
    let mut bob = sse_as(&app, &basic("bob", "bob"), "c/all").await;
    let secret = "ann-private-key";
    app.coll("c").insert_one(doc! { "_id": secret, "owner": "ann" }).await.unwrap();
    ann.change().await;
    let id = ann.last_id.clone();
    for (id, owner) in [("1", "ann"), ("2", "bob"), ("3", "ann"), ("4", "bob")] {
        app.coll("c").insert_one(doc! { "_id": id, "owner": owner }).await.unwrap();
    }
    let bob_again = basic("bob", "bob");
    let headers = [("authorization", bob_again.as_str()), ("last-event-id", id.as_str())];
    let mut resumed = Sse::open(app.address, &app.path("c/all"), &headers).await;
    let mut socket = socket_as(&app, &bob_again, &format!("c/all?lastEventId={id}")).await;
    for expected in ["2", "4"] {
        assert_eq!(resumed.change().await["documentKey"]["_id"], expected, "E20 RES-14");
        assert_eq!(socket.json().await["documentKey"]["_id"], expected, "E20 RES-14");
        assert_eq!(bob.change().await["documentKey"]["_id"], expected);
        for id in [&resumed.last_id, &bob.last_id, &bob.ready.id.clone().unwrap()] {
            let bytes = URL_SAFE_NO_PAD.decode(id).unwrap();
            let key = secret.as_bytes();
            assert!(!bytes.windows(key.len()).any(|part| part == key), "RES-14 {id}");
            assert!(id.len() < 48);
        }
    }
}

/// A stream tells nobody that something happens where it cannot see: neither events nor notices nor ids.
#[tokio::test]
async fn what_is_hidden_makes_no_noise() {
    let options = "streams: { heartbeat: 300ms }";
    let filter = doc! { "readFilter": { "owner": "@user.sub" } };
    let app = Deployment::new().await.with(options);
    let app = app.permissions([permission("user", "path-prefix('/')", filter)]).await.start().await;
    app.declare("c", vec![all()]).await;
    let mut bob =
        sse_as(&app, &bearer(&with(claims("bob", &["user"]), &serde_json::json!({}))), "c/all")
            .await;
    for id in 0..100 {
        app.coll("c")
            .insert_one(doc! { "_id": format!("secret-{id}"), "owner": "ann" })
            .await
            .unwrap();
    }
    app.coll("c").drop_index("none").await.unwrap_err();
    app.coll("c").insert_one(doc! { "_id": "mine", "owner": "bob" }).await.unwrap();
    loop {
        let block = bob.block().await;
        let text = format!("{block:?}");
        assert!(!text.contains("secret"), "ACL-07 {text}");
        if block.is("change") {
            assert_eq!(block.json()["documentKey"]["_id"], "mine", "ACL-07");
            break;
        }
        assert!(block.event.is_none(), "ACL-07: only heartbeats, {text}");
    }
}
