//! By topic: several entities and collections on one connection, and what each caller sees of them.

use bson::{Document, doc};
use mongodb::bson::oid::ObjectId;

use super::shop::{Reader, Shop, permission};

const TOPICS: &str = "
entities:
  - name: Order
    collection: DB.orders
    source: //shop.example/orders
    events:
      - { name: first, topic: shop }
      - { name: large, topic: shop, condition: { language: expr, expression: 'data.n > 1' } }
  - { name: Line, collection: DB.orders, source: /lines, events: [{ name: line, topic: shop }] }
  - { name: Cart, collection: DB.carts, source: /carts, events: [{ name: cart, topic: wide }] }
  - { name: Bill, collection: DB.bills, source: /bills, events: [{ name: bill, topic: wide }] }
  - { name: Log, collection: DB_logs.all, source: /logs, events: [{ name: log, topic: widest }] }
  - { name: Note, collection: DB.notes, source: /notes, events: [{ name: note, topic: widest }] }
";

fn routes(entities: &[&str]) -> Vec<Document> {
    let own = entities.iter().map(|name| format!("path('/api/subscribe/{name}')"));
    let paths = own.chain(["path('/api/subscribe')".to_owned()]);
    paths.map(|predicate| permission(&predicate, doc! {})).collect()
}

/// A custom topic brings the events of all its entities in declared order, each with an id of its
/// own; the default topic brings the entity's.
#[tokio::test]
async fn a_topic_brings_several_entities() {
    let shop = Shop::start(TOPICS).await;
    let mut topic = shop.feed("ann", "/api/subscribe?topic=shop").await;
    let mut order = shop.feed("ann", "/api/subscribe/Order").await;
    assert_eq!(shop.cursors("orders").await, 1);
    shop.insert("orders", [doc! { "_id": 1, "n": 1 }, doc! { "_id": 2, "n": 2 }]).await;
    let mut told = Vec::new();
    for _ in 0..5 {
        let envelope = topic.envelope().await;
        let id = envelope["id"].as_str().unwrap();
        let ordinal = id.split_once('~').map_or("0", |(_, n)| n).to_owned();
        let text = |name: &str| envelope[name].as_str().unwrap().to_owned();
        told.push(format!("{} {} {ordinal}", text("subject"), text("entity")));
    }
    assert_eq!(told, ["1 Order 0", "1 Line 1", "2 Order 0", "2 Order 1", "2 Line 2"]);
    assert_eq!(order.subjects(3).await, ["1", "2", "2"]);
    let missing = shop.refused("ann", "/api/subscribe?topic=entity.Order").await;
    assert_eq!(missing.status, 404, "all events of Order have another topic");
}

/// A topic of several collections is one cursor on their database, in the order of commits, and one
/// id resumes all of it.
#[tokio::test]
async fn a_topic_of_several_collections_has_one_order() {
    let shop = Shop::start(TOPICS).await;
    let mut topic = shop.feed("ann", "/api/subscribe?topic=wide").await;
    assert_eq!(shop.wide_cursors().await, 1);
    let (carts, bills) = (shop.app.coll("carts"), shop.app.coll("bills"));
    for n in 0..10 {
        let coll = if n % 3 == 0 { &bills } else { &carts };
        coll.insert_one(doc! { "_id": n }).await.unwrap();
        shop.insert("orders", [doc! { "_id": ObjectId::new() }]).await;
    }
    let expected: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    assert_eq!(topic.subjects(4).await, expected[..4]);
    let id = topic.sse.last_id.clone();
    assert_eq!(topic.subjects(6).await, expected[4..]);
    let replica = shop.replica().await;
    for address in [shop.app.address, replica.address] {
        let header = [("last-event-id", id.as_str())];
        let path = "/api/subscribe?topic=wide";
        let mut back = super::shop::Reader::open(address, "ann", path, &header).await;
        assert_eq!(back.start.id.as_ref(), Some(&id));
        assert_eq!(back.subjects(6).await, expected[4..]);
    }
    // Ids of one collection are not those of several.
    shop.insert("carts", [doc! { "_id": 100 }]).await;
    let mut cart = shop.resume("ann", "/api/subscribe/Cart", &id).await;
    assert_eq!(cart.sse.event().await.json()["reason"], "unknown_id");
    let mut wide = shop.resume("ann", "/api/subscribe?topic=wide", "evt-x").await;
    let links = wide.sse.event().await.json()["recover"]["links"].clone();
    let link = |coll: &str| format!("/{}/{coll}", shop.app.db.name());
    assert_eq!(links, serde_json::json!([link("carts"), link("bills")]));
}

