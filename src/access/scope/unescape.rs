use bson::{Bson, Document};

/// Undoes what keeps a filter storable: `_$in` is `$in`, `a::b` is `a.b`, at any depth.
pub(in crate::access) fn unescaped(document: &Document) -> Document {
    document.iter().map(|(name, value)| (key(name), inner(value))).collect()
}

/// BSON that was read from bytes nests at most as deep as its reader allows.
fn inner(value: &Bson) -> Bson {
    match value {
        Bson::Document(document) => Bson::Document(unescaped(document)),
        Bson::Array(items) => Bson::Array(items.iter().map(inner).collect()),
        other => other.clone(),
    }
}

pub(super) fn key(name: &str) -> String {
    match name.strip_prefix("_$") {
        Some(operator) => format!("${operator}"),
        None => name.replace("::", "."),
    }
}
