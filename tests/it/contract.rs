//! The documents that describe the service: sound by the rules of their own projects, and true.

use std::process::Stdio;

use bson::{Document, doc};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use crate::support::{
    PATIENCE, TestApp, all,
    clients::{Tool, skip},
    eventually, http,
    mongod::shared_uri,
    sse::Sse,
    tailwater::{Folder, run},
    websocket::Socket,
};

const PACKAGE: &str = "tests/contract";

async fn started() -> TestApp {
    let app = TestApp::start().await;
    let bound = doc! { "uri": "bound", "description": "of one tenant", "stages": [], "notify_when": { "fullDocument::tid": { "$var": "tid" } } };
    let odd = doc! { "uri": "odd name \u{e9}", "stages": [{ "$match": { "fullDocument.n": { "$gte": { "$var": ["least", 1] } } } }] };
    app.declare("c", vec![all(), bound, odd]).await;
    app.declare("d.e", vec![all(), doc! { "uri": "broken" }]).await;
    app
}

/// The document, with nothing in it but what belongs to this test's database.
async fn asyncapi(app: &TestApp) -> Value {
    let answer = app.get("/_/asyncapi.json").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut document = answer.json();
    let own = format!("/{}/", app.db.name());
    let channels = document["channels"].as_object().unwrap().clone();
    let foreign = |channel: &Value| {
        let address = channel["address"].as_str().unwrap();
        address.contains("/_streams/") && !address.starts_with(&own)
    };
    for (id, _) in channels.iter().filter(|(_, channel)| foreign(channel)) {
        document["channels"].as_object_mut().unwrap().remove(id);
        document["operations"].as_object_mut().unwrap().remove(id);
    }
    document
}

/// AsyncAPI's own parser has nothing against the document.
#[tokio::test]
async fn asyncapi_is_sound() {
    let app = started().await;
    let document = asyncapi(&app).await;
    assert_sound(&document).await;
}

/// AsyncAPI's own parser is asked, where it is installed.
pub(crate) async fn assert_sound(document: &Value) {
    let Some(node) = Tool::require("node") else { return };
    if !std::path::Path::new(PACKAGE).join("node_modules/@asyncapi/parser").is_dir() {
        let _: Option<()> = skip("@asyncapi/parser (npm ci in tests/contract)");
        return;
    }
    let mut command = Command::new(node.path());
    command.arg(format!("{PACKAGE}/asyncapi.mjs")).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut parser = command.spawn().unwrap();
    parser.stdin.take().unwrap().write_all(document.to_string().as_bytes()).await.unwrap();
    let parsed = timeout(PATIENCE, parser.wait_with_output()).await.unwrap().unwrap();
    let said = String::from_utf8([parsed.stdout, parsed.stderr].concat()).unwrap();
    assert!(parsed.status.success() && said.is_empty(), "{said}");
}

/// Every channel of the document opens, by each transport that it names, with no more than the parameters
/// that it requires.
#[tokio::test]
async fn every_channel_opens() {
    let app = started().await;
    let document = asyncapi(&app).await;
    let channels = document["channels"].as_object().unwrap();
    let mut streams = 0;
    for (id, channel) in channels {
        let address = channel["address"].as_str().unwrap();
        streams += usize::from(address.contains("/_streams/"));
        let operation = &document["operations"][id];
        assert_eq!(operation["channel"]["$ref"], format!("#/channels/{id}"));
        let queries =
            [&channel["bindings"]["ws"]["query"], &operation["bindings"]["http"]["query"]];
        for (query, websocket) in queries.into_iter().zip([true, false]) {
            if query.is_null() {
                continue;
            }
            let mut target = address.to_owned();
            for name in query["required"].as_array().into_iter().flatten() {
                let sign = if target.contains('?') { '&' } else { '?' };
                target = format!("{target}{sign}{}=x", name.as_str().unwrap());
            }
            if websocket {
                drop(Socket::open(app.address, &target, None).await);
            } else {
                drop(Sse::begin(app.address, &target, &[]).await);
            }
        }
    }
    assert_eq!(streams, 4, "{channels:#?}");
    let bound = channels.values().find(|it| it["title"] == "Stream bound").unwrap();
    assert_eq!(bound["description"], "of one tenant");
    assert_eq!(bound["bindings"]["ws"]["query"]["required"], json!(["tid"]));
}

