//! Rows: files, and what is declared or refused.

mod fit;

use std::path::PathBuf;

use proptest::prelude::*;

use crate::{
    binding::Namespace,
    entity::{Entities, Operation, Payload, Scope, Transport},
    envelope::Format,
};

fn parse(files: &[(&str, &str)]) -> Result<Entities, Vec<String>> {
    let files: Vec<_> =
        files.iter().map(|(name, text)| (PathBuf::from(name), (*text).to_owned())).collect();
    Entities::parse(&files).map_err(|notes| notes.iter().map(ToString::to_string).collect())
}

fn errors(text: &str) -> Vec<String> {
    parse(&[("f.yaml", text)]).expect_err(text)
}

const ORDER: &str =
    "entities:\n  - name: Order\n    collection: shop.orders\n    source: //shop.example/orders\n";

/// An entity with more lines.
fn order(more: &str) -> String {
    format!("{ORDER}{more}")
}

/// An entity with one event.
fn event(lines: &str) -> String {
    order(&format!("    events:\n      - name: changed\n{lines}"))
}

#[test]
fn a_whole_declaration_is_read() {
    let text = r#"
entities:
  - name: Order                     # the {entity} of the route
    collection: shop.orders.eu
    tenant: owner.tenant
    user: createdBy
    source: //shop.example/orders
    payload: delta
    fieldgroups: { public: [status, total] }
    events:
      - { name: order.changed, operations: [Create, UPDATE, delete], topic: orders, format: cloudevents, exclude: [cardNumber],
          condition: { language: expr, expression: "data.total > 10" } }
      - { include: [status] }
    subscriptions:
      - { name: open-orders, filter: { language: expr, expression: "data.status == 'open'" } }
subscriptions:
  - { name: my-orders, source: orders, eventtypes: [create, update], scope: user, rls: true, fieldgroup: public, transports: [sse, websocket] }
"#;
    let entities = parse(&[("f.yaml", text)]).unwrap();
    let order = entities.entity("Order").unwrap();
    assert_eq!(order.namespace, Namespace::new("shop", "orders.eu"));
    assert_eq!(order.tenant.as_ref().unwrap().to_string(), "owner.tenant");
    assert_eq!(order.source, "//shop.example/orders");
    assert_eq!(order.payload, Payload::Delta);
    assert_eq!((order.origin.line, order.origin.column), (3, 5));
    let [changed, second] = &order.events[..] else { panic!("{:?}", order.events) };
    assert_eq!(
        (&*changed.name, &*changed.topic, changed.format),
        ("order.changed", "orders", Format::CloudEvents)
    );
    assert_eq!(changed.condition.as_ref().unwrap().text(), "data.total > 10");
    assert!(changed.cut.is_some() && !changed.cut.as_ref().unwrap().is_inclusive());
    assert_eq!(
        (&*second.name, &*second.topic, second.format),
        ("entity.Order", "entity.Order", Format::Json)
    );
    assert!(Operation::ALL.into_iter().all(|operation| second.operations.contains(operation)));
    assert!(second.cut.as_ref().unwrap().is_inclusive());

    let own = entities.subscription("open-orders").unwrap();
    assert_eq!(
        (own.entity.as_deref(), own.source.as_deref(), own.scope),
        (Some("Order"), None, None)
    );
    assert!(own.filter.is_some() && !own.rls && own.transports.allow(Transport::Sse));
    let mine = entities.subscription("my-orders").unwrap();
    assert_eq!((mine.entity.as_deref(), mine.source.as_deref()), (None, Some("orders")));
    assert_eq!(
        (mine.scope, mine.rls, mine.fieldgroup.as_deref()),
        (Some(Scope::User), true, Some("public"))
    );
    assert_eq!(mine.operations.iter().collect::<Vec<_>>(), [Operation::Create, Operation::Update]);
    assert_eq!(entities.topics().into_iter().collect::<Vec<_>>(), ["entity.Order", "orders"]);
    assert_eq!(entities.entity("order"), None);
    assert_eq!(entities.subscription("other"), None);
}

