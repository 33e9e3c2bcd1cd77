//! Rows: what is asked for, and what is sent to MongoDB and decided in process.

use bson::{RawDocument, rawdoc};

use super::*;
use crate::{
    binding::{CursorSpec, Images},
    change::View,
    entity::{
        Entities, Operation, Scope as Whose, Topic,
        fixture::{change, entities, event},
    },
    query::Keyer,
};

fn shop() -> Entities {
    entities(
        "
entities:
  - name: Order
    collection: shop.orders
    source: o
    tenant: tenantId
    user: by
    events:
      - { name: a, operations: [create, update], topic: orders }
      - { name: b }
    subscriptions:
      - { name: own, scope: user }
      - { name: created, source: orders, eventtypes: [create], scope: global }
  - name: Line
    collection: shop.orders
    source: l
    events: [{ topic: orders, operations: [delete] }]
  - { name: Silent, collection: shop.silent, source: s }
subscriptions:
  - { name: all-orders, source: orders, scope: global }
",
    )
}

fn caller(tenant: &str, user: &str) -> Caller {
    Caller { tenant: Some(tenant.to_owned()), user: Some(user.to_owned()), sees_all_tenants: false }
}

fn order(caller: &Caller) -> Feed {
    Feed::of_part(shop().of_entity("Order").unwrap(), Operations::ALL, caller).unwrap()
}

fn plan(feed: &Feed) -> Binding {
    feed.plan(&[Scope::default()], false).unwrap().0
}

#[test]
fn topics_and_names_find_their_entities() {
    let shop = shop();
    let names = |parts: Vec<Part>| -> Vec<(String, Vec<usize>)> {
        parts.into_iter().map(|part| (part.entity.name.clone(), part.events)).collect()
    };
    let part = |name: &str, events: &[usize]| (name.to_owned(), events.to_vec());
    let topic = |name: &str| names(shop.of_topic(&Topic::from_query(name).unwrap()));
    assert_eq!(topic("orders"), [part("Order", &[0]), part("Line", &[0])]);
    assert_eq!(topic("entity.Order"), [part("Order", &[1])]);
    assert_eq!(topic("*"), [part("Order", &[0, 1]), part("Line", &[0])]);
    assert_eq!(topic("entity.Line"), []);
    assert_eq!(topic("nothing"), []);
    let entity = |name: &str| shop.of_entity(name).map(|part| part.events);
    assert_eq!(entity("Order"), Some(vec![0, 1]));
    assert_eq!((entity("Silent"), entity("order"), entity("")), (None, None, None));
    let subscription = |name: &str| names(shop.of_subscription(shop.subscription(name).unwrap()));
    assert_eq!(subscription("own"), [part("Order", &[0, 1])]);
    assert_eq!(subscription("created"), [part("Order", &[0])]);
    assert_eq!(subscription("all-orders"), [part("Order", &[0]), part("Line", &[0])]);
}

#[test]
fn operations_are_those_that_all_agree_on() {
    let shop = shop();
    let line = shop.of_entity("Line").unwrap();
    let none = Operations::from_query(Some("create")).unwrap();
    let feed = Feed::of_part(line.clone(), Operations::ALL, &Caller::default()).unwrap();
    assert_eq!(feed.operations().iter().collect::<Vec<_>>(), [Operation::Delete]);
    let feed = Feed::of_part(line, none, &Caller::default()).unwrap();
    assert_eq!(feed.operations(), Operations::NONE);
    let created = shop.subscription("created").unwrap();
    let part = shop.of_subscription(created).remove(0);
    let feed = Feed::of_subscription(part, created, Operations::ALL, &Caller::default()).unwrap();
    assert_eq!(feed.operations().iter().collect::<Vec<_>>(), [Operation::Create]);
}

#[test]
fn nothing_that_a_caller_lacks_widens_what_it_sees() {
    let shop = shop();
    let (order, line) = (shop.entity("Order").unwrap(), shop.entity("Line").unwrap());
    let nobody = Caller::default();
    let empty = caller("", "");
    let acme = caller("acme", "joe");
    let root = Caller { sees_all_tenants: true, ..acme.clone() };
    let held = |tenant: Option<&str>, user: Option<&str>| {
        Ok(Audience { tenant: tenant.map(str::to_owned), user: user.map(str::to_owned) })
    };
    let no_tenant = || Err(AudienceError::NoTenant("Order".to_owned()));
    let no_user = || Err(AudienceError::NoUser("Order".to_owned()));
    for (entity, scope, caller, expected) in [
        (order, None, &acme, held(Some("acme"), None)),
        (order, Some(Whose::Tenant), &acme, held(Some("acme"), None)),
        (order, Some(Whose::User), &acme, held(Some("acme"), Some("joe"))),
        (order, Some(Whose::Global), &acme, held(None, None)),
        (order, None, &root, held(None, None)),
        (order, Some(Whose::Tenant), &root, held(None, None)),
        (order, Some(Whose::User), &root, held(None, Some("joe"))),
        (order, None, &nobody, no_tenant()),
        (order, None, &empty, no_tenant()),
        (order, Some(Whose::User), &nobody, no_tenant()),
        (order, Some(Whose::User), &Caller { user: None, ..acme.clone() }, no_user()),
        (order, Some(Whose::Global), &nobody, held(None, None)),
        (line, None, &nobody, held(None, None)),
        (line, None, &acme, held(None, None)),
    ] {
        assert_eq!(Audience::of(entity, scope, caller), expected, "{scope:?} {caller:?}");
    }
}

