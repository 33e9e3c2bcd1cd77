//! Entity feeds in the documents that describe the service.

use bson::doc;
use serde_json::Value;

use super::shop::{ORDER, Shop, everything, permission};
use crate::contract::assert_sound;

const SUBSCRIPTIONS: &str = "subscriptions:
  - { name: mine, source: entity.Order, transports: [sse] }
  - { name: live, source: entity.Order, transports: [websocket] }
";

async fn channels(shop: &Shop, user: &str) -> Vec<Value> {
    let answer = shop.app.as_user(user, "GET", "/_/asyncapi.json").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_sound(&answer.json()).await;
    let channels = answer.json()["channels"].as_object().unwrap().clone();
    let feeds = channels.into_iter().map(|(_, channel)| channel);
    feeds.filter(|it| it["address"].as_str().unwrap().starts_with("/api/")).collect()
}

/// Every channel of a feed opens, over each transport that it names and over no other.
#[tokio::test]
async fn every_channel_opens() {
    let declared = format!("{ORDER}{SUBSCRIPTIONS}");
    let shop = Shop::with(&declared, everything(), "").await;
    let channels = channels(&shop, "root").await;
    assert_eq!(channels.len(), 7, "{channels:#?}");
    for channel in channels {
        let address = channel["address"].as_str().unwrap();
        let served = |name: &str| {
            let servers = channel["servers"].as_array().unwrap();
            servers.iter().any(|it| it["$ref"] == format!("#/servers/{name}"))
        };
        let expected = if served("events") { 200 } else { 400 };
        assert_eq!(shop.status("root", address).await, expected, "{channel}");
        if served("websocket") {
            drop(shop.socket("root", address, None).await);
        }
    }
}

/// A caller is told of the feeds that it may open, and of no others.
#[tokio::test]
async fn a_caller_is_told_of_its_own() {
    let declared = format!("{ORDER}{SUBSCRIPTIONS}");
    let only = vec![permission("path('/api/subscriptions/mine')", doc! {})];
    let shop = Shop::with(&declared, only, "").await;
    let addresses: Vec<_> =
        channels(&shop, "ann").await.iter().map(|it| it["address"].clone()).collect();
    assert_eq!(addresses, ["/api/subscriptions/mine"]);
}

/// Entities and subscriptions, some of which nothing can ever come of.
fn never_opening() -> String {
    let order = ORDER.replace("order.changed }", "order.changed, operations: [create] }");
    format!(
        "{order}
  - {{ name: Void, collection: DB.void, source: /void, subscriptions: [{{ name: nothing }}] }}
subscriptions:
  - {{ name: never, source: entity.Order, eventtypes: [delete] }}
  - {{ name: ever, source: entity.Order }}
"
    )
}

/// Nobody is told of what never opens or never brings anything: feeds divided by tenant to those who
/// have none, topics of which nothing is shown, subscriptions without events.
#[tokio::test]
async fn what_never_opens_is_not_described() {
    let shop = Shop::start(&never_opening()).await;
    for (user, expected) in [
        (
            "ann",
            &[
                "subscribe/Order",
                "subscribe/Case",
                "subscribe?topic=entity.Order",
                "subscribe?topic=entity.Case",
                "subscriptions/ever",
            ][..],
        ),
        ("nil", &["subscribe/Order", "subscribe?topic=entity.Order", "subscriptions/ever"][..]),
    ] {
        let address = |channel: &Value| channel["address"].as_str().unwrap().to_owned();
        let mut told: Vec<_> = channels(&shop, user).await.iter().map(address).collect();
        let mut expected: Vec<_> = expected.iter().map(|path| format!("/api/{path}")).collect();
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "{user}");
        for path in told {
            assert_eq!(shop.status(user, &path).await, 200, "{user} {path}");
        }
    }
}

/// What is not described is refused: where nothing is declared, and where nothing can ever come.
#[tokio::test]
async fn what_never_opens_is_refused() {
    let shop = Shop::start(&never_opening()).await;
    for (path, status) in [
        ("/api/subscribe/Void", 404),
        ("/api/subscriptions/nothing", 404),
        ("/api/subscriptions/never", 400),
    ] {
        assert_eq!(shop.refused("root", path).await.status, status, "{path}");
    }
}

/// Events are described as they are written, and every frame is named.
#[tokio::test]
async fn messages_are_those_that_are_sent() {
    let entity = "
entities:
  - name: Order
    collection: DB.orders
    source: /orders
    events:
      - { name: a, topic: plain }
      - { name: b, topic: cloud, format: cloudevents }
      - { name: c, topic: binary, format: avro }
";
    let shop = Shop::start(entity).await;
    let document = shop.app.as_user("ann", "GET", "/_/asyncapi.json").await.json();
    let frames = ["ready", "status", "reset", "skipped", "expiring", "heartbeat", "close"];
    for (id, events) in [
        ("entity_Order", &["entityEvent", "entityCloudEvent", "entityAvroEvent"][..]),
        ("topic_plain", &["entityEvent"][..]),
        ("topic_cloud", &["entityCloudEvent"][..]),
        ("topic_binary", &["entityAvroEvent"][..]),
    ] {
        let messages = document["channels"][id]["messages"].as_object().unwrap();
        let mut told: Vec<_> = messages.keys().map(String::as_str).collect();
        let mut expected = [events, &frames[..]].concat();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected, "{id}");
    }
    let message = &document["components"]["messages"]["entityCloudEvent"];
    assert_eq!(message["contentType"], "application/cloudevents+json");
}
