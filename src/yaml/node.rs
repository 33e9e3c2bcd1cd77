//! YAML as a tree that remembers where everything stands.

use bson::{Bson, Document};
use serde_json::Value;
use serde_saphyr::{NonFiniteFloatPolicy, Spanned};

use super::kind::Kind;

/// Line and column, both from one.
pub(crate) type Mark = (u64, u64);

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) mark: Mark,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) mark: Mark,
    pub(crate) value: Node,
}

/// Reads YAML, of which JSON is a part. Nesting and size are bounded by the parser's own budget.
/// The error has its place when the parser knows one.
pub(crate) fn parse(text: &str) -> Result<Node, (Mark, String)> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        // Refused further on, with what to write instead.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    let parsed: Result<Spanned<Kind>, _> = serde_saphyr::from_str_with_options(text, options);
    parsed.map(Node::from).map_err(|error| {
        let mark = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        let message = error.without_snippet().to_string();
        (mark, message.lines().next().unwrap_or_default().to_owned())
    })
}

impl Node {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The value, Extended JSON objects turned into what they stand for.
    pub(crate) fn to_bson(&self) -> Result<Bson, (Mark, String)> {
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

pub(super) fn mark<T>(spanned: &Spanned<T>) -> Mark {
    (spanned.referenced.line(), spanned.referenced.column())
}
