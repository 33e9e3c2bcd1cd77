//! Envelopes as readers that others wrote understand them.

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{Document, doc};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use super::shop::{Shop, everything, permission};
use crate::support::clients::Tool;

const FORMATS: &str = "
entities:
  - name: Event
    collection: DB.events
    source: //shop.example/events
    tenant: tenant
    user: user
    events: [{ name: e, format: cloudevents }]
  - name: Record
    collection: DB.records
    source: /records
    tenant: tenant
    events: [{ name: r, format: avro }]
  - { name: Silent, collection: DB.silent, source: /s }
";

/// What the packages make of envelopes: each line of the answer is one of them, as JSON.
async fn read_by_others(input: &Value) -> Option<Vec<Value>> {
    let (python, packages) = Tool::python("cloudevents, fastavro")?;
    let mut command = tokio::process::Command::new(python.path());
    command.args(["-c", include_str!("formats.py")]).env("PYTHONPATH", packages);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "the packages refuse an envelope");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

async fn write(shop: &Shop, coll: &str) {
    let full = doc! { "_id": 1, "tenant": "acme", "user": "ann", "text": "gr\u{f6}\u{df}e \u{1f30a}", "n": 1.5 };
    shop.insert(coll, [full]).await;
    let coll = shop.app.db.collection::<Document>(coll);
    coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 2 } }).await.unwrap();
    coll.delete_one(doc! { "_id": 1 }).await.unwrap();
}

/// The `cloudevents` package reads each event and finds the attributes and the data.
#[tokio::test]
async fn cloudevents_are_what_the_package_reads() {
    let shop = Shop::with(FORMATS, everything(), "").await;
    let mut root = shop.feed("root", "/api/subscribe/Event").await;
    write(&shop, "events").await;
    let mut envelopes = Vec::new();
    for kind in ["create", "update", "delete"] {
        let block = root.event().await;
        let envelope = block.json();
        assert_eq!(envelope["specversion"], "1.0");
        assert_eq!(envelope["type"], format!("entity.{kind}"));
        assert_eq!(envelope["id"].as_str(), block.id.as_deref());
        let lower =
            |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        assert!(envelope.as_object().unwrap().keys().all(lower), "{envelope}");
        envelopes.push(block.data.unwrap());
    }
    let Some(read) = read_by_others(&json!({ "cloudevents": envelopes })).await else { return };
    assert_eq!(read[0]["userid"], "ann");
    assert_eq!((&read[0]["subject"], &read[0]["tenant"]), (&json!("1"), &json!("acme")));
    assert_eq!(read[0]["data"]["text"], "gr\u{f6}\u{df}e \u{1f30a}");
    assert_eq!(read[2]["data"], Value::Null);
}

/// `fastavro` decodes each event by the schema that is served: binary on a WebSocket, base64 else.
#[tokio::test]
async fn avro_is_what_the_package_decodes() {
    let shop = Shop::with(FORMATS, everything(), "").await;
    let schema = shop.app.as_user("ann", "GET", "/api/subscribe/Record/schema").await;
    assert_eq!((schema.status, schema.header("content-type")), (200, Some("application/json")));
    let mut sse = shop.feed("root", "/api/subscribe/Record").await;
    let mut bare = shop.socket("root", "/api/subscribe/Record", None).await;
    let mut enveloped = shop.socket("root", "/api/subscribe/Record", Some("tailwater.v1")).await;
    assert_eq!(enveloped.json().await["event"], "ready");
    write(&shop, "records").await;
    let mut records = Vec::new();
    for _ in 0..3 {
        let block = sse.event().await;
        let message = enveloped.json().await;
        assert_eq!(message["data"].as_str(), block.data.as_deref());
        assert_eq!(message["id"].as_str(), block.id.as_deref());
        let Message::Binary(bytes) = bare.message().await else { panic!("a binary message") };
        assert_eq!(Some(STANDARD.encode(bytes)), block.data);
        records.push(block.data.unwrap());
    }
    let input = json!({ "schema": schema.json(), "avro": records });
    let Some(read) = read_by_others(&input).await else { return };
    let operations: Vec<_> = read.iter().map(|record| record["operation"].clone()).collect();
    assert_eq!(operations, ["create", "update", "delete"]);
    assert_eq!((&read[0]["entity"], &read[0]["subject"]), (&json!("Record"), &json!("1")));
    assert_eq!(read[2]["data"], Value::Null);
    let data: Value = serde_json::from_str(read[0]["data"].as_str().unwrap()).unwrap();
    assert_eq!(data["n"], 1.5);
}

/// Whoever may open a feed may read its schema, and nobody else.
#[tokio::test]
async fn a_schema_is_for_readers_of_the_feed() {
    let only = vec![permission("path('/api/subscribe/Event')", doc! {})];
    let shop = Shop::with(FORMATS, only, "").await;
    for (user, name, status) in [
        ("ann", "Event", 200),
        ("ann", "Record", 403),
        ("ann", "Nothing", 403),
        ("root", "Record", 200),
        ("root", "Silent", 404),
        ("root", "Nothing", 404),
    ] {
        let path = format!("/api/subscribe/{name}/schema");
        assert_eq!(shop.app.as_user(user, "GET", &path).await.status, status, "{user} {name}");
    }
    assert_eq!(shop.app.get("/api/subscribe/Event/schema").await.status, 401);
}
