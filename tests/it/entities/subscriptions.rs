//! Declared subscriptions: scope, operations, filter, fields, transports, row-level security.

use bson::{Document, doc};
use serde_json::json;

use super::shop::{Shop, everything, permission};

const DECLARED: &str = "
entities:
  - name: Case
    collection: DB.cases
    source: /cases
    tenant: tenant
    user: user
    fieldgroups: { public: [status, n], other: [secret] }
    events: [{ name: case.changed, topic: cases, exclude: [hidden] }]
    subscriptions:
      - { name: mine, scope: user, eventtypes: [create, delete] }
      - { name: public, fieldgroup: public }
      - { name: ours, scope: tenant }
      - { name: only-sse, transports: [sse] }
      - { name: only-websocket, transports: [websocket] }
subscriptions:
  - { name: all-tenants, source: cases, scope: global }
  - { name: secured, source: cases, rls: true }
  - name: large
    source: cases
    filter: { language: expr, expression: 'data.n > 1 && operation == \"create\" && tenant == \"acme\"' }
  - name: blind
    source: cases
    filter: { language: expr, expression: 'data.hidden == 1' }
";

fn case(id: &str, tenant: &str, user: &str, n: impl Into<bson::Bson>) -> Document {
    let fields = doc! { "status": "open", "secret": "hush", "hidden": 1, "n": n };
    let mut case = doc! { "_id": id, "tenant": tenant, "user": user };
    case.extend(fields);
    case
}

/// `user` is the caller's own, `tenant` its tenant's, `global` everybody's; `eventtypes` and `ops`
/// both count.
#[tokio::test]
async fn a_scope_says_whose_events() {
    let shop = Shop::start(DECLARED).await;
    let mut mine = shop.feed("ann", "/api/subscriptions/mine").await;
    let mut all = shop.feed("bob", "/api/subscriptions/all-tenants?ops=create").await;
    let mut tenant = shop.feed("amy", "/api/subscriptions/public").await;
    let mut ours = shop.feed("bob", "/api/subscriptions/ours").await;
    let cases =
        [case("1", "acme", "amy", 1), case("2", "globex", "ann", 1), case("3", "acme", "ann", 1)];
    shop.insert("cases", cases).await;
    let update = doc! { "$set": { "n": 2 } };
    shop.app.coll("cases").update_one(doc! { "_id": "3" }, update).await.unwrap();
    shop.insert("cases", [case("4", "acme", "ann", 1)]).await;
    assert_eq!(mine.subjects(2).await, ["3", "4"], "no update, no other user, no other tenant");
    assert_eq!(all.subjects(4).await, ["1", "2", "3", "4"]);
    assert_eq!(tenant.subjects(4).await, ["1", "3", "3", "4"]);
    assert_eq!(ours.subjects(1).await, ["2"]);
    let never = shop.refused("ann", "/api/subscriptions/mine?ops=update").await;
    assert_eq!(never.status, 400, "{}", never.body);
    assert!(never.message().contains("create, delete"), "{}", never.message());
}

/// A field group cuts `data` to its fields, and the event's own `exclude` stays.
#[tokio::test]
async fn a_fieldgroup_cuts_data() {
    let shop = Shop::start(DECLARED).await;
    let mut public = shop.feed("ann", "/api/subscriptions/public").await;
    let mut whole = shop.feed("ann", "/api/subscribe/Case").await;
    shop.insert("cases", [case("1", "acme", "ann", 7)]).await;
    assert_eq!(public.envelope().await["data"], json!({ "status": "open", "n": 7 }));
    let data = whole.envelope().await["data"].clone();
    assert_eq!((&data["secret"], &data["hidden"]), (&json!("hush"), &json!(null)));
}

/// A filter sees what its reader is shown; what it cannot decide is withheld and counted.
#[tokio::test]
async fn a_filter_fails_closed() {
    let shop = Shop::start(DECLARED).await;
    let mut large = shop.feed("ann", "/api/subscriptions/large").await;
    let mut blind = shop.feed("ann", "/api/subscriptions/blind").await;
    let cases =
        [case("1", "acme", "x", 1), case("2", "acme", "x", "many"), case("3", "acme", "x", 3)];
    shop.insert("cases", cases).await;
    assert_eq!(large.subjects(1).await, ["3"]);
    // `hidden` is excluded: to the filter it is not there, and nothing comes.
    shop.app.coll("cases").drop().await.unwrap();
    assert_eq!(blind.sse.event().await.json()["code"], 4404);
}

/// A transport that is not declared is refused, and the other one named.
#[tokio::test]
async fn a_subscription_has_its_transports() {
    let shop = Shop::start(DECLARED).await;
    let refused = shop.refused("ann", "/api/subscriptions/only-websocket").await;
    assert_eq!(refused.status, 400);
    assert!(refused.message().contains("WebSocket"), "{}", refused.message());
    assert_eq!(shop.status("ann", "/api/subscriptions/only-sse").await, 200);
    let mut socket = shop.socket("ann", "/api/subscriptions/only-websocket", None).await;
    shop.insert("cases", [case("1", "acme", "ann", 1)]).await;
    assert_eq!(socket.json().await["subject"], "1");
    let sse_only = "/api/subscriptions/only-sse";
    let authorization = super::shop::authorization("ann");
    let address = shop.app.address;
    let opened =
        crate::support::websocket::Socket::as_user(address, sse_only, None, &authorization).await;
    assert!(opened.is_err());
}

/// With `rls`, the permission for reading the collection applies as well; without one, nobody opens.
#[tokio::test]
async fn row_level_security_is_the_collections() {
    let shop = Shop::with(DECLARED, everything(), "").await;
    let path = "/api/subscriptions/secured";
    assert_eq!(shop.refused("ann", path).await.status, 403);
    let acl = shop.app.db.collection::<Document>("acl");
    let predicate = format!("path('/{}/cases')", shop.app.db.name());
    let mongo = doc! { "mongo": { "readFilter": { "n": 2 }, "projectResponse": { "secret": 0 } } };
    acl.insert_one(permission(&predicate, mongo)).await.unwrap();
    crate::support::eventually("the permission is seen", async || {
        shop.status("ann", path).await == 200
    })
    .await;
    let mut secured = shop.feed("ann", path).await;
    shop.insert("cases", [case("1", "acme", "ann", 1), case("2", "acme", "ann", 2)]).await;
    let envelope = secured.envelope().await;
    assert_eq!((&envelope["subject"], &envelope["data"]["secret"]), (&json!("2"), &json!(null)));
    // It is watched like every other.
    acl.delete_one(doc! { "predicate": predicate }).await.unwrap();
    assert_eq!(secured.sse.until("close").await.json()["code"], 4403);
}
