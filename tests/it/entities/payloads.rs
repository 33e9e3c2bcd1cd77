//! What an envelope holds of its document, and how it names it.

use bson::{Bson, Document, doc, oid::ObjectId};
use serde_json::{Value, json};

use super::shop::{ORDER, Shop, authorization, everything, permission};
use crate::support::clients::{Program, Tool};

const SHAPES: &str = "
entities:
  - name: Order
    collection: DB.orders
    source: /orders
    payload: delta
    events: [{ name: changed, exclude: [secret, deep.secret] }]
  - name: Part
    collection: DB.parts
    source: /parts
    events:
      - { name: some, topic: some, include: [a, deep.b] }
      - { name: both, topic: both, include: [a, secret], exclude: [secret] }
";

/// A delta is the fields that an update changed, those that nobody may see left out by every way in which
/// an update names them.
#[tokio::test]
async fn a_delta_is_cut_as_the_document_is() {
    let cut = doc! { "mongo": { "projectResponse": { "hidden": 0, "deep.hidden": 0 } } };
    let shop = Shop::with(SHAPES, vec![permission("path-prefix('/api')", cut)], "").await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    let fields = |n: i32| doc! { "b": n, "secret": n, "hidden": n };
    let mut order = doc! { "_id": 1, "n": 1, "secret": 1, "hidden": 1, "gone": 1 };
    order.insert("deep", fields(1));
    shop.insert("orders", [order]).await;
    let create = reader.envelope().await;
    assert_eq!(create["data"], json!({ "_id": 1, "n": 1, "gone": 1, "deep": { "b": 1 } }));
    let set = doc! {
        "n": 2, "secret": 2, "hidden": 2, "deep.b": 2, "deep.secret": 2, "deep.hidden": 2,
    };
    let update = doc! { "$set": set, "$unset": { "gone": "" } };
    shop.app.coll("orders").update_one(doc! { "_id": 1 }, update).await.unwrap();
    assert_eq!(reader.envelope().await["data"], json!({ "n": 2, "deep.b": 2, "gone": null }));
    let whole = doc! { "$set": { "deep": fields(3) }, "$unset": { "hidden": "", "secret": "" } };
    shop.app.coll("orders").update_one(doc! { "_id": 1 }, whole).await.unwrap();
    assert_eq!(reader.envelope().await["data"], json!({ "deep": { "b": 3 } }));
}

/// `include` shows what it lists, and wins where `exclude` is declared besides.
#[tokio::test]
async fn an_event_includes_what_it_lists() {
    let shop = Shop::start(SHAPES).await;
    let mut some = shop.feed("ann", "/api/subscribe?topic=some").await;
    let mut both = shop.feed("ann", "/api/subscribe?topic=both").await;
    let part = doc! { "_id": 1, "a": 1, "secret": 1, "deep": { "b": 1, "c": 1 }, "5": { "a": 1 } };
    shop.insert("parts", [part]).await;
    assert_eq!(some.envelope().await["data"], json!({ "a": 1, "deep": { "b": 1 } }));
    assert_eq!(both.envelope().await["data"], json!({ "a": 1, "secret": 1 }));
}

/// `subject` is the key as text, whatever the key is made of, and `time` is when the change was made.
#[tokio::test]
async fn a_subject_is_the_key_as_text() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    let (uuid, id) = (bson::Uuid::new(), ObjectId::new());
    let keys: [(Bson, String); 6] = [
        (uuid.into(), uuid.to_string()),
        (id.into(), id.to_hex()),
        (7_i64.into(), "7".to_owned()),
        ("a\r\nid: x".into(), "a\r\nid: x".to_owned()),
        (doc! { "a": 1, "b": "x" }.into(), r#"{"a":1,"b":"x"}"#.to_owned()),
        (true.into(), "true".to_owned()),
    ];
    for (key, expected) in keys {
        let before = bson::DateTime::now();
        shop.insert("orders", [doc! { "_id": key }]).await;
        let envelope = reader.envelope().await;
        assert_eq!(envelope["subject"], expected);
        let time = bson::DateTime::parse_rfc3339_str(envelope["time"].as_str().unwrap()).unwrap();
        // MongoDB's clock is this machine's, to the millisecond.
        let late = time.timestamp_millis() - before.timestamp_millis();
        assert!((-5..20_000).contains(&late), "{late} ms: {envelope}");
    }
}

/// Row-level security cuts within a field group, on each entity of a topic with its collection's rights.
#[tokio::test]
async fn row_level_security_cuts_within_a_field_group() {
    let declared = "
entities:
  - name: Order
    collection: DB.orders
    source: /orders
    fieldgroups: { short: [a, b] }
    events: [{ name: order, topic: all }]
  - name: Bill
    collection: DB.bills
    source: /bills
    fieldgroups: { short: [a, b] }
    events: [{ name: bill, topic: all }]
subscriptions:
  - { name: short, source: all, fieldgroup: short, rls: true }
";
    let shop = Shop::with(declared, everything(), "").await;
    let acl = shop.app.db.collection::<Document>("acl");
    let rights = |coll: &str, mongo: Document| {
        let predicate = format!("path('/{}/{coll}')", shop.app.db.name());
        permission(&predicate, doc! { "mongo": mongo })
    };
    let orders = rights("orders", doc! { "projectResponse": { "b": 0 } });
    let bills = rights("bills", doc! { "readFilter": { "a": 1 } });
    acl.insert_many([orders, bills]).await.unwrap();
    crate::support::eventually("the permissions are seen", async || {
        shop.status("ann", "/api/subscriptions/short").await == 200
    })
    .await;
    let mut reader = shop.feed("ann", "/api/subscriptions/short").await;
    let document = |a: i32| doc! { "a": a, "b": 1, "c": 1 };
    shop.insert("orders", [document(2)]).await;
    shop.insert("bills", [document(2), document(1)]).await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let mut envelope = reader.envelope().await;
        told.push([envelope["entity"].take(), envelope["data"].take()]);
    }
    let expected: [[Value; 2]; 2] =
        [["Order".into(), json!({ "a": 2 })], ["Bill".into(), json!({ "a": 1, "b": 1 })]];
    assert_eq!(told, expected);
}

/// Prints what the client module hears of a feed.
const LISTENER: &str = "
const [url, authorization, module] = process.argv.slice(1)
const { watch } = await import(module)
const print = it => console.log(JSON.stringify(it))
watch(url, {
  headers: { authorization },
  on: { 'entity.create': print, 'entity.delete': print },
  onState: state => { if (state === 'live') print(state) }
})
";

/// The client module hears envelopes as they are: of a delete, with a key `data` that is null.
#[tokio::test]
async fn the_client_module_reads_envelopes_without_data() {
    let Some(node) = Tool::require("node") else { return };
    let shop = Shop::start(ORDER).await;
    let url = format!("http://{}/api/subscribe/Order", shop.app.address);
    let module = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/clients/js/tailwater.js");
    let authorization = authorization("ann");
    let args = ["--input-type=module", "--eval", LISTENER, &url, &authorization, module];
    let mut listener = node.run(args);
    let heard = async |listener: &mut Program| -> Value {
        serde_json::from_str(&listener.line().await.unwrap()).unwrap()
    };
    assert_eq!(heard(&mut listener).await, "live");
    shop.insert("orders", [doc! { "_id": 1, "n": 2 }]).await;
    shop.app.coll("orders").delete_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(heard(&mut listener).await["data"], json!({ "_id": 1, "n": 2 }));
    let deleted = heard(&mut listener).await;
    assert_eq!((&deleted["subject"], deleted.get("data")), (&"1".into(), Some(&Value::Null)));
}
