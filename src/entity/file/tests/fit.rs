//! Rows: declarations that are read, and whether they fit together.

use super::{ORDER, event, order, parse};
use crate::binding::Namespace;

#[test]
fn subscriptions_fit_what_they_name() {
    let with = |more: &str, subscription: &str| {
        format!(
            "{ORDER}    events: [{{topic: orders}}]\n{more}subscriptions:\n  - {{name: s, {subscription}}}\n"
        )
    };
    for (more, subscription, expected) in [
        (
            "",
            "source: order",
            "no event is published under the topic `order`; did you mean `orders`",
        ),
        (
            "",
            "source: orders, scope: tenant",
            "`scope: tenant` needs `tenant: <field>` on entity `Order`",
        ),
        (
            "",
            "source: orders, scope: user",
            "`scope: user` needs `user: <field>` on entity `Order`",
        ),
        ("", "source: orders, fieldgroup: pub", "entity `Order` has no fieldgroup `pub`"),
        (
            "    fieldgroups: {public: [a]}\n",
            "source: orders, fieldgroup: publc",
            "has no fieldgroup `publc`; did you mean `public`",
        ),
        (
            "    tenant: t\n    user: u\n    fieldgroups: {p: [a]}\n",
            "source: orders, fieldgroup: p, scope: user",
            "",
        ),
        (
            "    subscriptions: [{name: o, source: entity.Order}]\n",
            "source: orders",
            "no event is published under the topic `entity.Order`",
        ),
    ] {
        match parse(&[("f.yaml", &with(more, subscription))]) {
            Ok(_) => assert_eq!(expected, "", "{subscription} is accepted"),
            Err(errors) => {
                assert!(!expected.is_empty() && errors[0].contains(expected), "{errors:#?}");
            }
        }
    }
}

#[test]
fn what_may_surprise_is_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        parse(&[("f.yaml", text)]).unwrap().warnings().iter().map(ToString::to_string).collect()
    };
    assert_eq!(warnings(ORDER), ["f.yaml:2:5: entity `Order` declares no events and has no feed"]);
    assert_eq!(
        warnings(&order("    tenant: t\n    events: [{}]\n")),
        [
            "f.yaml:2:5: entity `Order`: unless shop.orders records pre-images, deletes reach nobody who is held to a tenant or a user; deletes come with null data"
        ]
    );
    assert_eq!(
        warnings(&order("    events: [{condition: {language: expr, expression: 'data.x > 1'}}]\n")),
        [
            "f.yaml:2:5: entity `Order`: unless shop.orders records pre-images, deletes whose condition looks at data are withheld; deletes come with null data"
        ]
    );
    assert!(warnings(&event("        operations: [create, update]\n")).is_empty());
    assert_eq!(
        warnings(&event(
            "        operations: [create]\n        include: [a]\n        exclude: [b]\n"
        )),
        ["f.yaml:6:9: `exclude` is without effect beside `include`; remove one"]
    );
    let global = order(
        "    tenant: t\n    events: [{operations: [create]}]\n    subscriptions: [{name: s, scope: global}]\n",
    );
    assert_eq!(
        warnings(&global),
        [
            "f.yaml:7:21: subscription `s`: `scope: global` shows events of every tenant of entity `Order`"
        ]
    );
    let entities = parse(&[("f.yaml", &order("    tenant: t\n    events: [{}]\n"))]).unwrap();
    let images = entities.pre_images();
    assert_eq!((images.len(), &images[0].namespace), (1, &Namespace::new("shop", "orders")));
}

#[test]
fn equal_declarations_are_equal_wherever_they_stand() {
    let text = event(
        "        condition: {language: expr, expression: 'data.x > 1'}\n    subscriptions: [{name: s}]\n",
    );
    let one = parse(&[("1.yaml", &text)]).unwrap();
    let moved = parse(&[("2.yaml", &format!("# moved\n{text}"))]).unwrap();
    assert_eq!(one.entity("Order"), moved.entity("Order"));
    assert_eq!(one.subscription("s"), moved.subscription("s"));
    for changed in [
        text.replace("data.x > 1", "data.x > 2"),
        text.replace("//shop.example/orders", "//shop.example/other"),
        text.replace("shop.orders", "shop.other"),
        text.replace("name: changed", "name: other"),
        text.replace("    events:", "    tenant: t\n    events:"),
        text.replace("    events:", "    payload: delta\n    events:"),
        text.replace("        condition:", "        topic: other\n        condition:"),
        text.replace("        condition:", "        include: [a]\n        condition:"),
    ] {
        assert_ne!(
            one.entity("Order"),
            parse(&[("f.yaml", &changed)]).unwrap().entity("Order"),
            "{changed}"
        );
    }
    let other = parse(&[("f.yaml", &text.replace("{name: s}", "{name: s, rls: true}"))]).unwrap();
    assert_ne!(one.subscription("s"), other.subscription("s"));
}
