//! Rows: changes, and the envelopes that readers receive.

use std::sync::Arc;

use bson::{DateTime, doc, rawdoc};
use serde_json::{Value, json};

use super::*;
use crate::{
    binding::Scope,
    entity::{
        Caller, Entities, EventId, Feed, Operations,
        fixture::{change, entities, event},
    },
};

/// A caller of tenant acme, user u-42.
fn caller() -> Caller {
    Caller {
        tenant: Some("acme".to_owned()),
        user: Some("u-42".to_owned()),
        sees_all_tenants: false,
    }
}

fn root() -> Caller {
    Caller { sees_all_tenants: true, ..Caller::default() }
}

/// The feed of the entity `Order`, through a permission.
fn feed(entities: &Entities, caller: &Caller, scope: Scope) -> Rendition {
    let part = entities.of_entity("Order").unwrap();
    let feed = Feed::of_part(part, Operations::ALL, caller).unwrap();
    feed.plan(&[scope], true).unwrap().1
}

fn subscription(entities: &Entities, caller: &Caller) -> Rendition {
    let subscription = entities.subscription("s").unwrap();
    let part = entities.of_subscription(subscription).remove(0);
    let feed = Feed::of_subscription(part, subscription, Operations::ALL, caller).unwrap();
    feed.plan(&[Scope::default()], true).unwrap().1
}

fn render_as(rendition: &Rendition, raw: &RawDocument, view: View) -> Rendered {
    let change = change(raw);
    let publication = Publication::of(&rendition.entity, &change).unwrap();
    rendition.render(&change, &publication, view)
}

fn render(rendition: &Rendition, raw: &RawDocument) -> Rendered {
    render_as(rendition, raw, View::Whole)
}

fn envelopes(rendered: &Rendered) -> Vec<Value> {
    let parse = |event: &RenderedEvent| match &event.body {
        Body::Text(json) => serde_json::from_slice(json).unwrap(),
        Body::Binary(_) => panic!("binary"),
    };
    assert!(rendered.withheld.is_empty(), "{rendered:?}");
    rendered.events.iter().map(parse).collect()
}

