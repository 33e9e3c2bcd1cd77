//! Who is calling, what they may see, and one cursor for all of them.

mod authentication;
pub(crate) mod deployment;
mod explain;
mod hidden_fields;
mod operators;
mod origins;
mod permissions;
mod predicates;
mod read_scope;
mod renewal;
mod scoped_streams;
mod sessions;
mod side_by_side;
pub(crate) mod tokens;

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{Document, doc};

use crate::support::{TestApp, add_user, all, eventually, sse::Sse};

/// Users `ann` and `bob` with role `user`, `root` with role `admin`; the password is the name.
async fn guarded(permissions: Vec<Document>) -> TestApp {
    let app = TestApp::guarded("").await;
    for (name, role) in [("ann", "user"), ("bob", "user"), ("root", "admin")] {
        add_user(&app.db, name, role, None).await;
    }
    app.db.collection::<Document>("acl").insert_many(permissions).await.unwrap();
    app.declare("c", vec![all()]).await;
    // Permissions are watched: from when the service has seen them they hold.
    eventually("permissions are seen", async || {
        app.as_user("ann", "GET", &format!("/{}/c", app.db.name())).await.status != 403
    })
    .await;
    app
}

fn permission(app_path: &str, mongo: Document) -> Document {
    doc! { "roles": ["user"], "predicate": format!("path-prefix('{app_path}')"), "priority": 1, "mongo": mongo }
}

fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{user}")))
}

async fn open(app: &TestApp, user: &str) -> Sse {
    let authorization = basic(user);
    Sse::open(app.address, &app.path("c/all"), &[("authorization", &authorization)]).await
}

fn own() -> Vec<Document> {
    vec![permission("/", doc! { "readFilter": { "owner": "@user._id" } })]
}

/// Each caller sees its own, on one cursor, over the stream as over the read.
#[tokio::test]
async fn each_caller_sees_its_own_on_one_cursor() {
    let app = guarded(own()).await;
    let (mut ann, mut bob) = (open(&app, "ann").await, open(&app, "bob").await);
    let coll = app.coll("c");
    coll.insert_one(doc! { "_id": 1, "owner": "ann" }).await.unwrap();
    coll.insert_one(doc! { "_id": 2, "owner": "bob" }).await.unwrap();
    coll.insert_one(doc! { "_id": 3, "owner": "ann" }).await.unwrap();
    assert_eq!(ann.change().await["documentKey"]["_id"], 1);
    assert_eq!(ann.change().await["documentKey"]["_id"], 3);
    assert_eq!(bob.change().await["documentKey"]["_id"], 2);
    app.has_cursors("c", 1).await;
    let read = app.as_user("ann", "GET", &format!("/{}/c?sort=_id", app.db.name())).await;
    let ids: Vec<_> = read.json().as_array().unwrap().iter().map(|d| d["_id"].clone()).collect();
    assert_eq!(ids, [1, 3]);
    let foreign = format!("/{}/c/2?id_type=NUMBER", app.db.name());
    assert_eq!(app.as_user("ann", "GET", &foreign).await.status, 404);
}

/// Strangers are asked who they are, and told nothing; a credential that does not hold is refused.
#[tokio::test]
async fn strangers_and_impostors_are_refused() {
    let app = guarded(own()).await;
    let stranger = app.refused("c/all").await;
    assert_eq!((stranger.status, stranger.body.as_str()), (401, ""));
    assert!(stranger.header("www-authenticate").unwrap().starts_with("Basic realm="));
    let impostor =
        app.with("GET", &app.path("c/all"), &[("authorization", "Basic YW5uOndyb25n")]).await;
    assert_eq!((impostor.status, impostor.body.as_str()), (401, ""));
    let quiet = app.with("GET", &app.path("c/all?noauthchallenge"), &[]).await;
    assert_eq!((quiet.status, quiet.header("www-authenticate")), (401, None));
}

/// A session whose rights changed is closed with the contract's code, whatever changed.
#[tokio::test]
async fn a_change_of_rights_ends_the_session() {
    let app = guarded(own()).await;
    let acl = app.db.collection::<Document>("acl");
    let mut ann = open(&app, "ann").await;
    let wider = doc! { "$set": { "mongo.readFilter": { "owner": { "$exists": true } } } };
    acl.update_one(doc! {}, wider).await.unwrap();
    assert_eq!(ann.until("close").await.json()["code"], 4403);
    let mut ann = open(&app, "ann").await;
    let users = app.db.collection::<Document>("users");
    users.delete_one(doc! { "_id": "ann" }).await.unwrap();
    assert_eq!(ann.until("close").await.json()["code"], 4401);
}

/// A ticket opens its stream, and no other; it stands for whom it was made.
#[tokio::test]
async fn a_ticket_opens_one_stream() {
    let app = guarded(own()).await;
    let path = app.path("c/all");
    let body = serde_json::json!({ "path": path }).to_string();
    let issued = app.as_user_with("ann", "POST", "/_/tickets", &body).await;
    assert_eq!(issued.status, 201, "{}", issued.body);
    let url = issued.json()["url"].as_str().unwrap().to_owned();
    let mut ann = Sse::open(app.address, &url, &[]).await;
    app.coll("c").insert_one(doc! { "_id": 1, "owner": "bob" }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2, "owner": "ann" }).await.unwrap();
    assert_eq!(ann.change().await["documentKey"]["_id"], 2);
    let ticket = issued.json()["ticket"].as_str().unwrap().to_owned();
    let elsewhere = app.get(&format!("/{}/c?ticket={ticket}", app.db.name())).await;
    assert_eq!(elsewhere.status, 401);
}

/// The projection hides fields in every place of an event, names included.
#[tokio::test]
async fn hidden_fields_appear_nowhere() {
    let app = guarded(vec![permission("/", doc! { "projectResponse": { "ssn": 0 } })]).await;
    let mut ann = open(&app, "ann").await;
    let coll = app.coll("c");
    coll.insert_one(doc! { "_id": 1, "ssn": "secret", "a": 1 }).await.unwrap();
    let change = doc! { "$set": { "ssn": "other", "a": 2 } };
    coll.update_one(doc! { "_id": 1 }, change).await.unwrap();
    coll.update_one(doc! { "_id": 1 }, doc! { "$unset": { "ssn": 1 } }).await.unwrap();
    for _ in 0..3 {
        let event = ann.change().await;
        assert!(!event.to_string().contains("ssn"), "{event}");
    }
}

/// An operator closes whatever a user has open; others notice nothing, and nobody else may.
#[tokio::test]
async fn an_operator_disconnects_a_user() {
    let app = guarded(own()).await;
    let (first, second) = (open(&app, "ann").await, open(&app, "ann").await);
    let mut bob = open(&app, "bob").await;
    let path = "/_/sessions?user=ann";
    assert_eq!(app.as_user("ann", "DELETE", path).await.status, 403);
    assert_eq!(app.as_user("root", "DELETE", "/_/sessions").await.status, 400);
    let closed = app.as_user("root", "DELETE", path).await;
    assert_eq!((closed.status, closed.json()["closed"].clone()), (200, 2.into()));
    for sse in [first, second] {
        assert_eq!(sse.rest().await.last().unwrap().json()["code"], 4403);
    }
    app.coll("c").insert_one(doc! { "_id": 1, "owner": "bob" }).await.unwrap();
    assert_eq!(bob.change().await["documentKey"]["_id"], 1);
    assert_eq!(app.as_user("root", "DELETE", path).await.json()["closed"], 0);
}