#[test]
fn json_is_read_too_and_files_are_merged() {
    let one =
        r#"{"entities": [{"name": "A", "collection": "d.a", "source": "a", "events": [{}]}]}"#;
    let two =
        "entities:\n  - {name: B, collection: d.b, source: b, events: [{operations: [create]}]}\n";
    let three = "subscriptions:\n  - {name: s, source: entity.A}\n";
    let entities = parse(&[("1.json", one), ("2.yaml", two), ("3.yaml", three)]).unwrap();
    let names: Vec<&str> = entities.entities().iter().map(|entity| &*entity.name).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(entities.subscriptions().len(), 1);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        ("".to_owned(), "f.yaml:1:1: a file holds `entities`, `subscriptions`, or both"),
        ("just text".to_owned(), "f.yaml:1:1: a file holds"),
        ("- a".to_owned(), "f.yaml:1:1: a file holds"),
        (
            "entites: []".to_owned(),
            "f.yaml:1:1: unknown key `entites`; did you mean `entities`; known are entities, subscriptions",
        ),
        ("entities: {}".to_owned(), "f.yaml:1:11: `entities` must be a list"),
        ("entities: [1]".to_owned(), "f.yaml:1:12: an entity is a mapping"),
        ("entities: [\n".to_owned(), "f.yaml:"),
        ("entities: []\nentities: []\n".to_owned(), "f.yaml:2:1: "),
        ("entities:\n  - name: A\n".to_owned(), "f.yaml:2:5: `collection` is missing"),
        ("entities:\n  - name: A\n".to_owned(), "f.yaml:2:5: `source` is missing"),
        (
            order("    colection: x\n"),
            "f.yaml:5:5: unknown key `colection`; did you mean `collection`",
        ),
        (
            order("    payload: docment\n"),
            "f.yaml:5:14: `docment` is not one of document, delta; did you mean `document`",
        ),
        (order("    tenant: [a]\n"), "f.yaml:5:13: `tenant` must be a string"),
        (order("    tenant: a.0\n"), "f.yaml:5:13: `a.0` is not a field"),
        (order("    user: $where\n"), "f.yaml:5:11: `$where` is not a field"),
        (order("    events: {}\n"), "f.yaml:5:13: `events` must be a list"),
        (order("    fieldgroups: [a]\n"), "f.yaml:5:18: `fieldgroups` maps names to lists"),
        (order("    fieldgroups: {a: b}\n"), "f.yaml:5:22: `a` must be a list"),
        (order("    fieldgroups: {a: []}\n"), "f.yaml:5:22: `a` is empty"),
        (ORDER.replace("Order", "a b"), "f.yaml:2:11: `a b` cannot be a name"),
        (ORDER.replace("Order", "1"), "f.yaml:2:11: `name` must be a string; quote it"),
        (ORDER.replace("Order", "a/b"), "f.yaml:2:11: `a/b` cannot be a name"),
        (
            ORDER.replace("shop.orders", "orders"),
            "f.yaml:3:17: `collection` is written `<db>.<collection>`",
        ),
        (ORDER.replace("shop.orders", "admin.x"), "f.yaml:3:17: `admin.x`: reserved resource"),
        (
            ORDER.replace("shop.orders", "tailwater.settings"),
            "f.yaml:3:17: `tailwater.settings`: reserved",
        ),
        (ORDER.replace("shop.orders", "shop."), "f.yaml:3:17: `shop.`: reserved"),
        (
            ORDER.replace("//shop.example/orders", "'a b'"),
            "f.yaml:4:13: `source` is a URI reference",
        ),
        (ORDER.replace("//shop.example/orders", "''"), "f.yaml:4:13: `source` is a URI reference"),
        (ORDER.replace("//shop.example/orders", "a%2"), "f.yaml:4:13: `source` is a URI reference"),
        (
            event("        operation: [create]\n"),
            "f.yaml:7:9: unknown key `operation`; did you mean `operations`",
        ),
        (event("        operations: []\n"), "f.yaml:7:21: `operations` is empty"),
        (event("        operations: create\n"), "f.yaml:7:21: `operations` must be a list"),
        (
            event("        operations: [create, upsert]\n"),
            "f.yaml:7:21: `upsert` is not an operation",
        ),
        (event("        operations: [read]\n"), "f.yaml:7:21: `read` produces no events"),
        (
            event("        format: xml\n"),
            "f.yaml:7:17: `xml` is not one of json, cloudevents, avro",
        ),
        (event("        topic: a b\n"), "f.yaml:7:16: a topic has letters"),
        (event("        topic: '*'\n"), "f.yaml:7:16: a topic has letters"),
        (event("        include: [a, 1]\n"), "f.yaml:7:22: `include` is a list of strings"),
        (event("        exclude: [a..b]\n"), "f.yaml:7:18: `a..b` is not a field"),
        (
            event("        condition: {language: cel, expression: 'true'}\n"),
            "f.yaml:7:31: `cel` is not one of expr",
        ),
        (event("        condition: {expression: 'true'}\n"), "f.yaml:7:20: `language` is missing"),
        (event("        condition: {language: expr}\n"), "f.yaml:7:20: `expression` is missing"),
        (
            event("        condition: {language: expr, expression: true}\n"),
            "f.yaml:7:49: `expression` must be a string",
        ),
        (
            event("        condition: {language: expr, expresion: 'true'}\n"),
            "f.yaml:7:37: unknown key `expresion`; did you mean `expression`",
        ),
        (
            event("        condition: {language: expr, expression: 'dta.x > 1'}\n"),
            "f.yaml:7:49: at character 1: unknown variable `dta`; did you mean `data`",
        ),
        (
            event("        condition: {language: expr, expression: 'data.x + 1 == \"a\"'}\n"),
            "f.yaml:7:49: at character 12: `==` cannot take a number and text",
        ),
        ("subscriptions: [{name: s}]".to_owned(), "f.yaml:1:17: `source` is missing"),
        ("subscriptions: [{source: s}]".to_owned(), "f.yaml:1:17: `name` is missing"),
        (
            "subscriptions: [{name: s, source: '*'}]".to_owned(),
            "f.yaml:1:35: a subscription names one topic",
        ),
        (
            "subscriptions: [{name: s, source: t, event_types: [create]}]".to_owned(),
            "did you mean `eventtypes`",
        ),
        (
            "subscriptions: [{name: s, source: t, scope: all}]".to_owned(),
            "f.yaml:1:45: `all` is not one of global, tenant, user",
        ),
        (
            "subscriptions: [{name: s, source: t, rls: 'yes'}]".to_owned(),
            "f.yaml:1:43: `rls` must be true or false",
        ),
        (
            "subscriptions: [{name: s, source: t, transports: [graphql]}]".to_owned(),
            "`graphql` is not served; use sse or websocket",
        ),
        (
            "subscriptions: [{name: s, source: t, transports: [ws]}]".to_owned(),
            "`ws` is not one of sse, websocket",
        ),
        (
            "subscriptions: [{name: s, source: t}]".to_owned(),
            "f.yaml:1:17: no event is published under the topic `t`",
        ),
    ] {
        let errors = errors(&text);
        let told = |error: &String| match expected.starts_with("f.yaml") {
            true => error.starts_with(expected),
            false => error.contains(expected),
        };
        assert!(errors.iter().any(told), "{text}: {errors:#?}");
    }
}