/// A caller is told of what it may open, and of nothing else; strangers are asked who they are.
#[tokio::test]
async fn a_caller_is_told_what_it_may_open() {
    let app = TestApp::guarded("").await;
    let users = app.db.collection::<Document>("users");
    let password = tailwater::access::hash_password("ann", 4).unwrap();
    users.insert_one(doc! { "_id": "ann", "password": password, "roles": ["user"] }).await.unwrap();
    let only = format!("path('{}')", app.path("c/all"));
    let permission = doc! { "roles": ["user"], "predicate": only, "priority": 1 };
    app.db.collection::<Document>("acl").insert_one(permission).await.unwrap();
    app.declare("c", vec![all(), doc! { "uri": "other", "stages": [] }]).await;
    app.declare("hidden", vec![all()]).await;
    for path in ["/_/asyncapi.json", "/_/openapi.json"] {
        let stranger = app.get(path).await;
        assert_eq!((stranger.status, stranger.body.as_str()), (401, ""), "{path}");
    }
    eventually("permissions are seen", async || {
        let told = app.as_user("ann", "GET", "/_/asyncapi.json").await.json();
        let channels = told["channels"].as_object().unwrap();
        let addresses: Vec<_> = channels.values().map(|it| it["address"].clone()).collect();
        assert!(addresses.len() <= 1, "{addresses:?}");
        addresses == [app.path("c/all")]
    })
    .await;
    assert_eq!(app.as_user("ann", "GET", "/_/openapi.json").await.status, 200);
}

/// Paths are those of the mounts.
#[tokio::test]
async fn channels_are_where_mounts_put_them() {
    let db = crate::support::mongod::fresh_database().await;
    let name = db.name().to_owned();
    for (mounts, expected) in [
        (format!("[{{ what: \"/{name}\", where: \"/x/y\" }}]"), Some("/x/y/c/_streams/all")),
        (format!("[{{ what: \"/{name}/c\", where: \"/feed\" }}]"), Some("/feed/_streams/all")),
        (format!("[{{ what: \"/{name}/d\", where: \"/feed\" }}]"), None),
        (format!("[{{ what: \"/{name}/{{*}}\", where: \"/t/{{*}}\" }}]"), None),
    ] {
        let app = TestApp::at(&shared_uri().await, db.clone(), &format!("mounts: {mounts}")).await;
        app.declare("c", vec![all()]).await;
        let document = app.get("/_/asyncapi.json").await.json();
        let channels = document["channels"].as_object().unwrap();
        let addresses: Vec<_> =
            channels.values().map(|it| it["address"].as_str().unwrap()).collect();
        assert_eq!(addresses, expected.into_iter().collect::<Vec<_>>(), "{mounts}");
        app.stop().await;
    }
}

/// The REST side as described: every path of it answers, by every method that it names.
#[tokio::test]
async fn every_operation_of_openapi_is_served() {
    let app = started().await;
    app.coll("c").insert_one(doc! { "_id": "1" }).await.unwrap();
    let document = app.get("/_/openapi.json").await.json();
    for (path, item) in document["paths"].as_object().unwrap() {
        let filled = [("{db}", app.db.name()), ("{coll}", "c"), ("{uri}", "all"), ("{id}", "1")];
        let target =
            filled.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_uppercase();
            if method == "PARAMETERS" {
                continue;
            }
            // Some of the requests change what the next one asks for.
            app.declare("c", vec![all()]).await;
            let headers = [("content-type", "application/json"), ("accept", "text/event-stream")];
            let answer = http::begin(app.address, &method, &target, &headers, "").await;
            let status = answer.status().as_u16();
            let listed = operation["responses"].get(status.to_string()).is_some();
            // What needs a body or a parameter says so.
            assert!(listed || status == 400, "{method} {path}: {status}");
        }
    }
}

/// `export` prints both documents.
#[tokio::test]
async fn export_prints_the_documents() {
    let app = started().await;
    let uri = shared_uri().await;
    let (code, out, err) = run(&["export", "asyncapi", "--mongodb-uri", &uri]).await;
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["asyncapi"], "3.0.0");
    let channels = document["channels"].as_object().unwrap();
    let path = app.path("c/all");
    assert!(channels.values().any(|channel| channel["address"] == path), "{out}");
    // Feeds too, where callers can be told apart.
    let declared =
        "entities: [{ name: Case, collection: d.c, source: /c, events: [{ name: e }] }]\n";
    let folder = Folder::new().with("c.yaml", declared);
    let args = ["export", "asyncapi", "--mongodb-uri", &uri, "--entities", folder.path()];
    for (more, feeds) in [(&[][..], 3), (&["--insecure-no-auth"][..], 0)] {
        let (code, out, err) = run(&[&args[..], more].concat()).await;
        assert_eq!(code, 0, "{err}");
        let document: Value = serde_json::from_str(&out).unwrap();
        let channels = document["channels"].as_object().unwrap();
        let is_feed = |channel: &&Value| channel["address"].as_str().unwrap().starts_with("/api/");
        assert_eq!(channels.values().filter(is_feed).count(), feeds, "{more:?}");
    }
    let (code, out, err) = run(&["export", "openapi"]).await;
    assert_eq!((code, err.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
}
