//! Coming back to an entity feed: to any of the events of a change, from memory and from MongoDB.

use bson::{Document, doc};

use super::shop::{Reader, Shop};
use crate::support::TestApp;

const SEVERAL: &str = "
entities:
  - name: Order
    collection: DB.orders
    source: /orders
    events:
      - { name: any }
      - { name: odd, condition: { language: expr, expression: 'data.odd' } }
      - { name: last, operations: [create] }
";

/// Numbers of documents with the numbers of their events, as far as an id says so.
async fn places(reader: &mut Reader, count: usize) -> Vec<(i64, u32)> {
    let mut places = Vec::new();
    for _ in 0..count {
        let envelope = reader.envelope().await;
        let id = envelope["id"].as_str().unwrap();
        let ordinal = id.split_once('~').map_or(0, |(_, n)| n.parse().unwrap());
        places.push((envelope["subject"].as_str().unwrap().parse().unwrap(), ordinal));
    }
    places
}

fn order(n: i32) -> Document {
    doc! { "_id": n, "odd": n % 2 == 1 }
}

/// Each id, `evt-P` and `evt-P~n`, leads to exactly what came after it, in memory and on a replica
/// that has nothing in memory, by header and by parameter, inside a transaction too.
#[tokio::test]
async fn every_event_of_a_change_can_be_resumed_from() {
    let shop = Shop::start(SEVERAL).await;
    shop.insert("orders", [order(0)]).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    let mut session = shop.app.db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 1..=3 {
        let orders = shop.app.db.collection::<Document>("orders");
        orders.insert_one(order(n)).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    shop.insert("orders", [order(4), order(5)]).await;
    let whole = vec![
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
        (3, 0),
        (3, 1),
        (3, 2),
        (4, 0),
        (4, 1),
        (5, 0),
        (5, 1),
        (5, 2),
    ];
    let mut ids = Vec::new();
    for place in &whole {
        assert_eq!(places(&mut reader, 1).await, [*place]);
        ids.push(reader.sse.last_id.clone());
    }
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len());
    for app in [&shop.app, &shop.replica().await] {
        for (index, id) in ids.iter().enumerate() {
            let expected = &whole[index + 1..];
            let mut back = come_back(app, id, index % 2 == 0).await;
            assert_eq!(back.start.id.as_ref(), Some(id));
            assert_eq!(places(&mut back, expected.len()).await, expected, "after {index}");
            assert_eq!(
                back.sse.last_id,
                ids[ids.len() - 1],
                "the same ids, whenever and by whomever"
            );
        }
    }
    shop.insert("orders", [order(6)]).await;
    assert_eq!(places(&mut reader, 2).await, [(6, 0), (6, 1)]);
}

async fn come_back(app: &TestApp, id: &str, by_header: bool) -> Reader {
    let path = "/api/subscribe/Order";
    if by_header {
        return Reader::open(app.address, "ann", path, &[("last-event-id", id)]).await;
    }
    Reader::open(app.address, "ann", &format!("{path}?lastEventId={id}"), &[]).await
}

/// A heartbeat never repeats events that were delivered: its id stands for the last of a change.
#[tokio::test]
async fn a_heartbeat_stands_after_the_whole_change() {
    let shop = Shop::start(SEVERAL).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order?heartbeat=1s").await;
    shop.insert("orders", [order(1)]).await;
    assert_eq!(places(&mut reader, 3).await, [(1, 0), (1, 1), (1, 2)]);
    let ping = reader.sse.block().await;
    assert_eq!(ping.comments, ["ping"]);
    let mut back = shop.resume("ann", "/api/subscribe/Order", &ping.id.unwrap()).await;
    shop.insert("orders", [order(2)]).await;
    assert_eq!(places(&mut back, 2).await, [(2, 0), (2, 1)]);
}

/// Replay passes the same filters as live delivery.
#[tokio::test]
async fn replay_is_filtered_as_live_events_are() {
    let shop = Shop::start(super::shop::ORDER).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Case?ops=create").await;
    let case = |n: i32| {
        let tenant = if n % 2 == 0 { "globex" } else { "acme" };
        doc! { "_id": n, "owner": { "tenant": tenant } }
    };
    shop.insert("cases", (1..=8).map(case)).await;
    assert_eq!(reader.subjects(2).await, ["1", "3"]);
    let id = reader.sse.last_id.clone();
    for app in [&shop.app, &shop.replica().await] {
        for (user, expected) in [("ann", ["5", "7"]), ("bob", ["4", "6"])] {
            let header = [("last-event-id", id.as_str())];
            let mut back = Reader::open(app.address, user, "/api/subscribe/Case", &header).await;
            assert_eq!(back.subjects(2).await, expected, "{user}");
        }
    }
}

/// What is no id is answered with `reset` and the way back, never with silence or an error; on a bare
/// socket with the code.
#[tokio::test]
async fn unknown_ids_are_told() {
    let shop = Shop::start(SEVERAL).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    shop.insert("orders", [order(2)]).await;
    reader.event().await;
    let good = reader.sse.last_id.clone();
    let other = if good.ends_with('A') { 'B' } else { 'A' };
    let forged = format!("{}{other}", &good[..good.len() - 1]);
    let bare = good.trim_start_matches("evt-").to_owned();
    for id in ["evt-1749728461000000000", "evt-", "17", "evt-x~0", &forged, &bare, "null"] {
        let mut back = shop.resume("ann", "/api/subscribe/Order", id).await;
        let reset = back.sse.event().await;
        assert!(reset.is("reset"), "{id}: {reset:?}");
        assert!(reset.id.as_deref().unwrap().starts_with("evt-"), "{reset:?}");
        let told = reset.json();
        assert_eq!(told["reason"], "unknown_id", "{id}");
        assert_eq!(told["recover"]["link"], format!("/{}/orders", shop.app.db.name()));
        shop.insert("orders", [doc! { "odd": false }]).await;
        back.event().await;
    }
    let path = "/api/subscribe/Order?lastEventId=evt-nonsense";
    let mut socket = shop.socket("ann", path, None).await;
    assert_eq!(socket.closed().await, (4410, "history lost".to_owned()));
    let mut enveloped = shop.socket("ann", path, Some("tailwater.v1")).await;
    assert_eq!(enveloped.said().await["event"], "ready");
    let reset = enveloped.said().await;
    assert_eq!(
        (&reset["event"], &reset["data"]["reason"]),
        (&"reset".into(), &"unknown_id".into())
    );
    shop.insert("orders", [doc! { "odd": false }]).await;
    assert_eq!(enveloped.said().await["event"], "entity.create");
}