#[test]
fn the_older_dialect_is_refused_with_the_key_to_use() {
    let text = event(
        "        trigger: update\n        condition: \"payload.status != 'draft'\"\n        publish:\n          topic: orders\n          payload: { include: [status] }\n",
    );
    assert_eq!(
        errors(&text),
        [
            "f.yaml:7:9: `trigger` belongs to an older dialect; write `operations: [create, update, delete]`, as many as are meant",
            "f.yaml:9:9: `publish` belongs to an older dialect; write `topic`, `format` and `include` on the event itself",
            "f.yaml:8:20: a bare `condition` belongs to an older dialect; write `condition: { language: expr, expression: \"…\" }`",
        ]
    );
}

#[test]
fn everything_wrong_is_told_at_once() {
    let one = event("        format: xml\n        topic: a b\n");
    let errors = parse(&[("1.yaml", &one), ("2.yaml", "entities: [{}]\n")]).unwrap_err();
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["1.yaml:8:16", "1.yaml:7:17", "2.yaml:1:12", "2.yaml:1:12", "2.yaml:1:12"]);
}

#[test]
fn a_name_that_is_there_twice_names_both_places() {
    let entity = |name: &str| {
        format!(
            "entities:\n  - {{name: {name}, collection: d.c, source: s, events: [{{name: e}}, {{name: f}}], subscriptions: [{{name: x}}]}}\n"
        )
    };
    let again = "subscriptions:\n  - {name: x, source: entity.A}\n";
    assert_eq!(
        parse(&[("1.yaml", &entity("A")), ("2.yaml", again)]).unwrap_err(),
        ["2.yaml:2:5: subscription `x` is declared at 1.yaml:2:91 already; rename one"]
    );
    let twice = parse(&[("1.yaml", &entity("A")), ("2.yaml", &entity("A"))]).unwrap_err();
    assert_eq!(twice[0], "2.yaml:2:5: entity `A` is declared at 1.yaml:2:5 already; rename one");
    let events = event("      - name: changed\n");
    assert_eq!(
        errors(&events),
        ["f.yaml:7:9: event `changed` is declared at f.yaml:6:9 already; rename one"]
    );
}

