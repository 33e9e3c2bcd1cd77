//! What a feed tells of faults of MongoDB: as streams do, in its own words.

use bson::doc;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shop::{ORDER, Reader, Shop, everything};
use crate::support::{
    fail_point::FailPoints,
    mongod::{Lasting, private, roll_oplog, tiny_oplog},
    sse::Block,
};

const FEED: &str = "/api/subscribe/Order?heartbeat=1s";

/// A feed of one collection, and one of several on a cursor of the database.
const TWO: &str = "
entities:
  - { name: Order, collection: DB.orders, source: /orders, events: [{ name: order, topic: orders }] }
  - { name: Cart, collection: DB.carts, source: /carts, events: [{ name: cart, topic: all }] }
  - { name: Bill, collection: DB.bills, source: /bills, events: [{ name: bill, topic: all }] }
";

async fn shop(uri: &str, entities: &str, yaml: &str) -> Shop {
    Shop::at(uri, entities, everything(), yaml).await
}

/// Blocks up to and including an event of this name.
async fn through(reader: &mut Reader, event: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    while !blocks.last().is_some_and(|block: &Block| block.is(event)) {
        blocks.push(reader.sse.block().await);
    }
    blocks
}

/// `degraded` is said within 15 s, no `ping` pretends that all is well meanwhile, `recovered` follows, and
/// nothing is lost on any transport.
#[tokio::test]
async fn an_outage_is_told_and_nothing_is_lost() {
    let lasting = Lasting::new();
    let mongod = lasting.start().await;
    let shop = shop(&lasting.uri(), ORDER, "").await;
    let mut reader = shop.feed("ann", FEED).await;
    // Not read meanwhile, and so not answering pings: theirs come later.
    let path = "/api/subscribe/Order?heartbeat=1m";
    let mut bare = shop.socket("ann", path, None).await;
    let mut enveloped = shop.socket("ann", path, Some("tailwater.v1")).await;
    assert_eq!(enveloped.said().await["event"], "ready");
    shop.insert("orders", [doc! { "_id": 1 }]).await;
    assert_eq!(reader.subjects(1).await, ["1"]);
    let stopped = Instant::now();
    mongod.stop().await.unwrap();
    let degraded = through(&mut reader, "status").await.pop().unwrap();
    assert_eq!(degraded.json()["state"], "degraded");
    assert!(stopped.elapsed().as_secs() < 15, "{:?}", stopped.elapsed());
    let late = shop.refused("root", "/api/subscribe/Case").await;
    assert!(matches!(late.status, 401 | 503), "{}", late.status);
    let mongod = lasting.start().await;
    shop.insert("orders", [doc! { "_id": 2 }]).await;
    let mut meanwhile = Vec::new();
    while meanwhile.last().is_none_or(|block: &Block| block.json()["state"] != "recovered") {
        meanwhile.extend(through(&mut reader, "status").await);
    }
    assert!(meanwhile.iter().all(|block| block.comments.is_empty()), "{meanwhile:?}");
    assert_eq!(reader.subjects(1).await, ["2"]);
    for expected in ["1", "2"] {
        assert_eq!(bare.json().await["subject"], expected);
    }
    let mut told = Vec::new();
    while told.last().is_none_or(|last| last != "2") {
        let message = enveloped.said().await;
        let word = [&message["data"]["subject"], &message["data"]["state"]];
        told.extend(word.into_iter().filter_map(Value::as_str).map(str::to_owned));
    }
    assert_eq!(told, ["1", "degraded", "recovered", "2"]);
    mongod.stop().await.unwrap();
}

/// Codes that say that the position is lost: a reset with an id to come back with, once, on feeds of one
/// collection and of several; a bare socket is closed.
#[tokio::test]
async fn a_dead_position_is_reset_exactly_once() {
    let mongod = private().await;
    let shop = shop(&mongod.uri(), TWO, "streams: { await: 200ms }").await;
    let faults = FailPoints::of(&mongod.uri()).await;
    let db = shop.app.db.name().to_owned();
    let links = json!([format!("/{db}/carts"), format!("/{db}/bills")]);
    for (path, coll, ns, links) in [
        ("/api/subscribe/Order", "orders", format!("{db}.orders"), Value::Null),
        ("/api/subscribe?topic=all", "carts", format!("{db}.$cmd.aggregate"), links),
    ] {
        let mut reader = shop.feed("ann", path).await;
        for code in [286, 280, 260] {
            let mut bare = shop.socket("ann", path, None).await;
            let mut enveloped = shop.socket("ann", path, Some("tailwater.v1")).await;
            assert_eq!(enveloped.said().await["event"], "ready");
            faults.hit(1, &["getMore"], &ns, doc! { "errorCode": code }).await;
            let reset = reader.sse.event().await;
            assert!(reset.is("reset"), "{path} {code}: {reset:?}");
            let (id, data) = (reset.id.clone().unwrap(), reset.json());
            assert!(id.starts_with("evt-"), "{id}");
            assert_eq!(data["reason"], "history_lost");
            assert_eq!(data["recover"]["link"], format!("/{db}/{coll}"));
            assert_eq!(data["recover"]["links"], links);
            shop.insert(coll, [doc! { "_id": code }]).await;
            assert_eq!(reader.subjects(1).await, [code.to_string()], "{path}");
            assert_eq!(bare.closed().await, (4410, "history lost".to_owned()));
            let said = enveloped.said().await;
            assert_eq!((&said["event"], &said["data"]), (&json!("reset"), &data));
            assert_eq!(enveloped.said().await["data"]["subject"], code.to_string());
            let mut back = shop.resume("ann", path, &id).await;
            assert_eq!(back.subjects(1).await, [code.to_string()], "{path}");
        }
    }
    mongod.stop().await.unwrap();
}

