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
    assert_eq!(channels.len(), 6, "{channels:#?}");
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