/// A topic of several databases is one cursor on the deployment.
#[tokio::test]
async fn a_topic_of_several_databases_is_served() {
    let shop = Shop::start(TOPICS).await;
    let mut topic = shop.feed("ann", "/api/subscribe?topic=widest").await;
    shop.insert("notes", [doc! { "_id": "note" }]).await;
    let logs = shop.app.db.client().database(&format!("{}_logs", shop.app.db.name()));
    logs.collection("all").insert_one(doc! { "_id": "log" }).await.unwrap();
    shop.insert("notes", [doc! { "_id": "again" }]).await;
    assert_eq!(topic.subjects(3).await, ["note", "log", "again"]);
}

/// A topic shows the entities whose own route the caller may open, and those alone; readers who see
/// different ones share a cursor.
#[tokio::test]
async fn a_topic_shows_what_its_reader_may_open() {
    let shop = Shop::with(TOPICS, routes(&["Bill", "Line"]), "").await;
    let mut ann = shop.feed("ann", "/api/subscribe?topic=wide").await;
    let mut root = shop.feed("root", "/api/subscribe?topic=wide").await;
    assert_eq!(shop.wide_cursors().await, 1);
    shop.insert("carts", [doc! { "_id": "cart" }]).await;
    shop.insert("bills", [doc! { "_id": "bill" }]).await;
    assert_eq!(ann.subjects(1).await, ["bill"]);
    assert_eq!(root.subjects(2).await, ["cart", "bill"]);
    let mut line = shop.feed("ann", "/api/subscribe?topic=shop").await;
    shop.insert("orders", [doc! { "_id": 1, "n": 2 }]).await;
    assert!(line.event().await.id.unwrap().ends_with("~2"), "numbered as for everybody");
    assert_eq!(shop.refused("ann", "/api/subscribe?topic=widest").await.status, 404);
    // What was not shown becomes visible: the session is told to come back.
    let acl = shop.app.db.collection::<Document>("acl");
    acl.insert_one(permission("path('/api/subscribe/Cart')", doc! {})).await.unwrap();
    assert_eq!(ann.sse.until("close").await.json()["code"], 4403);
}

/// A notice is about a collection: whoever is shown others is told nothing.
#[tokio::test]
async fn a_notice_is_for_those_who_see_the_collection() {
    let shop = Shop::with(TOPICS, routes(&["Bill"]), "").await;
    let mut ann = shop.feed("ann", "/api/subscribe?topic=wide").await;
    let mut root = shop.feed("root", "/api/subscribe?topic=wide").await;
    shop.app.insert_malformed("carts", 1).await;
    shop.insert("bills", [doc! { "_id": "bill" }]).await;
    assert!(root.sse.event().await.is("skipped"));
    assert_eq!(root.subjects(1).await, ["bill"]);
    assert_eq!(ann.subjects(1).await, ["bill"]);
    shop.app.insert_malformed("bills", 2).await;
    assert!(root.sse.event().await.is("skipped"));
    assert!(ann.sse.event().await.is("skipped"));
}

/// The filters of the topic's route and of the entity's route both apply.
#[tokio::test]
async fn both_permissions_apply() {
    let filter = |filter: Document| doc! { "mongo": { "readFilter": filter } };
    let permissions = vec![
        permission("path('/api/subscribe')", filter(doc! { "a": 1 })),
        permission("path('/api/subscribe/Cart')", filter(doc! { "b": 1 })),
    ];
    let shop = Shop::with(TOPICS, permissions, "").await;
    let mut topic = shop.feed("ann", "/api/subscribe?topic=wide").await;
    shop.insert("carts", [doc! { "_id": 1, "a": 1 }, doc! { "_id": 2, "b": 1 }]).await;
    shop.insert("carts", [doc! { "_id": 3, "a": 1, "b": 1 }]).await;
    assert_eq!(topic.subjects(1).await, ["3"]);
}

