//! Rows: several entities on one cursor, and what of a change a reader is told.

use bson::{RawDocumentBuf, rawdoc};

use super::*;
use crate::entity::{
    Asked, Caller, Entities, Operations, Print, Publication, Topic,
    fixture::{change, entities},
};

fn shop() -> Entities {
    entities(
        "
entities:
  - name: Order
    collection: shop.orders
    source: o
    events:
      - { name: a, topic: t }
      - { name: b, topic: t, condition: { language: expr, expression: 'data.n > 1' } }
  - { name: Line, collection: shop.orders, source: l, events: [{ name: l, topic: t }] }
  - { name: Cart, collection: shop.carts, source: c, events: [{ name: c, topic: u }] }
  - { name: Log, collection: logs.all, source: g, events: [{ name: g, topic: u }] }
",
    )
}

fn plan_for(topic: &str, shown: &[&str]) -> Planned {
    let found = shop().find(&Asked::Topic(Topic::from_query(topic).unwrap())).unwrap();
    let feeds = found.parts.iter().filter(|part| shown.contains(&part.entity.name.as_str()));
    let feeds = feeds.map(|part| {
        let feed = Feed::of_part(part.clone(), Operations::ALL, &Caller::default()).unwrap();
        (feed, vec![Scope::default()])
    });
    Bundle::plan(feeds.collect(), &found.parts, false).unwrap()
}

fn insert(coll: &str, n: i32) -> RawDocumentBuf {
    rawdoc! {
        "operationType": "insert",
        "ns": { "db": "shop", "coll": coll },
        "documentKey": { "_id": 1 },
        "fullDocument": { "_id": 1, "n": n },
    }
}

fn prints(told: &Told) -> Vec<Arc<Print>> {
    let envelope = |said: &Said| match said {
        Said::Envelope(print) => Some(print.clone()),
        Said::Notice(..) => None,
    };
    told.said.iter().filter_map(envelope).collect()
}

#[track_caller]
fn check(topic: &str, shown: &[&str], raw: &RawDocumentBuf, expected: &[(&str, u32)]) -> Told {
    let planned = plan_for(topic, shown);
    let telemetry = Telemetry::default();
    let event = change(raw);
    let view = planned.selection.judge(&Images::of(&event).unwrap());
    let told = view.map(|view| planned.bundle.tell(&event, view, &telemetry)).unwrap_or_default();
    let events = prints(&told).into_iter().map(|print| {
        let json: serde_json::Value = serde_json::from_slice(print.json()).unwrap();
        (json["entity"].as_str().unwrap().to_owned(), print.event().ordinal)
    });
    let expected: Vec<_> = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!(events.collect::<Vec<_>>(), expected);
    told
}

#[test]
fn events_of_one_change_are_numbered_whoever_reads() {
    let (one, two) = (insert("orders", 1), insert("orders", 2));
    let both = ["Order", "Line"];
    check("t", &both, &one, &[("Order", 0), ("Line", 1)]);
    check("t", &both, &two, &[("Order", 0), ("Order", 1), ("Line", 2)]);
    check("t", &["Line"], &two, &[("Line", 2)]);
    let told = check("t", &["Order"], &two, &[("Order", 0), ("Order", 1)]);
    assert_eq!(told.last, 1);
    check("t", &both, &insert("carts", 1), &[]);
    check("u", &["Cart", "Log"], &insert("carts", 1), &[("Cart", 0)]);
    check("u", &["Log"], &insert("carts", 1), &[]);
}

#[test]
fn what_cannot_be_decided_is_counted_for_those_it_may_have_reached() {
    let undecidable = rawdoc! {
        "operationType": "insert",
        "ns": { "db": "shop", "coll": "orders" },
        "documentKey": { "_id": 1 },
        "fullDocument": { "_id": 1, "n": "many" },
    };
    assert_eq!(check("t", &["Order"], &undecidable, &[("Order", 0)]).withheld, 1);
    assert_eq!(check("t", &["Line"], &undecidable, &[("Line", 1)]).withheld, 0);
}

#[test]
fn a_change_that_is_nobodys_is_counted_once() {
    let declared = entities(
        "
entities:
  - name: Order
    collection: shop.orders
    source: o
    tenant: tenant
    events: [{ name: a, operations: [delete] }]
",
    );
    let entity = declared.entity("Order").unwrap();
    let delete = |coll: &str, before: Option<RawDocumentBuf>| {
        let mut raw = rawdoc! {
            "operationType": "delete",
            "ns": { "db": "shop", "coll": coll },
            "documentKey": { "_id": 1 },
        };
        if let Some(before) = before {
            raw.append(bson::cstr!("fullDocumentBeforeChange"), before);
        }
        change(&raw)
    };
    for (event, unowned, published) in [
        (delete("orders", None), 1, 1),
        (delete("carts", None), 0, 0),
        (delete("orders", Some(rawdoc! { "tenant": "acme" })), 0, 1),
        (change(&insert("orders", 1)), 0, 0),
    ] {
        let telemetry = Telemetry::default();
        Publication::notice(entity, &event, &telemetry);
        let status = telemetry.status();
        let counted = (status.entity_unowned, status.entity_published);
        assert_eq!(counted, (unowned, published), "{event:?}");
    }
}

#[test]
fn the_cursor_follows_from_the_topic_and_not_from_the_reader() {
    let one = plan_for("t", &["Order", "Line"]);
    assert_eq!(one.cursor.namespace, Namespace::new("shop", "orders"));
    assert_eq!(one.cursor.pipeline, Vec::<RawDocumentBuf>::new());
    assert_eq!(plan_for("t", &["Line"]).cursor, one.cursor);
    assert!(one.bundle.splits_changes());
    let wide = plan_for("u", &["Cart", "Log"]);
    assert!(wide.cursor.namespace.is_everything());
    assert_eq!(wide.cursor.pipeline.len(), 1);
    assert_eq!(plan_for("u", &["Log"]).cursor, wide.cursor);
    assert!(!wide.bundle.splits_changes());
    let collections = wide.bundle.collections();
    assert_eq!(collections, [&Namespace::new("shop", "carts"), &Namespace::new("logs", "all")]);
}

#[test]
fn a_filter_that_needs_mongodb_stands_alone() {
    let found = shop().find(&Asked::Topic(Topic::from_query("u").unwrap())).unwrap();
    let scope = |filter| Scope { read_filter: Some(filter), ..Scope::default() };
    let feeds = |filter: bson::Document| {
        let feeds = found.parts.iter().map(|part| {
            let feed = Feed::of_part(part.clone(), Operations::ALL, &Caller::default()).unwrap();
            (feed, vec![scope(filter.clone())])
        });
        Bundle::plan(feeds.collect(), &found.parts, false)
    };
    assert!(feeds(doc! { "n": 1 }).is_ok());
    let refused = feeds(doc! { "$text": { "$search": "x" } }).unwrap_err();
    assert!(refused.to_string().contains("permission"), "{refused}");
}

#[test]
fn equal_readers_share_bytes() {
    let event = change(&insert("orders", 2));
    let telemetry = Telemetry::default();
    let (one, two) = (plan_for("t", &["Order"]), plan_for("t", &["Order"]));
    let tell = |planned: &Planned| prints(&planned.bundle.tell(&event, View::Whole, &telemetry));
    let (one, two) = (tell(&one), tell(&two));
    assert!(one.iter().zip(&two).all(|(one, two)| Arc::ptr_eq(one, two)));
    assert_eq!(one.len(), 2);
}
