use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Location, Spanned};

/// A YAML value as it was written: scalars stay text, so that a key of digits is not taken for a
/// number, and every node knows its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Name, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) at: Place,
}

/// Line and column, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: Place,
    pub(crate) message: String,
}

impl SyntaxError {
    pub(crate) fn new(at: Place, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Parses one YAML document. The text of errors holds no excerpt: a configuration holds secrets.
pub(crate) fn parse_yaml(source: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 16, max_nodes: 20_000, max_documents: 1 },
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(source, options)
        .map(|raw| node(raw, source))
        .map_err(|error| {
            let at = error.location().map_or(Place { line: 0, column: 0 }, place);
            SyntaxError::new(at, without_place(&error.to_string()))
        })
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The value on one line, for `check`.
    pub(crate) fn render(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.flow(),
        }
    }

    /// The value inside a YAML list or mapping.
    fn flow(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Text(text) if is_plain(text) => text.clone(),
            Self::Text(text) => format!("{text:?}"),
            Self::List(nodes) => {
                let items: Vec<_> = nodes.iter().map(|node| node.value.flow()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let item =
                    |(name, node): &(Name, Node)| format!("{}: {}", name.text, node.value.flow());
                format!("{{{}}}", entries.iter().map(item).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// The parser repeats the place at the end of its messages; it is shown in front of them already.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Whether a text needs no quotes within a list or mapping.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+$".contains(c);
    !text.is_empty() && !text.starts_with(['-', '+']) && text.chars().all(plain)
}

/// What serde sees. A plain scalar that looks like a number or a boolean is `Inferred`: its text is
/// then cut out of the source.
enum Raw {
    Null,
    Text(String),
    Inferred,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn node(raw: Spanned<Raw>, source: &str) -> Node {
    let at = place(raw.referenced);
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Text(text) => Value::Text(text),
        Raw::Inferred => Value::Text(excerpt(raw.defined, source).trim().to_owned()),
        Raw::List(items) => Value::List(items.into_iter().map(|raw| node(raw, source)).collect()),
        Raw::Map(entries) => Value::Map(entries.into_iter().map(|e| entry(e, source)).collect()),
    };
    Node { value, at }
}

fn entry((name, raw): (Spanned<String>, Spanned<Raw>), source: &str) -> (Name, Node) {
    (Name { at: place(name.referenced), text: name.value }, node(raw, source))
}

fn place(location: Location) -> Place {
    Place { line: location.line(), column: location.column() }
}

fn excerpt(location: Location, source: &str) -> &str {
    let span = location.span();
    let range = span.byte_offset().zip(span.byte_len()).and_then(|(start, length)| {
        let start = usize::try_from(start).ok()?;
        Some(start..start.checked_add(usize::try_from(length).ok()?)?)
    });
    range.and_then(|range| source.get(range)).unwrap_or_default()
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a mapping")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Inferred)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Inferred)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Inferred)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Inferred)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(parse_yaml(source).unwrap().value.render(), expected, "{source}");
    }

    #[test]
    fn keeps_scalars_as_written() {
        check("a: 00112233", "{a: 00112233}");
        check(
            "a: 1234567890123456789012345678901234567890",
            "{a: 1234567890123456789012345678901234567890}",
        );
        check("a: 1e5  # text", "{a: 1e5}");
        check("a: 0x1F", "{a: 0x1F}");
        check("a: .inf", "{a: .inf}");
        check("a: Off", "{a: Off}");
        check("a: -3", r#"{a: "-3"}"#);
        check("a: '*'", r#"{a: "*"}"#);
        check("a: {b: }", "{a: {b: null}}");
        check("two words", "two words");
        check("é: 5\nb: 7", "{é: 5, b: 7}");
        check("a: \"5\"", "{a: 5}");
        check("a:\nb: ~\nc: null", "{a: null, b: null, c: null}");
        check("a: [1, x, {b: true}]", "{a: [1, x, {b: true}]}");
        check("a: &x 7\nb: *x", "{a: 7, b: 7}");
        check("", "null");
    }

    #[test]
    fn knows_places() {
        let Value::Map(entries) = parse_yaml("a: 1\nbb:\n  c: 2\n").unwrap().value else {
            panic!("not a map");
        };
        let (name, node) = &entries[1];
        assert_eq!(name.at, Place { line: 2, column: 1 });
        let Value::Map(inner) = &node.value else { panic!("not a map") };
        assert_eq!(inner[0].0.at, Place { line: 3, column: 3 });
        assert_eq!(inner[0].1.at, Place { line: 3, column: 6 });
    }

    #[test]
    fn refuses_what_is_not_one_bounded_document() {
        let check = |source: &str, line: u64| {
            let error = parse_yaml(source).unwrap_err();
            assert_eq!(error.at.line, line, "{source}: {}", error.message);
            assert!(!error.message.contains("hush"), "{}", error.message);
        };
        check("a: [1", 1);
        check("key: hush\na: b: c", 2);
        check("a: 1\na: hush", 2);
        check("a: *nowhere", 1);
        check(&"[".repeat(40), 1);
    }
}
