//! Filters over documents, some of them damaged: no panic, a negation is the opposite or fails too,
//! and damage is never "no match" under one and "match" under the other.
#![no_main]

use bson::raw::{CString, RawBson, RawDocumentBuf};
use bson::rawdoc;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tailwater::query::{Filter, ParseOptions, Projection};

#[derive(Debug, Arbitrary)]
enum Node {
    Null,
    Undefined,
    Bool(bool),
    Int(i8),
    Long(i64),
    Double(f64),
    Decimal([u8; 16]),
    Text(String),
    Symbol(String),
    Date(i64),
    Array(Vec<Node>),
    Object(Vec<(u8, Node)>),
}

#[derive(Debug, Arbitrary)]
struct Input {
    filter: Vec<(u8, Node)>,
    document: Vec<(u8, Node)>,
    damage: Vec<(u16, u8)>,
}

const NAMES: [&str; 27] = [
    "a",
    "b",
    "0",
    "1",
    "a.b",
    "a.0",
    "a.0.b",
    "a.b.0",
    "$and",
    "$or",
    "$nor",
    "$not",
    "$eq",
    "$ne",
    "$gt",
    "$lte",
    "$in",
    "$nin",
    "$all",
    "$elemMatch",
    "$exists",
    "$size",
    "$type",
    "$mod",
    "$regex",
    "$comment",
    "$project",
];

fn bson(node: Node) -> RawBson {
    match node {
        Node::Null => RawBson::Null,
        Node::Undefined => RawBson::Undefined,
        Node::Bool(value) => value.into(),
        Node::Int(value) => i32::from(value).into(),
        Node::Long(value) => value.into(),
        Node::Double(value) => value.into(),
        Node::Decimal(bytes) => RawBson::Decimal128(bson::Decimal128::from_bytes(bytes)),
        Node::Text(text) => text.into(),
        Node::Symbol(text) => RawBson::Symbol(text),
        Node::Date(millis) => RawBson::DateTime(bson::DateTime::from_millis(millis)),
        Node::Array(items) => RawBson::Array(items.into_iter().map(bson).collect()),
        Node::Object(fields) => RawBson::Document(document(fields)),
    }
}

fn document(fields: Vec<(u8, Node)>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, node) in fields {
        let name = NAMES[usize::from(name) % NAMES.len()];
        document.append(CString::try_from(name).unwrap(), bson(node));
    }
    document
}

fn damaged(document: RawDocumentBuf, damage: &[(u16, u8)]) -> Option<RawDocumentBuf> {
    let mut bytes = document.into_bytes();
    for (place, byte) in damage {
        let place = usize::from(*place) % bytes.len();
        bytes[place] = *byte;
    }
    RawDocumentBuf::from_bytes(bytes).ok()
}

fuzz_target!(|input: Input| {
    let filter = document(input.filter);
    let Some(document) = damaged(document(input.document), &input.damage) else { return };
    if let Ok(projection) = Projection::parse(&filter) {
        let _ = projection.apply(&document);
    }
    let negated = rawdoc! { "$nor": [filter.clone()] };
    let options = ParseOptions::default();
    let (Ok(filter), Ok(negated)) =
        (Filter::parse(&filter, &options), Filter::parse(&negated, &options))
    else {
        return;
    };
    assert_eq!(filter.matches(&document), negated.matches(&document).map(|matches| !matches));
});
