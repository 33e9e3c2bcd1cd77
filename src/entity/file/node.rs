//! YAML as a tree that remembers where everything stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// Line and column, both from one.
pub(super) type Mark = (u64, u64);

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) mark: Mark,
    pub(super) kind: Kind,
}

/// What declarations are made of. Numbers have no place in them.
#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    Number,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) mark: Mark,
    pub(super) value: Node,
}

/// Reads YAML, of which JSON is a part. Nesting and size are bounded by the parser's own budget.
pub(super) fn parse(text: &str) -> Result<Node, (Mark, String)> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let parsed: Result<Spanned<Kind>, _> = serde_saphyr::from_str_with_options(text, options);
    parsed.map(Node::from).map_err(|error| {
        let mark = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        let message = error.without_snippet().to_string();
        (mark, message.lines().next().unwrap_or_default().to_owned())
    })
}

impl Node {
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<Spanned<Kind>> for Node {
    fn from(spanned: Spanned<Kind>) -> Self {
        Self { mark: mark(&spanned), kind: spanned.value }
    }
}

fn mark<T>(spanned: &Spanned<T>) -> Mark {
    (spanned.referenced.line(), spanned.referenced.column())
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, boolean, list or mapping")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Flag(value))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Number)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Number)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Number)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Kind>>()? {
            items.push(Node::from(item));
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let value = Node::from(access.next_value::<Spanned<Kind>>()?);
            entries.push(Entry { mark: mark(&key), key: key.value, value });
        }
        Ok(Kind::Map(entries))
    }
}