/// The only envelope.
#[track_caller]
fn one(rendition: &Rendition, raw: &RawDocument) -> Value {
    let mut found = envelopes(&render(rendition, raw));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

const HEAD: &str = "
entities:
  - name: Order
    collection: shop.orders
    source: //shop.example/orders
    tenant: tenantId
    user: createdBy
    fieldgroups: { public: [status, total] }
";

fn declared(more: &str) -> Entities {
    entities(&format!("{HEAD}{more}"))
}

fn document() -> bson::RawDocumentBuf {
    rawdoc! { "_id": 1, "tenantId": "acme", "createdBy": "u-42", "status": "open", "total": 12, "card": "4111" }
}

#[test]
fn an_envelope_has_the_fields_of_the_change() {
    let entities = declared("    events: [{}]\n");
    let mut raw = event("insert", Some(&document()), None);
    raw.append(bson::cstr!("wallTime"), DateTime::from_millis(1_785_062_461_250));
    let rendered = render(&feed(&entities, &root(), Scope::default()), &raw);
    let id = rendered.events[0].id.clone();
    assert!(id.starts_with("evt-") && EventId::parse(&id).is_ok());
    assert_eq!(rendered.events[0].name, "entity.create");
    assert_eq!(
        envelopes(&rendered),
        [json!({
            "id": id, "type": "entity.create", "source": "//shop.example/orders", "subject": "1",
            "time": "2026-07-26T10:41:01.250Z", "entity": "Order", "operation": "create", "tenant": "acme", "user_id": "u-42",
            "data": { "_id": 1, "tenantId": "acme", "createdBy": "u-42", "status": "open", "total": 12, "card": "4111" },
        })]
    );
    let block = String::from_utf8(rendered.events[0].sse().to_vec()).unwrap();
    assert!(
        block.starts_with(&format!("id: {id}\nevent: entity.create\ndata: {{\"id\":\"{id}\"")),
        "{block}"
    );
    assert!(block.ends_with("}\n\n") && block.lines().count() == 4, "{block}");
}

#[test]
fn what_is_unknown_is_null() {
    let entities = declared("    events: [{}]\n");
    let feed = feed(&entities, &root(), Scope::default());
    let bare = one(&feed, &event("delete", None, None));
    assert_eq!(
        (&bare["data"], &bare["tenant"], &bare["user_id"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&bare["type"], &bare["time"]),
        (&json!("entity.delete"), &json!("1970-01-01T00:00:07.000Z"))
    );
    let with_image = one(&feed, &event("delete", None, Some(&document())));
    assert_eq!((&with_image["data"]["total"], &with_image["tenant"]), (&json!(12), &json!("acme")));
    let looked_up =
        rawdoc! { "operationType": "update", "documentKey": { "_id": 1 }, "fullDocument": null };
    assert_eq!(one(&feed, &looked_up)["data"], Value::Null);
    let keyless = rawdoc! { "operationType": "delete" };
    assert_eq!(one(&feed, &keyless).get("subject"), None);
    // What concerns no document is no event.
    for kind in ["drop", "rename", "invalidate"] {
        let drop = change(&rawdoc! { "operationType": kind });
        assert!(Publication::of(&feed.entity, &drop).is_none(), "{kind}");
    }
}

#[test]
fn a_replace_is_an_update() {
    let entities = declared("    payload: delta\n    events: [{operations: [update]}]\n");
    let feed = feed(&entities, &root(), Scope::default());
    let replaced = one(&feed, &event("replace", Some(&document()), None));
    assert_eq!(
        (&replaced["operation"], &replaced["data"]["total"]),
        (&json!("update"), &json!(12))
    );
    assert!(render(&feed, &event("insert", Some(&document()), None)).events.is_empty());
}

#[test]
fn a_change_can_be_several_events_in_declared_order() {
    let entities = declared(
        "    events:
      - { name: a, condition: { language: expr, expression: 'data.total > 100' } }
      - { name: b, operations: [create], include: [total] }
      - { name: c, topic: orders, format: cloudevents, exclude: [card, tenantId, createdBy, _id] }
      - { name: d, operations: [delete] }
      - { name: e, topic: orders, format: avro, include: [status] }
",
    );
    let all = feed(&entities, &root(), Scope::default());
    let rendered = render(&all, &event("insert", Some(&document()), None));
    let ids: Vec<u32> =
        rendered.events.iter().map(|event| EventId::parse(&event.id).unwrap().ordinal).collect();
    assert_eq!(ids, [0, 1, 2]);
    let formats: Vec<Format> = rendered.events.iter().map(|event| event.format).collect();
    assert_eq!(formats, [Format::Json, Format::CloudEvents, Format::Avro]);
    let body =
        |at: usize| -> Value { serde_json::from_slice(&rendered.events[at].json()).unwrap() };
    assert_eq!(body(0)["data"], json!({ "total": 12 }));
    assert_eq!(body(1)["data"], json!({ "status": "open", "total": 12 }));
    let avro = STANDARD.decode(body(2).as_str().unwrap()).unwrap();
    assert!(matches!(&rendered.events[2].body, Body::Binary(bytes) if bytes[..] == avro[..]));
    let block = String::from_utf8(rendered.events[2].sse().to_vec()).unwrap();
    assert!(block.ends_with(&format!("\ndata: {}\n\n", STANDARD.encode(&avro))), "{block}");

    // A reader of a topic sees the same events under the same ids.
    let part = entities.of_topic(&crate::entity::Topic::Named("orders".to_owned())).remove(0);
    let orders = Feed::of_part(part, Operations::ALL, &root()).unwrap().rendition(Vec::new());
    let some = render(&orders, &event("insert", Some(&document()), None));
    assert_eq!(some.events, rendered.events[1..]);
}

#[test]
fn a_condition_sees_the_whole_payload_and_fails_closed() {
    let entities = declared(
        "    events:
      - { name: a, include: [status], condition: { language: expr, expression: 'data.card == \"4111\" and event == \"a\" and tenant == \"acme\"' } }
      - { name: b, condition: { language: expr, expression: 'payload.missing > 1' } }
",
    );
    let feed = feed(&entities, &root(), Scope::default());
    let change = change(&event("insert", Some(&document()), None));
    let publication = Publication::of(&feed.entity, &change).unwrap();
    assert_eq!(publication.published, [Published { event: 0, ordinal: 0 }]);
    let [withheld] = &publication.withheld[..] else { panic!("{publication:?}") };
    assert_eq!(withheld.event, "b");
    assert!(matches!(withheld.reason, WithheldReason::Condition(Undecided::Failed(_))));
    let rendered = feed.render(&change, &publication, View::Whole);
    assert_eq!(envelopes(&rendered)[0]["data"], json!({ "status": "open" }));
}

#[test]
fn a_filter_sees_only_what_its_reader_is_shown() {
    let entities = |filter: &str| {
        declared(&format!(
            "    events: [{{exclude: [card]}}]
    subscriptions: [{{name: s, fieldgroup: public, scope: global, filter: {{language: expr, expression: '{filter}'}}}}]\n"
        ))
    };
    for (filter, events, withheld, filtered) in [
        ("data.total > 10", 1, 0, 0),
        ("data.total > 100", 0, 0, 1),
        ("data.card == nil and data.tenantId == nil", 1, 0, 0),
        ("data.card > \"1\"", 0, 1, 0),
        ("tenant == \"acme\" and user_id == \"u-42\"", 1, 0, 0),
    ] {
        let rendered = render(
            &subscription(&entities(filter), &root()),
            &event("insert", Some(&document()), None),
        );
        let counts = (rendered.events.len(), rendered.withheld.len(), rendered.filtered);
        assert_eq!(counts, (events, withheld, filtered), "{filter}: {rendered:?}");
    }
    let rendered = render(
        &subscription(&entities("true"), &root()),
        &event("insert", Some(&document()), None),
    );
    assert_eq!(envelopes(&rendered)[0]["data"], json!({ "status": "open", "total": 12 }));
}

#[test]
fn what_the_permission_hides_is_nowhere() {
    let entities = declared(
        "    payload: delta\n    events: [{}]\n    subscriptions: [{name: s, scope: global}]\n",
    );
    let hide = Scope {
        project_response: Some(doc! { "card": 0, "tenantId": 0, "createdBy": 0 }),
        ..Scope::default()
    };
    let feed = feed(&entities, &root(), hide.clone());
    let update = {
        let mut raw = event("update", Some(&document()), Some(&document()));
        let update = rawdoc! { "updatedFields": { "card": "x", "total": 13 }, "removedFields": ["tenantId", "n"] };
        raw.append(bson::cstr!("updateDescription"), update);
        raw
    };
    let shown = one(&feed, &update);
    assert_eq!(shown["data"], json!({ "total": 13, "n": null }));
    assert_eq!((&shown["tenant"], &shown["user_id"]), (&Value::Null, &Value::Null));
    let gone = one(&feed, &event("delete", None, Some(&document())));
    assert_eq!(gone["data"], json!({ "_id": 1, "status": "open", "total": 12 }));

    // Two permissions both apply.
    let subscription = entities.subscription("s").unwrap();
    let part = entities.of_subscription(subscription).remove(0);
    let both = Feed::of_subscription(part, subscription, Operations::ALL, &root()).unwrap();
    let only = Scope { project_response: Some(doc! { "card": 1, "total": 1 }), ..Scope::default() };
    let (_, rendition) = both.plan(&[hide, only], true).unwrap();
    assert_eq!(
        one(&rendition, &event("insert", Some(&document()), None))["data"],
        json!({ "total": 12 })
    );
}

#[test]
fn a_view_limits_what_is_told() {
    let entities = declared("    payload: delta\n    events: [{}]\n");
    let feed = feed(&entities, &root(), Scope::default());
    let mut update = event("update", Some(&document()), Some(&document()));
    update.append(bson::cstr!("updateDescription"), rawdoc! { "updatedFields": { "total": 13 } });
    let data = |view| {
        envelopes(&render_as(&feed, &update, view))
            .pop()
            .map(|mut envelope| envelope["data"].take())
    };
    assert_eq!(data(View::Whole), Some(json!({ "total": 13 })));
    assert_eq!(data(View::Current).unwrap()["card"], "4111");
    assert_eq!(data(View::Gone), Some(Value::Null));
    assert_eq!(data(View::Leave), None);
}

#[test]
fn a_reader_gets_its_own_tenants_events_and_no_others() {
    let entities = declared("    events: [{}]\n    subscriptions: [{name: s, scope: user}]\n");
    let tenants = feed(&entities, &caller(), Scope::default());
    let own = subscription(&entities, &caller());
    let of =
        |tenant: bson::raw::RawBson, user: &str| rawdoc! { "tenantId": tenant, "createdBy": user };
    for (document, tenant, mine) in [
        (of("acme".into(), "u-42"), Ok(1), Ok(1)),
        (of("acme".into(), "u-43"), Ok(1), Ok(0)),
        (of("globex".into(), "u-42"), Ok(0), Ok(0)),
        (of("acme".into(), ""), Ok(1), Err(WithheldReason::Unowned)),
        (
            rawdoc! { "createdBy": "u-42" },
            Err(WithheldReason::Unowned),
            Err(WithheldReason::Unowned),
        ),
        (
            rawdoc! { "tenantId": ["acme"], "createdBy": "u-42" },
            Err(WithheldReason::Unowned),
            Err(WithheldReason::Unowned),
        ),
    ] {
        for (rendition, expected) in [(&tenants, tenant), (&own, mine)] {
            for raw in
                [event("insert", Some(&document), None), event("delete", None, Some(&document))]
            {
                let rendered = render(rendition, &raw);
                let found = match rendered.withheld.first() {
                    None => Ok(rendered.events.len()),
                    Some(withheld) => Err(withheld.reason.clone()),
                };
                assert_eq!(found, expected, "{raw:?}");
            }
        }
    }
    // The selection keeps such a change from held readers, so it is counted where it is published.
    let bare = event("delete", None, None);
    assert_eq!(render(&tenants, &bare).withheld[0].reason, WithheldReason::Unowned);
    for (raw, unowned) in [(bare, true), (event("insert", Some(&document()), None), false)] {
        let publication = Publication::of(&tenants.entity, &change(&raw)).unwrap();
        assert_eq!(publication.is_unowned(&tenants.entity), unowned, "{raw:?}");
    }
}

/// A delta would tell what was done to a document while it was somebody else's.
#[test]
fn a_document_that_moved_between_tenants_does_not_tell_what_changed() {
    let entities = declared("    payload: delta\n    events: [{}]\n");
    let tenants = feed(&entities, &caller(), Scope::default());
    let other = rawdoc! { "_id": 1, "tenantId": "globex", "createdBy": "u-42" };
    let update = |before: Option<&RawDocument>| {
        let mut raw = event("update", Some(&document()), before);
        raw.append(bson::cstr!("updateDescription"), rawdoc! { "updatedFields": { "secret": 1 } });
        raw
    };
    let data = |before: Option<&RawDocument>| one(&tenants, &update(before))["data"].take();
    assert_eq!(data(Some(&document())), json!({ "secret": 1 }));
    for before in [Some(&*other), None] {
        let data = data(before);
        assert_eq!((data.get("secret"), &data["total"]), (None, &json!(12)), "{before:?}");
    }
}

#[test]
fn equal_readers_have_equal_renditions() {
    let entities = declared("    events: [{}]\n    subscriptions: [{name: s}]\n");
    let other = Caller { tenant: Some("globex".to_owned()), ..caller() };
    let scope = Scope { project_response: Some(doc! { "card": 0 }), ..Scope::default() };
    assert_eq!(
        feed(&entities, &caller(), scope.clone()),
        feed(&entities, &caller(), scope.clone())
    );
    assert_eq!(feed(&entities, &caller(), Scope::default()), subscription(&entities, &caller()));
    assert_ne!(
        feed(&entities, &caller(), Scope::default()),
        feed(&entities, &other, Scope::default())
    );
    assert_ne!(feed(&entities, &caller(), Scope::default()), feed(&entities, &caller(), scope));
    assert!(Arc::ptr_eq(
        entities.entity("Order").unwrap(),
        &feed(&entities, &root(), Scope::default()).entity
    ));
}

#[test]
fn what_cannot_be_shown_is_withheld() {
    let entities = declared("    events: [{exclude: [card]}]\n");
    let feed = feed(&entities, &root(), Scope::default());
    let deep = (0..250).fold(rawdoc! {}, |inner, _| rawdoc! { "a": inner });
    let rendered = render(&feed, &event("insert", Some(&deep), None));
    assert!(
        matches!(&rendered.withheld[..], [Withheld { reason: WithheldReason::Unshowable(_), .. }]),
        "{rendered:?}"
    );
}
