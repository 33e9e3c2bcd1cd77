//! What is counted of a feed, for its subscriber and for all.

use bson::doc;
use serde_json::Value;

use super::shop::Shop;
use crate::operators::series;

const CASE: &str = "
entities:
  - name: Case
    collection: DB.cases
    source: /cases
    tenant: tenant
    events: [{ name: large, condition: { language: expr, expression: 'data.n > 1' } }]
";

async fn metric(shop: &Shop, name: &str) -> Option<f64> {
    series(&shop.app.as_user("root", "GET", "/_/metrics").await.body, name)
}

/// Whatever the cursor published was delivered, kept from the reader for a reason that is told, or dropped.
#[tokio::test]
async fn the_counts_of_a_subscriber_add_up() {
    let shop = Shop::start(CASE).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Case").await;
    let case = |id: i32, tenant: &str| doc! { "_id": id, "tenant": tenant };
    let with = |mut case: bson::Document, n: bson::Bson| {
        case.insert("n", n);
        case
    };
    let cases = [
        with(case(1, "acme"), 2.into()),
        // The condition does not hold, and cannot be decided.
        with(case(2, "acme"), 1.into()),
        with(case(3, "acme"), "many".into()),
        // Another's, and nobody's.
        with(case(4, "globex"), 2.into()),
        doc! { "_id": 5, "n": 2 },
        with(case(6, "acme"), 2.into()),
    ];
    shop.insert("cases", cases).await;
    assert_eq!(reader.subjects(2).await, ["1", "6"]);
    let status = shop.app.as_user("root", "GET", "/_/status").await.json();
    let subscriber = &status["subscribers"][0];
    let sub = subscriber["sub"].as_u64().unwrap();
    assert!(reader.connected.starts_with(&format!("connected sub={sub} ")), "{}", reader.connected);
    assert_eq!(subscriber["topic"], "entity.Case");
    let counts = ["seen", "delivered", "filtered", "dropped"].map(|name| &subscriber[name]);
    assert_eq!(counts, [&Value::from(6), &2.into(), &3.into(), &1.into()], "{subscriber}");
    for (by, expected) in [("scope", 2_u32), ("script", 1), ("stage", 0)] {
        let name = format!("tailwater_events_filtered_total{{surface=\"entities\",by=\"{by}\"}}");
        assert_eq!(metric(&shop, &name).await, Some(f64::from(expected)), "{by}");
        assert_eq!(
            subscriber["filtered_by"][by].as_u64().unwrap_or_default(),
            u64::from(expected),
            "{by}"
        );
    }
    for (name, expected) in [("delivered", 2.0), ("filtered", 3.0), ("dropped", 1.0)] {
        let name = format!("tailwater_subscriber_{name}_total{{sub=\"{sub}\"}}");
        assert_eq!(metric(&shop, &name).await, Some(expected), "{name}");
    }
    for (name, expected) in [
        ("tailwater_events_dropped_total{surface=\"entities\"}", 1_u32),
        ("tailwater_events_delivered_total{surface=\"entities\"}", 2),
        ("tailwater_entity_events_published_total", 4),
        ("tailwater_entity_events_unowned_total", 1),
    ] {
        assert_eq!(metric(&shop, name).await, Some(f64::from(expected)), "{name}");
    }
}
