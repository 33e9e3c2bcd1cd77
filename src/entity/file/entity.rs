//! An entity.

use std::collections::BTreeMap;

use super::reading::{Foreign, Reading};
use crate::{
    binding::{Cut, Namespace},
    definition::names::{check_coll, check_db},
    entity::{EntityDef, Field, Payload, SubscriptionDef},
    envelope::AvroSchema,
    yaml::{Mark, Node},
};

const KEYS: &[&str] = &[
    "name",
    "collection",
    "tenant",
    "user",
    "source",
    "payload",
    "fieldgroups",
    "events",
    "subscriptions",
];

const FOREIGN: &[Foreign] = &[
    ("table", "write `collection: <db>.<collection>`"),
    ("triggers", "write `events` with `operations`"),
];

const PAYLOADS: &[(&str, Payload)] = &[("document", Payload::Document), ("delta", Payload::Delta)];

impl Reading<'_> {
    /// An entity and its own subscriptions.
    pub(super) fn entity(&mut self, node: &Node) -> Option<(EntityDef, Vec<SubscriptionDef>)> {
        let otherwise =
            "an entity is a mapping with `name`, `collection`, `source`, `events` and others";
        if !self.is_map(node, otherwise, KEYS, FOREIGN) {
            return None;
        }
        let name = self.name(node, "name");
        let called = name.clone().unwrap_or_default();
        let events = self.list(node, "events").unwrap_or_default().iter();
        let events = events.filter_map(|event| self.event(event, &called)).collect();
        let own = self.list(node, "subscriptions").unwrap_or_default().iter();
        let own = own.filter_map(|item| self.subscription(item, Some(&called))).collect();
        let namespace = self.collection(node);
        let source = self.uri_reference(node);
        let (tenant, user) = (self.field(node, "tenant"), self.field(node, "user"));
        let payload = self.one_of(node, "payload", PAYLOADS).unwrap_or_default();
        let fieldgroups = self.fieldgroups(node);
        let name = name?;
        let schema = self.taken(node.mark, AvroSchema::of_entity(&name))?;
        let origin = self.origin(node.mark);
        let (namespace, source) = (namespace?, source?);
        let entity = EntityDef {
            name,
            namespace,
            tenant,
            user,
            source,
            payload,
            fieldgroups,
            events,
            schema,
            origin,
        };
        Some((entity, own))
    }

    fn collection(&mut self, node: &Node) -> Option<Namespace> {
        let (text, mark) = self.required(node, "collection")?;
        let Some((db, coll)) = text.split_once('.') else {
            self.refuse(mark, "`collection` is written `<db>.<collection>`");
            return None;
        };
        let checked = check_db(db).and_then(|()| check_coll(db, coll));
        let checked = checked.map_err(|error| format!("`{}`: {error}", text.escape_debug()));
        self.taken(mark, checked)?;
        Some(Namespace::new(db, coll))
    }

    fn field(&mut self, node: &Node, key: &str) -> Option<Field> {
        let (path, mark) = self.text(node, key)?;
        self.taken(mark, Field::parse(path))
    }

    fn uri_reference(&mut self, node: &Node) -> Option<String> {
        let (text, mark) = self.required(node, "source")?;
        if is_uri_reference(text) {
            return Some(text.to_owned());
        }
        let reason = "`source` is a URI reference such as //shop.example/orders: not empty, without \
                      spaces; other letters are percent-encoded";
        self.refuse(mark, reason);
        None
    }

    fn fieldgroups(&mut self, node: &Node) -> BTreeMap<String, Cut> {
        let Some(entry) = node.entry("fieldgroups") else { return BTreeMap::new() };
        let Some(groups) = entry.value.entries() else {
            self.refuse(entry.value.mark, "`fieldgroups` maps names to lists of fields");
            return BTreeMap::new();
        };
        let mut found = BTreeMap::new();
        for group in groups {
            match self.only(&entry.value, &group.key) {
                Some(cut) => drop(found.insert(group.key.clone(), cut)),
                None => self.note_group(group.mark),
            }
        }
        found
    }

    /// Whatever is wrong with a group has been noted already, at its place.
    fn note_group(&mut self, mark: Mark) {
        if self.errors.is_empty() {
            self.refuse(mark, "a group of fields is a list of fields");
        }
    }
}

/// The letters of RFC 3986, and percent signs only before two hexadecimal digits.
fn is_uri_reference(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b);
    let encoded = |tail: &str| {
        let digits = tail.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    !text.is_empty()
        && text.len() <= 2048
        && text.bytes().all(allowed)
        && text.split('%').skip(1).all(encoded)
}
