//! What holds for every document and every text.

use bson::oid::ObjectId;
use bson::{Binary, Bson, DateTime, Document, JavaScriptCodeWithScope, Regex, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{DuplicateKeys, JsonMode, Limits, parse_document, parse_value};
use super::{MODES, check_text, db_pointer, elements, written, written_bytes};

/// Nothing is written beside the sources when a case fails.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Keys that no wrapper has.
fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,6}", "[^$\\x00]{0,8}"]
}

fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        Just(Bson::Null),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        Just(Bson::Double(f64::NAN)),
        Just(db_pointer()),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<f64>().prop_filter("NaN differs in bits", |d| !d.is_nan()).prop_map(Bson::Double),
        any::<String>().prop_map(Bson::String),
        any::<String>().prop_map(Bson::Symbol),
        any::<String>().prop_map(Bson::JavaScriptCode),
        any::<i64>().prop_map(|ms| Bson::DateTime(DateTime::from_millis(ms))),
        (0..253_402_300_800_000_i64).prop_map(|ms| Bson::DateTime(DateTime::from_millis(ms))),
        any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(ObjectId::from_bytes(id))),
        any::<(u32, u32)>()
            .prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        any::<(u8, Vec<u8>)>()
            .prop_map(|(kind, bytes)| Bson::Binary(Binary { subtype: kind.into(), bytes })),
        (any::<i64>(), -6176..6000)
            .prop_map(|(m, e)| Bson::Decimal128(format!("{m}E{e}").parse().unwrap())),
        ("[^\\x00\\\\\\p{C}\\u{2028}\\u{2029}]{1,8}", "i?m?s?x?").prop_map(|(pattern, options)| {
            let pattern = pattern.try_into().unwrap();
            Bson::RegularExpression(Regex { pattern, options: options.try_into().unwrap() })
        }),
    ]
}

fn value() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(6, 40, 6, |inner| {
        let scope = document_of(inner.clone());
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Bson::Array),
            document_of(inner).prop_map(Bson::Document),
            (any::<String>(), scope).prop_map(|(code, scope)| {
                Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope })
            }),
        ]
    })
}

fn document_of(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    vec((key(), value), 0..6).prop_map(Document::from_iter)
}

fn document() -> impl Strategy<Value = Document> {
    document_of(value())
}

/// Pieces of the grammar in any order.
fn near_json() -> impl Strategy<Value = String> {
    let pieces = vec![
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "'",
        "\"",
        "\\",
        "/",
        "\\u",
        "\\ud83d",
        "é",
        "😀",
        " ",
        "\n",
        "a",
        "$oid",
        "$date",
        "$numberLong",
        "$binary",
        "$regex",
        "$code",
        "$scope",
        "$dbPointer",
        "$timestamp",
        "new",
        "Date",
        "ObjectId",
        "NumberDecimal",
        "UUID",
        "true",
        "NaN",
        "-Infinity",
        "-",
        "0",
        "1",
        ".5",
        "e3",
        "99999999999999999999",
        "\0",
        "{a:1}",
        "'2019-09-12T13:42'",
        "'5d7a4b69a4f7bd1fd8ee8d2a'",
        "{$oid:",
        "BinData(0,",
        "/x/i",
    ];
    vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(config())]

    /// Another implementation reads canonical Extended JSON as the same document, and so do we.
    #[test]
    fn extended_json_loses_nothing(document in document()) {
        let text = written(&document, JsonMode::Extended);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let bytes = document.to_vec().unwrap();
        let theirs = Bson::try_from(json).unwrap();
        prop_assert_eq!(&theirs.as_document().unwrap().to_vec().unwrap(), &bytes);
        let ours = parse_document(&text, Limits::default()).unwrap();
        prop_assert_eq!(ours.to_vec().unwrap(), bytes);
    }

    #[test]
    fn shell_notation_loses_nothing(document in document()) {
        let text = written(&document, JsonMode::Shell);
        let read = parse_document(&text, Limits::default()).unwrap();
        prop_assert_eq!(read.to_vec().unwrap(), document.to_vec().unwrap(), "{}", text);
    }

    #[test]
    fn every_document_is_one_line_of_json(document in document()) {
        for mode in MODES {
            let text = written(&document, mode);
            check_text(&text, mode);
            prop_assert!(parse_document(&text, Limits::default()).is_ok());
        }
    }

    #[test]
    fn damaged_bytes_never_panic(
        document in document(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = elements(&document);
        for (at, byte) in damage.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        let results = MODES.map(|mode| written_bytes(&bytes, mode).map(drop));
        prop_assert!(results.iter().all(|result| *result == results[0]), "{:?}", results);
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
        for mode in MODES {
            let _ = written_bytes(&bytes, mode);
        }
    }

    /// Whatever was read can be written, and a repeat of it reads the same.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![near_json(), any::<String>()]) {
        let limits = Limits { duplicate_keys: DuplicateKeys::KeepLast, ..Limits::default() };
        match parse_value(&text, limits) {
            Ok(value) => {
                let text = super::written_value(&value, JsonMode::Extended);
                let again = parse_value(&text, limits).unwrap();
                let bytes = |v| bson::doc! { "v": v }.to_vec().unwrap();
                prop_assert_eq!(bytes(again), bytes(value));
            }
            Err(error) => prop_assert!(error.to_string().len() < 300, "{}", error),
        }
    }
}