/// The wildcard is for those whose permission says so, and for root.
#[tokio::test]
async fn the_wildcard_needs_permission() {
    let shop = Shop::with(TOPICS, routes(&["Cart"]), "").await;
    for path in ["/api/subscribe?topic=*", "/api/subscribe?topic=*&ops=x"] {
        assert_eq!(shop.refused("ann", path).await.status, 403);
    }
    let mut root = shop.feed("root", "/api/subscribe?topic=*").await;
    let acl = shop.app.db.collection::<Document>("acl");
    let wider = doc! { "$set": { "tailwater": { "allTopics": true } } };
    acl.update_one(doc! { "predicate": "path('/api/subscribe')" }, wider).await.unwrap();
    crate::support::eventually("the permission is seen", async || {
        shop.status("ann", "/api/subscribe?topic=*").await == 200
    })
    .await;
    let mut ann = shop.feed("ann", "/api/subscribe?topic=%2A").await;
    shop.insert("bills", [doc! { "_id": "bill" }]).await;
    shop.insert("carts", [doc! { "_id": "cart" }]).await;
    assert_eq!(root.subjects(2).await, ["bill", "cart"]);
    assert_eq!(ann.subjects(1).await, ["cart"]);
}

/// Ways in which what is in `carts` goes without an event of each document.
const ENDS: [&str; 3] = ["drop", "rename from", "rename to"];

async fn end_carts(shop: &Shop, how: &str) {
    match how {
        "drop" => shop.app.coll("carts").drop().await.unwrap(),
        "rename from" => shop.app.rename("carts", "spare").await,
        _ => shop.app.rename("spare", "carts").await,
    }
}

/// Where several collections share a cursor, it goes on when one of them is dropped or replaced. Whoever
/// is shown that one is told in the event's place, and nobody else.
#[tokio::test]
async fn a_collection_that_ends_is_told_to_those_who_see_it() {
    let shop = Shop::with(TOPICS, routes(&["Bill"]), "").await;
    let path = "/api/subscribe?topic=wide";
    shop.insert("carts", [doc! { "_id": "before" }]).await;
    let mut other = shop.feed("ann", path).await;
    let mut root = shop.feed("root", path).await;
    let mut enveloped = shop.socket("root", path, Some("tailwater.v1")).await;
    assert_eq!(enveloped.said().await["event"], "ready");
    let mut plain = shop.socket("root", path, None).await;
    for how in ENDS {
        end_carts(&shop, how).await;
        shop.insert("bills", [doc! { "_id": format!("bill {how}") }]).await;
        shop.insert("carts", [doc! { "_id": format!("cart {how}") }]).await;
        let reset = root.sse.event().await;
        assert!(reset.is("reset"), "{how}: {reset:?}");
        assert_eq!(reset.json()["reason"], "collection_dropped", "{how}");
        let link = format!("/{}/carts", shop.app.db.name());
        assert_eq!(reset.json()["recover"]["links"][0], link.as_str(), "{how}");
        assert_eq!(root.subjects(2).await, [format!("bill {how}"), format!("cart {how}")]);
        assert_eq!(other.subjects(1).await, [format!("bill {how}")]);
        for event in ["reset", "entity.create", "entity.create"] {
            assert_eq!(enveloped.said().await["event"], event, "{how}");
        }
    }
    assert_eq!(plain.closed().await, (4410, "history lost".to_owned()));
}

/// The same on coming back from before it; and its id is a place to come back to.
#[tokio::test]
async fn a_collection_that_ended_is_told_on_coming_back() {
    let shop = Shop::start(TOPICS).await;
    let path = "/api/subscribe?topic=wide";
    shop.insert("carts", [doc! { "_id": "before" }]).await;
    let mut reader = shop.feed("ann", path).await;
    let start = reader.start.id.clone().unwrap();
    let mut resets = Vec::new();
    for how in ENDS {
        end_carts(&shop, how).await;
        shop.insert("carts", [doc! { "_id": how }]).await;
        resets.push(reader.sse.event().await.id.unwrap());
        assert_eq!(reader.subjects(1).await, [how]);
    }
    let replica = shop.replica().await;
    for address in [shop.app.address, replica.address] {
        let back =
            async |id: &str| Reader::open(address, "ann", path, &[("last-event-id", id)]).await;
        let mut from_start = back(&start).await;
        for (how, id) in ENDS.iter().zip(&resets) {
            let reset = from_start.sse.event().await;
            assert_eq!((reset.is("reset"), reset.id.as_ref()), (true, Some(id)), "{how}");
            assert_eq!(from_start.subjects(1).await, [*how]);
            assert_eq!(back(id).await.subjects(1).await, [*how]);
        }
    }
}