#[test]
fn a_folder_is_read_and_an_empty_one_is_an_error() {
    let folder = std::env::temp_dir().join(format!("tailwater-entities-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("nested")).unwrap();
    let empty = Entities::load(&folder).unwrap_err();
    assert!(empty[0].to_string().contains("holds no .yaml"), "{}", empty[0]);
    std::fs::write(folder.join("b.yaml"), ORDER).unwrap();
    std::fs::write(folder.join("a.yml"), ORDER.replace("Order", "Cart")).unwrap();
    std::fs::write(folder.join(".a.yml.swp.yaml"), "not: ours").unwrap();
    std::fs::write(folder.join("notes.txt"), "not: ours").unwrap();
    let names: Vec<String> = Entities::load(&folder)
        .unwrap()
        .entities()
        .iter()
        .map(|entity| entity.name.clone())
        .collect();
    assert_eq!(names, ["Cart", "Order"]);
    std::fs::write(folder.join("c.yaml"), [0xFF, 0xFE]).unwrap();
    let unreadable = Entities::load(&folder).unwrap_err();
    assert!(unreadable[0].to_string().contains("c.yaml: cannot be read"), "{}", unreadable[0]);
    std::fs::remove_dir_all(&folder).unwrap();
    let missing = Entities::load(&folder).unwrap_err();
    assert!(missing[0].to_string().contains("cannot be read"));
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(!errors(&deep).is_empty());
    assert!(
        !errors(&format!("entities: [{{name: {}a{}}}]", "[".repeat(5000), "]".repeat(5000)))
            .is_empty()
    );
}

proptest! {
    #[test]
    fn any_text_is_declarations_or_errors(text in "[a-z:\\-\\[\\]{}, \n'\"#&*!|>?%@]{0,80}") {
        if let Err(errors) = parse(&[("f.yaml", &text)]) {
            prop_assert!(!errors.is_empty());
        }
    }

    #[test]
    fn any_change_of_a_declaration_is_declarations_or_errors(
        at in any::<prop::sample::Index>(), length in 0..8_usize, put in "[a-z:\\[\\]{} \n]{0,8}"
    ) {
        let text = event("        operations: [create]\n        condition: {language: expr, expression: 'data.x > 1'}\n    subscriptions: [{name: s}]\n");
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let changed = format!("{}{put}{}", &text[..at], &text[end..]);
        if let Err(errors) = parse(&[("f.yaml", &changed)]) {
            prop_assert!(errors.iter().all(|error| error.starts_with("f.yaml:")), "{errors:?}");
        }
    }
}
