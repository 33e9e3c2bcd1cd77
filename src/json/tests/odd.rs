//! Documents that no driver would build, and bytes that are no document.

use bson::{Bson, Document, JavaScriptCodeWithScope, doc};

use super::super::{JsonError, JsonMode, MAX_DEPTH};
use super::{MODES, db_pointer, elements, framed, written_bytes};

fn check(elements: &[u8], wanted: Result<&str, JsonError>) {
    let written = written_bytes(elements, JsonMode::Default);
    assert_eq!(written.as_deref().map_err(|error| *error), wanted, "{elements:x?}");
}

#[test]
fn invalid_utf8_does_not_stop_the_stream() {
    check(b"\x02k\0\x03\0\0\0\xFF\x41\0", Ok("{\"k\": \"\u{FFFD}A\"}"));
    check(b"\x0A\xED\xA0\x80\0", Ok("{\"\u{FFFD}\u{FFFD}\u{FFFD}\": null}"));
    check(b"\x0E\0\x02\0\0\0\xC3\0", Ok("{\"\": {\"$symbol\": \"\u{FFFD}\"}}"));
}

#[test]
fn every_key_is_written() {
    check(b"\x10a\0\x01\0\0\0\x10a\0\x02\0\0\0", Ok("{\"a\": 1, \"a\": 2}"));
    check(b"\x10a\r\n\0\x01\0\0\0", Ok("{\"a\\r\\n\": 1}"));
}

#[test]
fn what_the_format_leaves_open_is_accepted() {
    // A boolean that is neither 0 nor 1, and old binary data whose inner length is wrong.
    check(b"\x08a\0\x02", Ok("{\"a\": true}"));
    let json = "{\"a\": {\"$binary\": {\"base64\": \"/wAAAA==\", \"subType\": \"02\"}}}";
    check(b"\x05a\0\x04\0\0\0\x02\xFF\0\0\0", Ok(json));
    // The keys of an array are not looked at.
    check(b"\x04a\0\x0C\0\0\0\x10x\0\x01\0\0\0\0", Ok("{\"a\": [1]}"));
}

#[test]
fn malformed_bytes_are_an_error() {
    use JsonError::{Malformed, Truncated, UnknownType};
    check(b"\x02a\0\x00\0\0\0", Err(Malformed("a string lacks its terminator")));
    check(b"\x02a\0\x01\0\0\0x", Err(Malformed("a string lacks its terminator")));
    check(b"\x02a\0\xFF\xFF\xFF\xFF", Err(Malformed("a length is negative")));
    check(b"\x02a\0\xFF\xFF\xFF\x7F", Err(Truncated("a string")));
    check(b"\x10a", Err(Truncated("a key")));
    check(b"\x10a\0\x01", Err(Truncated("an int32")));
    check(b"\x00a\0", Err(UnknownType(0)));
    check(b"\x14a\0", Err(UnknownType(0x14)));
    check(b"\x03a\0\x04\0\0\0", Err(Malformed("a document lacks its terminator")));
    check(b"\x03a\0\x05\0\0\0\x01", Err(Malformed("a document lacks its terminator")));
    check(b"\x03a\0\x02\0\0\0", Err(Truncated("a document")));
    check(b"\x03a\0\0\0\0\0", Err(Truncated("a document")));
    check(
        b"\x0Fa\0\x0F\0\0\0\x01\0\0\0\0\x05\0\0\0\0\0",
        Err(Malformed("code with scope is longer than its parts")),
    );
}

/// Every cut of a document with every type is an error or is JSON.
#[test]
fn truncated_documents_never_panic() {
    let scoped = JavaScriptCodeWithScope { code: "f".into(), scope: doc! { "x": 1 } };
    let document = doc! {
        "a": 1, "b": 2_i64, "c": 1.5, "d": "text", "e": { "f": [1, "x"] }, "g": true,
        "h": Bson::Null, "i": bson::oid::ObjectId::from_bytes([7; 12]), "j": scoped,
        "k": bson::DateTime::from_millis(1), "l": bson::Timestamp { time: 1, increment: 2 },
        "m": bson::Binary { subtype: bson::spec::BinarySubtype::BinaryOld, bytes: vec![1] },
        "n": Bson::JavaScriptCode("g".into()), "o": Bson::Symbol("s".into()), "p": db_pointer(),
        "q": Bson::Decimal128("1.5".parse().unwrap()), "r": Bson::MinKey, "s": Bson::Undefined,
    };
    let elements = elements(&document);
    let complete = (0..=elements.len())
        .filter(|size| MODES.map(|mode| written_bytes(&elements[..*size], mode).is_ok())[0])
        .count();
    assert_eq!(complete, document.len() + 1, "only a cut between elements leaves a document");
}

#[test]
fn depth_is_bounded() {
    assert!(nested(MAX_DEPTH, 0x03).is_ok());
    assert_eq!(nested(MAX_DEPTH + 1, 0x03), Err(JsonError::TooDeep));
    assert!(nested(MAX_DEPTH, 0x04).is_ok());
    assert_eq!(nested(MAX_DEPTH + 1, 0x04), Err(JsonError::TooDeep));
    assert_eq!(nested(100_000, 0x04), Err(JsonError::TooDeep));
}

/// `levels` documents or arrays, one in the other.
fn nested(levels: usize, kind: u8) -> Result<(), JsonError> {
    let head = |size: usize| [&[kind, b'0', 0][..], &(size as i32).to_le_bytes()].concat();
    let heads = (0..levels - 1).rev().flat_map(|inner| head(5 + 8 * inner));
    let tail = vec![0; levels - 1];
    let elements: Vec<u8> = heads.chain(tail).collect();
    let raw = framed(&elements);
    let raw = bson::raw::RawDocument::from_bytes(&raw).unwrap();
    let mut out = Vec::new();
    super::super::write_document(raw, JsonMode::Default, &mut out)
}

#[test]
fn code_with_scope_counts_as_a_level() {
    let mut document = Document::new();
    for _ in 0..MAX_DEPTH - 1 {
        let scope = std::mem::take(&mut document);
        document = doc! { "s": JavaScriptCodeWithScope { code: String::new(), scope } };
    }
    let raw = bson::raw::RawDocumentBuf::try_from(&document).unwrap();
    let mut out = Vec::new();
    assert_eq!(super::super::write_document(&raw, JsonMode::Default, &mut out), Ok(()));
    let deeper = doc! { "s": JavaScriptCodeWithScope { code: String::new(), scope: document } };
    let raw = bson::raw::RawDocumentBuf::try_from(&deeper).unwrap();
    let result = super::super::write_document(&raw, JsonMode::Default, &mut out);
    assert_eq!(result, Err(JsonError::TooDeep));
}