#[test]
fn all_readers_of_a_collection_share_one_cursor() {
    let shop = shop();
    let mut cursors: Vec<CursorSpec> = (0..200)
        .map(|n| plan(&order(&caller(&format!("t{}", n % 2), &format!("u{n}")))))
        .map(|binding| {
            assert!(!binding.own, "{:?}", binding.explanation);
            binding.cursor
        })
        .collect();
    let line = Feed::of_part(shop.of_entity("Line").unwrap(), Operations::ALL, &Caller::default());
    cursors.push(plan(&line.unwrap()).cursor);
    let filtered = Scope { read_filter: Some(doc! { "status": "open" }), ..Scope::default() };
    cursors.push(order(&caller("t1", "u")).plan(&[filtered], false).unwrap().0.cursor);
    assert!(cursors[0].pipeline.is_empty());
    assert!(cursors.iter().all(|cursor| *cursor == cursors[0]));
    let imaged = order(&caller("t1", "u")).plan(&[Scope::default()], true).unwrap().0.cursor;
    assert_eq!(imaged.full_document.as_str(), "whenAvailable");
}

/// An event costs as much as the readers it reaches: the hub finds them by value.
#[test]
fn readers_are_found_by_whom_they_are_held_to() {
    let keyer = Keyer::new(ahash::RandomState::new());
    let shop = shop();
    let subscription = shop.subscription("own").unwrap();
    let part = || shop.of_subscription(subscription).remove(0);
    let joe = caller("acme", "joe");
    let own = Feed::of_subscription(part(), subscription, Operations::ALL, &joe).unwrap();
    for (feed, field) in [(order(&joe), "tenantId"), (own, "by")] {
        let keys = plan(&feed).selection.keys(&keyer).unwrap();
        let mut paths: Vec<String> = keys.iter().map(|(path, _)| path.to_string()).collect();
        paths.sort();
        assert_eq!(
            paths,
            [format!("fullDocument.{field}"), format!("fullDocumentBeforeChange.{field}")]
        );
    }
}

#[track_caller]
fn check(feed: &Feed, scopes: &[Scope], raw: &RawDocument, expected: Option<View>) {
    let (binding, _) = feed.plan(scopes, false).unwrap();
    let change = change(raw);
    let found = binding.selection.judge(&Images::of(&change).unwrap());
    assert_eq!(found, expected, "{raw:?}");
}

#[test]
fn the_selection_brings_what_the_reader_is_held_to() {
    let id = ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap();
    let acme = rawdoc! { "tenantId": "acme" };
    let other = rawdoc! { "tenantId": "globex" };
    let feed = order(&caller("acme", "joe"));
    let all = &[Scope::default()];
    for (kind, after, before, expected) in [
        ("insert", Some(&acme), None, true),
        ("replace", Some(&acme), None, true),
        ("update", Some(&acme), Some(&other), true),
        ("update", Some(&other), Some(&acme), false),
        ("insert", Some(&other), None, false),
        ("delete", None, Some(&acme), true),
        ("delete", None, Some(&other), false),
        ("delete", None, None, false),
        ("drop", Some(&acme), None, false),
    ] {
        let raw = event(kind, after.map(|d| &**d), before.map(|d| &**d));
        check(&feed, all, &raw, expected.then_some(View::Whole));
    }
    for (tenant, document, expected) in [
        ("5f9d88b9a9f8e8b0c0a1b2c3", rawdoc! { "tenantId": id }, true),
        ("42", rawdoc! { "tenantId": 42 }, true),
        ("42", rawdoc! { "tenantId": 42_i64 }, true),
        ("42", rawdoc! { "tenantId": "42" }, true),
        ("42", rawdoc! { "tenantId": 43 }, false),
        ("null", rawdoc! { "tenantId": null }, false),
        ("null", rawdoc! {}, false),
    ] {
        let raw = event("insert", Some(&document), None);
        check(&order(&caller(tenant, "joe")), all, &raw, expected.then_some(View::Whole));
    }
}

#[test]
fn ops_select_in_process() {
    let part = || shop().of_entity("Order").unwrap();
    let root = Caller { sees_all_tenants: true, ..Caller::default() };
    for (ops, kinds) in [
        ("create", vec!["insert"]),
        ("update", vec!["update", "replace"]),
        ("delete", vec!["delete"]),
        ("create,delete", vec!["insert", "delete"]),
    ] {
        let feed =
            Feed::of_part(part(), Operations::from_query(Some(ops)).unwrap(), &root).unwrap();
        for kind in ["insert", "update", "replace", "delete", "drop"] {
            let raw = event(kind, Some(&rawdoc! {}), None);
            check(&feed, &[Scope::default()], &raw, kinds.contains(&kind).then_some(View::Whole));
        }
    }
}

#[test]
fn every_permission_applies() {
    let feed = order(&caller("acme", "joe"));
    let open = Scope { read_filter: Some(doc! { "status": "open" }), ..Scope::default() };
    let large = Scope { read_filter: Some(doc! { "total": { "$gt": 10 } }), ..Scope::default() };
    for (document, expected) in [
        (rawdoc! { "tenantId": "acme", "status": "open", "total": 11 }, true),
        (rawdoc! { "tenantId": "acme", "status": "open", "total": 9 }, false),
        (rawdoc! { "tenantId": "acme", "status": "shut", "total": 11 }, false),
        (rawdoc! { "tenantId": "globex", "status": "open", "total": 11 }, false),
    ] {
        let raw = event("insert", Some(&document), None);
        check(&feed, &[open.clone(), large.clone()], &raw, expected.then_some(View::Whole));
    }
    let gone =
        event("delete", None, Some(&rawdoc! { "tenantId": "acme", "status": "open", "total": 11 }));
    check(&feed, &[open, large], &gone, Some(View::Gone));
    let broken = Scope { project_response: Some(doc! { "a": 1, "b": 0 }), ..Scope::default() };
    assert!(matches!(feed.plan(&[broken], false), Err(FeedError::Plan(_))));
}
