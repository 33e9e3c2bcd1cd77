//! YAML as a tree that remembers where everything stands.

use std::fmt;

use bson::{Bson, Document};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

use super::super::escape::unescape_key;
use super::super::path::Segment;

/// Line and column, both from one.
pub(super) type Mark = (u64, u64);

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) mark: Mark,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Scalar(Value),
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
/// The error has its place when the parser knows one.
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
            Kind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Where a path leads, as far as it can be followed; keys may be written escaped.
    pub(super) fn locate(&self, path: &[Segment]) -> Mark {
        let step = path.split_first().and_then(|(segment, rest)| match (segment, &self.kind) {
            (Segment::Index(index), Kind::List(items)) => Some((items.get(*index)?, rest)),
            (Segment::Key(key), Kind::Map(entries)) => {
                let same = |entry: &&Entry| entry.key == *key || unescape_key(&entry.key) == *key;
                Some((&entries.iter().find(same)?.value, rest))
            }
            _ => None,
        });
        step.map_or(self.mark, |(node, rest)| node.locate(rest))
    }

    /// The value, Extended JSON objects turned into what they stand for.
    pub(super) fn to_bson(&self) -> Result<Bson, (Mark, String)> {
        match &self.kind {
            Kind::List(items) => {
                items.iter().map(Node::to_bson).collect::<Result<_, _>>().map(Bson::Array)
            }
            Kind::Map(entries) if !entries.iter().any(|entry| is_wrapper(&entry.key)) => {
                let pair = |entry: &Entry| Ok((entry.key.clone(), entry.value.to_bson()?));
                entries.iter().map(pair).collect::<Result<Document, _>>().map(Bson::Document)
            }
            _ => Bson::try_from(self.to_json())
                .map_err(|error| (self.mark, format!("not a valid Extended JSON value: {error}"))),
        }
    }

    fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(Node::to_json).collect(),
            Kind::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }
}

/// The keys by which Extended JSON marks a value that JSON does not have.
fn is_wrapper(key: &str) -> bool {
    const WRAPPERS: &[&str] = &[
        "$oid",
        "$date",
        "$numberInt",
        "$numberLong",
        "$numberDouble",
        "$numberDecimal",
        "$binary",
        "$uuid",
        "$timestamp",
        "$regularExpression",
        "$symbol",
        "$code",
        "$dbPointer",
        "$undefined",
        "$minKey",
        "$maxKey",
    ];
    WRAPPERS.contains(&key)
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
        f.write_str("a string, number, boolean, null, list or mapping")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        self.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        let fits = i64::try_from(value);
        fits.map(|value| Kind::Scalar(value.into())).map_err(|_| {
            E::custom(format!(
                "{value} does not fit 64 bits; write {{$numberDecimal: \"{value}\"}}"
            ))
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        let finite = Number::from_f64(value).map(|number| Kind::Scalar(number.into()));
        finite.ok_or_else(|| E::custom(format!("write {{$numberDouble: \"{value}\"}}")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
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
            let mark = mark(&key);
            if key.value.contains('\0') {
                return Err(A::Error::custom("a field name cannot hold a NUL character"));
            }
            let value = Node::from(access.next_value::<Spanned<Kind>>()?);
            entries.push(Entry { key: key.value, mark, value });
        }
        Ok(Kind::Map(entries))
    }
}
