//! Fields that a permission or the nature of a collection hides: nowhere in an event, under no name.

use bson::{Bson, Document, bson, doc};
use serde_json::{Value, json};

use super::{
    deployment::{Deployment, Way, ask, hashed, permission, socket_as, sse_as},
    tokens::{basic, bearer_of},
};
use crate::support::TestApp;

async fn hiding(projection: Document) -> TestApp {
    let options = doc! { "projectResponse": projection, "allowManagementRequests": true };
    let app =
        Deployment::new().await.permissions([permission("user", "path-prefix('/')", options)]);
    let app = app.await.start().await;
    let images = doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } };
    app.db.run_command(images).await.unwrap();
    let images = ("whenAvailable", "whenAvailable");
    let stream = |uri: &str, stages: Bson| {
        doc! { "uri": uri, "stages": stages, "full_document": images.0, "full_document_before_change": images.1, "show_expanded_events": true }
    };
    let copy = bson!([{ "$set": { "y": "$fullDocument.ssn", "all": "$fullDocument", "before": "$fullDocumentBeforeChange", "update": "$updateDescription" } }]);
    let move_up =
        bson!([{ "$project": { "operationType": 1, "documentKey": 1, "x": "$fullDocument" } }]);
    let by_field = |path: &str| bson!([{ "$match": { path: { "$var": "v" } } }]);
    // A value of the server's beside the client's makes the question no other one.
    let mixed = bson!([{ "$match": { "fullDocument.by": { "$var": "@user._id" }, "fullDocument.ssn": { "$var": "v" } } }]);
    let notify = doc! { "uri": "notify", "stages": [], "notify_when": { "fullDocument::ssn": { "$var": "v" } } };
    app.declare(
        "c",
        vec![
            stream("all", bson!([])),
            stream("copy", copy),
            stream("move", move_up),
            stream("ask", by_field("fullDocument.ssn")),
            stream("mixed", mixed),
            stream("before", by_field("fullDocumentBeforeChange.p.secret")),
            stream("changed", by_field("updateDescription.updatedFields.a")),
            stream("open", by_field("fullDocument.a")),
            notify,
        ],
    )
    .await;
    app
}

/// Every way in which a field can appear: inserted, replaced, set as a whole and by its path, removed, inside
/// arrays, truncated, under a name with a dot.
async fn write(app: &TestApp) -> usize {
    let coll = app.coll("c");
    let whole = |n: i32| {
        doc! {
            "_id": 1, "n": n, "a": n, "ssn": "SECRET", "p": { "secret": "SECRET", "open": n }, "p.secret": "SECRET",
            "items": [{ "cost": "SECRET", "n": n }, [{ "cost": "SECRET" }]], "log": ["SECRET", "SECRET"],
        }
    };
    coll.insert_one(whole(0)).await.unwrap();
    coll.replace_one(doc! { "_id": 1 }, whole(1)).await.unwrap();
    let updates = [
        bson!({ "$set": { "ssn": "SECRET2", "a": 2, "p.secret": "SECRET2", "items.0.cost": "SECRET2", "items.0.n": 2 } }),
        bson!({ "$set": { "p": { "secret": "SECRET3", "open": 3 }, "items": [{ "cost": "SECRET3", "n": 3 }] } }),
        bson!({ "$push": { "log": { "$each": [], "$slice": 1 } } }),
        bson!({ "$unset": { "ssn": 1, "p.secret": 1, "items.0.cost": 1, "log": 1 } }),
        bson!([{ "$set": { "ssn": "SECRET4", "a": 4 } }]),
        bson!({ "$set": { "ssn": { "deep": "SECRET5" } } }),
        bson!({ "$set": { "ssn.deep": "SECRET6" } }),
    ];
    let count = updates.len();
    for update in updates {
        let update: mongodb::options::UpdateModifications = match update {
            Bson::Document(update) => update.into(),
            Bson::Array(stages) => {
                stages.iter().map(|it| it.as_document().unwrap().clone()).collect::<Vec<_>>().into()
            }
            _ => unreachable!(),
        };
        coll.update_one(doc! { "_id": 1 }, update).await.unwrap();
    }
    coll.delete_one(doc! { "_id": 1 }).await.unwrap();
    count + 3
}

fn check_hidden(event: &Value, line: &str) {
    let text = event.to_string();
    assert!(!text.contains("SECRET"), "{line}: {text}");
    for name in ["ssn", "secret", "cost", "log"] {
        assert!(!text.contains(name), "{line} names {name}: {text}");
    }
}