/// An id older than the oplog gives `200` and `reset`, and the feed goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_older_than_the_oplog() {
    let mongod = tiny_oplog().await;
    let shop = shop(&mongod.uri(), ORDER, "streams: { linger: 0s }").await;
    let old = shop.feed("ann", FEED).await.start.id.unwrap();
    roll_oplog(&shop.app.db).await;
    let mut late = shop.resume("ann", FEED, &old).await;
    let reset = late.sse.event().await;
    assert!(reset.is("reset"), "{reset:?}");
    assert_eq!(reset.json()["reason"], "history_lost");
    shop.insert("orders", [doc! { "_id": 1 }]).await;
    assert_eq!(late.subjects(1).await, ["1"]);
    mongod.stop().await.unwrap();
}

/// A feed of one collection ends with it; whoever comes back with an id from before is told.
#[tokio::test]
async fn a_collection_that_ends_is_told() {
    let shop = Shop::start(ORDER).await;
    for how in ["drop", "rename"] {
        shop.insert("orders", [doc! { "_id": 0 }]).await;
        let mut reader = shop.feed("ann", FEED).await;
        let mut bare = shop.socket("ann", FEED, None).await;
        let start = reader.start.id.clone().unwrap();
        match how {
            "drop" => shop.app.coll("orders").drop().await.unwrap(),
            _ => shop.app.rename("orders", "away").await,
        }
        let close = reader.sse.until("close").await.json();
        assert_eq!((&close["code"], &close["reconnect"]), (&4404.into(), &false.into()), "{how}");
        assert!(reader.sse.rest().await.is_empty(), "{how}: nothing after the end");
        assert_eq!(bare.closed().await, (4404, "stream gone".to_owned()), "{how}");
        shop.insert("orders", [doc! { "_id": 1 }]).await;
        let mut back = shop.resume("ann", FEED, &start).await;
        let told = through(&mut back, "reset").await.pop().unwrap();
        assert_eq!(told.json()["reason"], "collection_dropped", "{how}");
        shop.insert("orders", [doc! { "_id": 2 }]).await;
        while back.subjects(1).await != ["2"] {}
        shop.app.coll("orders").drop().await.unwrap();
    }
}

/// 60 KB, 1 MB and 8 MB arrive whole, on every transport.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_documents_arrive_whole() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop.feed("ann", FEED).await;
    let mut bare = shop.socket("ann", FEED, None).await;
    let mut enveloped = shop.socket("ann", FEED, Some("tailwater.v1")).await;
    assert_eq!(enveloped.said().await["event"], "ready");
    for size in [60_000, 10, 1_000_000, 8_000_000, 10] {
        let text = format!("<{}>", "abcdefghij".repeat(size / 10));
        shop.insert("orders", [doc! { "text": &text }]).await;
        let message = enveloped.said().await["data"].take();
        for envelope in [reader.envelope().await, bare.json().await, message] {
            assert!(envelope["data"]["text"] == text.as_str(), "{size}");
        }
    }
}

