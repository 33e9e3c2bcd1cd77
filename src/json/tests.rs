//! What writing and reading promise together.

mod forms;
mod odd;
mod properties;
mod reading;

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document, doc};

use super::{JsonError, JsonMode, write_document};

/// In the order of the columns of the tables.
const MODES: [JsonMode; 5] =
    [JsonMode::Default, JsonMode::Relaxed, JsonMode::Strict, JsonMode::Extended, JsonMode::Shell];

fn written(document: &Document, mode: JsonMode) -> String {
    let raw = RawDocumentBuf::try_from(document).unwrap();
    let mut out = Vec::new();
    write_document(&raw, mode, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn written_value(value: &Bson, mode: JsonMode) -> String {
    let text = written(&doc! { "v": value.clone() }, mode);
    text.strip_prefix("{\"v\": ").unwrap().strip_suffix('}').unwrap().to_owned()
}

/// Writes bytes that need not be BSON, after their frame was made to fit. Whatever is written must
/// be one line, and JSON in every mode but the shell's.
fn written_bytes(elements: &[u8], mode: JsonMode) -> Result<String, JsonError> {
    let bytes = framed(elements);
    let raw = RawDocument::from_bytes(&bytes).unwrap();
    let mut out = b"before".to_vec();
    let result = write_document(raw, mode, &mut out);
    let text = String::from_utf8(out).unwrap();
    let text = text.strip_prefix("before").unwrap();
    if let Err(error) = result {
        assert_eq!(text, "", "a failed write leaves nothing behind");
        return Err(error);
    }
    check_text(text, mode);
    Ok(text.to_owned())
}

fn check_text(text: &str, mode: JsonMode) {
    let breaks_lines = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!text.contains(breaks_lines), "{text:?}");
    if mode != JsonMode::Shell {
        serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    }
}

/// A document around `elements`.
fn framed(elements: &[u8]) -> Vec<u8> {
    let size = i32::try_from(elements.len() + 5).unwrap();
    [&size.to_le_bytes(), elements, &[0]].concat()
}

/// The elements of a document, without its frame.
fn elements(document: &Document) -> Vec<u8> {
    let raw = RawDocumentBuf::try_from(document).unwrap();
    let bytes = raw.as_bytes();
    bytes[4..bytes.len() - 1].to_vec()
}

/// `bson` has no constructor for this deprecated type.
fn db_pointer() -> Bson {
    let id = serde_json::json!({"$oid": "5d7a4b69a4f7bd1fd8ee8d2a"});
    serde_json::json!({"$dbPointer": {"$ref": "db.c", "$id": id}}).try_into().unwrap()
}