/// What an exclusion hides is nowhere: in neither image, in no description of an update, under no name, however
/// a stage copies it.
#[tokio::test]
async fn exclusions_hide_everywhere() {
    let app =
        hiding(doc! { "ssn": 0, "ssn.deep": 0, "p.secret": 0, "items.cost": 0, "log": 0 }).await;
    let ann = basic("ann", "ann");
    for uri in ["all", "copy", "move"] {
        let mut sse = sse_as(&app, &ann, &format!("c/{uri}")).await;
        let mut socket = socket_as(&app, &ann, &format!("c/{uri}")).await;
        for number in 0..write(&app).await {
            let event = sse.change().await;
            check_hidden(&event, &format!("E12 E14 ACL-01 EJ-05 EJ-06 {uri} {number}"));
            assert_eq!(socket.json().await, event);
            if uri == "all" && number == 2 {
                assert_eq!(
                    event["updateDescription"]["updatedFields"],
                    json!({ "a": 2, "items.0.n": 2 })
                );
                assert_eq!(event["fullDocument"]["p"], json!({ "open": 1 }));
            }
        }
    }
}

/// An inclusion shows what it lists, the event's own fields and the key, and no other.
#[tokio::test]
async fn inclusions_show_what_they_list() {
    let app = hiding(doc! { "a": 1, "p.open": 1, "items.n": 1 }).await;
    let ann = basic("ann", "ann");
    for uri in ["all", "copy", "move"] {
        let mut sse = sse_as(&app, &ann, &format!("c/{uri}")).await;
        for number in 0..write(&app).await {
            let event = sse.change().await;
            check_hidden(&event, &format!("E13 {uri} {number}"));
            assert_eq!(event["documentKey"], json!({ "_id": 1 }), "E13 {uri}");
            if uri == "all" && number == 0 {
                let shown = json!({ "a": 0, "p": { "open": 0 }, "items": [{ "n": 0 }, [{}]] });
                assert_eq!(event["fullDocument"], shown, "E13");
            }
        }
    }
}

/// A condition on a hidden field would tell its value: who may not see the field may not ask.
#[tokio::test]
async fn hidden_fields_cannot_be_asked_for() {
    let app = hiding(doc! { "ssn": 0, "p.secret": 0 }).await;
    let (ann, root) = (basic("ann", "ann"), basic("root", "root"));
    for way in Way::STREAMS {
        for (uri, expected) in [
            ("ask", 403),
            ("mixed", 403),
            ("before", 403),
            ("changed", 403),
            ("notify", 403),
            ("open", 200),
        ] {
            let path = app.path(&format!("c/{uri}?v=1"));
            let answer = ask(&app, way, &path, &[("authorization", &ann)]).await;
            assert_eq!(answer.status, expected, "ACL-03 {uri} {way:?}: {}", answer.body);
            assert_eq!(
                ask(&app, way, &path, &[("authorization", &root)]).await.status,
                200,
                "{uri}"
            );
        }
    }
}