/// An envelope beyond `streams.max_event` is reported in its place, which is a place to come back to.
#[tokio::test]
async fn an_envelope_beyond_the_bound_is_reported() {
    let shop = Shop::with(ORDER, everything(), "streams: { max_event: 100KiB }").await;
    let mut reader = shop.feed("ann", FEED).await;
    let mut bare = shop.socket("ann", FEED, None).await;
    let mut enveloped = shop.socket("ann", FEED, Some("tailwater.v1")).await;
    assert_eq!(enveloped.said().await["event"], "ready");
    for (n, size) in [(1, 90_000), (2, 110_000), (3, 10)] {
        shop.insert("orders", [doc! { "_id": n, "text": "x".repeat(size) }]).await;
    }
    assert_eq!(reader.subjects(1).await, ["1"]);
    let skipped = reader.sse.event().await;
    let told = json!({ "reason": "the event is larger than the service delivers" });
    assert_eq!((skipped.is("skipped"), skipped.json()), (true, told.clone()));
    assert_eq!(reader.subjects(1).await, ["3"]);
    for expected in ["1", "3"] {
        assert_eq!(bare.json().await["subject"], expected);
    }
    assert_eq!(enveloped.said().await["data"]["subject"], "1");
    let said = enveloped.said().await;
    assert_eq!((&said["event"], &said["data"]), (&json!("skipped"), &told));
    let mut back = shop.resume("ann", FEED, &skipped.id.unwrap()).await;
    assert_eq!(back.subjects(1).await, ["3"]);
}

/// Of several events of one change, each that is too large is reported in its own place: whoever is cut
/// before the notice is told when it comes back, with the id of any of its siblings.
#[tokio::test]
async fn each_event_of_a_change_is_reported_in_its_place() {
    let entity = "
entities:
  - name: Order
    collection: DB.orders
    source: /orders
    events:
      - { name: a, exclude: [text] }
      - { name: b }
      - { name: c, exclude: [text] }
";
    let shop = Shop::with(entity, everything(), "streams: { max_event: 100KiB }").await;
    let mut reader = shop.feed("ann", FEED).await;
    shop.insert("orders", [doc! { "_id": 1, "text": "x".repeat(110_000) }]).await;
    let first = reader.event().await.id.unwrap();
    let skipped = reader.sse.event().await;
    assert!(skipped.is("skipped"), "{skipped:?}");
    let third = reader.event().await.id.unwrap();
    let skipped = skipped.id.unwrap();
    assert_eq!([&skipped, &third], [&format!("{first}~1"), &format!("{first}~2")]);
    shop.insert("orders", [doc! { "_id": 2 }]).await;
    for (id, owed) in [(&first, vec![&skipped, &third]), (&skipped, vec![&third]), (&third, vec![])]
    {
        let mut back = shop.resume("ann", FEED, id).await;
        for owed in owed {
            assert_eq!(back.sse.event().await.id.as_ref(), Some(owed), "after {id}");
        }
        assert_eq!(back.subjects(3).await, ["2", "2", "2"], "after {id}");
    }
}

/// An update whose document is gone before it is looked up has null data; where it cannot be told whose
/// it is, nobody is shown it who is held to a tenant.
#[tokio::test]
async fn an_update_of_what_is_gone_has_null_data() {
    let shop = Shop::start(ORDER).await;
    let owner = doc! { "tenant": "acme", "user": "ann" };
    let starts = [
        shop.feed("ann", "/api/subscribe/Order").await.start.id.unwrap(),
        shop.feed("ann", "/api/subscribe/Case").await.start.id.unwrap(),
    ];
    for coll in ["orders", "cases"] {
        let coll = shop.app.coll(coll);
        coll.insert_one(doc! { "_id": 1, "owner": owner.clone() }).await.unwrap();
        coll.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 1 } }).await.unwrap();
        coll.delete_one(doc! { "_id": 1 }).await.unwrap();
        coll.insert_one(doc! { "_id": 2, "owner": owner.clone() }).await.unwrap();
    }
    // What is missed is read when a client comes back: by then the document is gone.
    let replica = shop.replica().await;
    let told = async |user: &str, entity: &str, id: &str, count: usize| {
        let path = format!("/api/subscribe/{entity}");
        let mut back = Reader::open(replica.address, user, &path, &[("last-event-id", id)]).await;
        let mut told = Vec::new();
        for _ in 0..count {
            let mut envelope = back.envelope().await;
            assert!(envelope.as_object().unwrap().contains_key("data"), "{envelope}");
            let operation = envelope["operation"].as_str().unwrap().to_owned();
            told.push((operation, envelope["data"].take()["_id"].take()));
        }
        told
    };
    let all = |document: Value| {
        let pair = |operation: &str, data: &Value| (operation.to_owned(), data.clone());
        [
            pair("create", &document),
            pair("update", &Value::Null),
            pair("delete", &Value::Null),
            pair("create", &json!(2)),
        ]
    };
    assert_eq!(told("ann", "Order", &starts[0], 4).await, all(json!(1)));
    let held = told("ann", "Case", &starts[1], 2).await;
    assert_eq!(held, [("create".to_owned(), json!(1)), ("create".to_owned(), json!(2))]);
    assert_eq!(told("root", "Case", &starts[1], 4).await, all(json!(1)));
}