/// The collection of users shows neither passwords nor the codes that were mailed, to nobody and in no way.
#[tokio::test]
async fn users_keep_their_secrets() {
    let deployment = Deployment::new().await;
    let all =
        permission("user", "path-prefix('/')", doc! { "readFilter": { "_id": { "$ne": "x" } } });
    let app = deployment.permissions([all]).await.start().await;
    let computed = bson!([{ "$set": { "x": "$fullDocument.password", "all": "$fullDocument", "user": { "$var": "@user" } } }]);
    let own = bson!([{ "$match": { "fullDocument.name": { "$regex": "^N", "$options": "i" } } }, { "$set": { "x": "$fullDocument" } }]);
    let asked = |path: &str| bson!([{ "$match": { path: { "$var": "v" } } }]);
    let streams = [
        ("all", bson!([])),
        ("computed", computed),
        ("own", own),
        ("ask", asked("fullDocument.password")),
        ("code", asked("fullDocument.passwordResetCode")),
        ("name", asked("fullDocument.name")),
    ];
    let streams: Vec<_> =
        streams.map(|(uri, stages)| doc! { "uri": uri, "stages": stages }).to_vec();
    app.declare("users", streams).await;
    let users = app.db.collection::<Document>("users");
    users
        .update_one(
            doc! { "_id": "ann" },
            doc! { "$set": { "emailVerificationCode": "SECRET", "name": "N" } },
        )
        .await
        .unwrap();
    let path = |rest: &str| format!("/{}/users{rest}", app.db.name());
    for user in ["ann", "root"] {
        let login = basic(user, user);
        for way in Way::STREAMS {
            for (uri, expected) in [("ask?v=1", 403), ("code?v=1", 403), ("name?v=1", 200)] {
                let answer = ask(
                    &app,
                    way,
                    &path(&format!("/_streams/{uri}")),
                    &[("authorization", &login)],
                )
                .await;
                assert_eq!(answer.status, expected, "E22 {uri} {way:?}: {}", answer.body);
            }
        }
        for uri in ["all", "computed", "own"] {
            let mut sse = sse_as(&app, &login, &format!("users/{uri}")).await;
            let mut socket = socket_as(&app, &login, &format!("users/{uri}")).await;
            let secrets = doc! {
                "_id": "new", "name": "nora", "password": hashed("SECRET"), "password.old": "SECRET",
                "passwordResetCode": "SECRET", "emailVerification": { "code": "SECRET" },
            };
            users.insert_one(&secrets).await.unwrap();
            users.update_one(doc! { "_id": "new" }, doc! { "$set": { "passwordResetCode": "SECRET2", "emailVerification.code": "SECRET" } }).await.unwrap();
            users.replace_one(doc! { "_id": "new" }, &secrets).await.unwrap();
            for _ in 0..3 {
                let event = sse.change().await;
                assert_eq!(socket.json().await, event);
                let text = event.to_string();
                let hidden = ["SECRET", "password", "emailVerification", "$2b$"];
                assert!(hidden.iter().all(|it| !text.contains(it)), "E22 {user} {uri}: {text}");
                assert_eq!(event["fullDocument"]["name"], "nora", "{text}");
            }
            users.delete_one(doc! { "_id": "new" }).await.unwrap();
        }
        for rest in ["", "/ann", "?keys=%7B%22password%22:1%7D", "?filter=%7B%22name%22:%22N%22%7D"]
        {
            let answer = app.as_user(user, "GET", &path(rest)).await;
            assert_eq!(answer.status, 200, "D11 {rest}: {}", answer.body);
            let hidden = ["SECRET", "password", "emailVerification", "$2b$"];
            assert!(
                hidden.iter().all(|it| !answer.body.contains(it)),
                "D11 {rest}: {}",
                answer.body
            );
        }
        for query in [
            "filter=%7B%22password%22:%7B%22$regex%22:%22^.2b%22%7D%7D",
            "filter=%7B%22$or%22:[%7B%22_id%22:1%7D,%7B%22password%22:1%7D]%7D",
            "filter=%7B%22$expr%22:%7B%22$gt%22:[%22$password%22,1]%7D%7D",
            "filter=%7B%22$jsonSchema%22:%7B%22required%22:[%22passwordResetCode%22]%7D%7D",
            "filter=%7B%22emailVerification.code%22:1%7D",
            "sort=password",
            "sort=%7B%22passwordResetCode%22:1%7D",
            "keys=%7B%22x%22:%22$password%22%7D",
            "keys=%7B%22x%22:%7B%22$substr%22:[%22$$ROOT.password%22,0,1]%7D%7D",
        ] {
            for rest in [format!("?{query}"), format!("/_size?{query}")] {
                let answer = app.as_user(user, "GET", &path(&rest)).await;
                assert_eq!(answer.status, 403, "D11 {user} {rest}: {}", answer.body);
            }
        }
    }
}

/// The collection of API keys is for the root role only, whatever a permission says.
#[tokio::test]
async fn api_keys_are_for_the_root_role() {
    let app =
        Deployment::new().await.permissions([permission("user", "path-prefix('/')", doc! {})]);
    let app = app.await.start().await;
    app.declare("keys", vec![doc! { "uri": "all", "stages": [] }]).await;
    app.db.collection("keys").insert_one(doc! { "_id": 1, "hash": "SECRET" }).await.unwrap();
    for (role, expected) in [("user", 403), ("admin", 200)] {
        let bearer = bearer_of("ann", &[role]);
        for rest in ["", "/_size", "/_streams/all", "/1?id_type=NUMBER", "/_streams"] {
            let ways: &[Way] = if rest == "/_streams/all" { &Way::STREAMS } else { &[Way::Read] };
            for way in ways {
                let path = format!("/{}/keys{rest}", app.db.name());
                let answer = ask(&app, *way, &path, &[("authorization", &bearer)]).await;
                assert_eq!(answer.status, expected, "{role} {rest} {way:?}: {}", answer.body);
            }
        }
        let body = json!({ "path": app.path("keys/all") }).to_string();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let ticket =
            crate::support::http::request(app.address, "POST", "/_/tickets", &headers, &body).await;
        assert_eq!(ticket.status, if expected == 200 { 201 } else { expected }, "{role}");
    }
}
