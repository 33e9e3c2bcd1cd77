//! Rows: envelopes and what they are in each format.

use apache_avro::{Schema, reader::datum::GenericDatumReader, types::Value as Avro};
use bson::{
    Binary, Bson, Decimal128, JavaScriptCodeWithScope, RawDocumentBuf, Regex, Timestamp, Uuid,
    oid::ObjectId, rawdoc, spec::BinarySubtype,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn envelope<'a>(data: Option<&'a RawDocument>) -> Envelope<'a> {
    Envelope {
        id: "evt-AbC~1",
        source: "//shop.example/orders",
        subject: Some("5f9d88b9a9f8e8b0c0a1b2c3"),
        time: DateTime::from_millis(1_785_062_461_000),
        entity: "Order",
        operation: "update",
        tenant: Some("acme"),
        user_id: Some("u-42"),
        data,
    }
}

fn bare<'a>() -> Envelope<'a> {
    Envelope { subject: None, tenant: None, user_id: None, operation: "delete", ..envelope(None) }
}

fn text(envelope: &Envelope<'_>, format: Format) -> String {
    let schema = AvroSchema::of_entity(envelope.entity).unwrap();
    match envelope.encode(format, &schema).unwrap() {
        Body::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::Binary(_) => panic!("{format:?} is text"),
    }
}

#[test]
fn json_is_one_line_with_the_fields_in_order() {
    let data = rawdoc! { "status": "draft\nnew", "total": 1200 };
    assert_eq!(
        text(&envelope(Some(&data)), Format::Json),
        r#"{"id":"evt-AbC~1","type":"entity.update","source":"//shop.example/orders","subject":"5f9d88b9a9f8e8b0c0a1b2c3","time":"2026-07-26T10:41:01.000Z","entity":"Order","operation":"update","tenant":"acme","user_id":"u-42","data":{"status":"draft\nnew","total":1200}}"#
    );
    assert_eq!(
        text(&bare(), Format::Json),
        r#"{"id":"evt-AbC~1","type":"entity.delete","source":"//shop.example/orders","time":"2026-07-26T10:41:01.000Z","entity":"Order","operation":"delete","tenant":null,"user_id":null,"data":null}"#
    );
}

/// The rules of the specification that a reader relies on.
#[track_caller]
fn assert_cloud_event(event: &Value) {
    let attributes = event.as_object().unwrap();
    for required in ["specversion", "id", "source", "type"] {
        assert!(
            attributes[required].as_str().is_some_and(|text| !text.is_empty()),
            "{required}: {event}"
        );
    }
    assert_eq!(attributes["specversion"], "1.0");
    for (name, value) in attributes.iter().filter(|(name, _)| *name != "data") {
        let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        assert!(letters && (1..=20).contains(&name.len()), "{name}");
        let text = value.as_str().unwrap_or_else(|| panic!("{name} is {value}"));
        assert!(!text.is_empty() && !text.contains(char::is_control), "{name}: {text:?}");
    }
    assert!(!attributes.values().any(Value::is_null), "{event}");
    assert_eq!(attributes.contains_key("data"), attributes.contains_key("datacontenttype"));
    if let Some(time) = attributes.get("time") {
        DateTime::parse_rfc3339_str(time.as_str().unwrap()).unwrap();
    }
}

#[test]
fn a_cloud_event_has_lower_case_attributes_and_no_nulls() {
    let data = rawdoc! { "total": 1200, "gone": null };
    let full: Value =
        serde_json::from_str(&text(&envelope(Some(&data)), Format::CloudEvents)).unwrap();
    assert_cloud_event(&full);
    assert_eq!(
        full,
        json!({
            "specversion": "1.0", "id": "evt-AbC~1", "type": "entity.update", "source": "//shop.example/orders",
            "subject": "5f9d88b9a9f8e8b0c0a1b2c3", "time": "2026-07-26T10:41:01.000Z", "entity": "Order",
            "operation": "update", "tenant": "acme", "userid": "u-42", "datacontenttype": "application/json",
            "data": { "total": 1200, "gone": null },
        })
    );
    let bare: Value = serde_json::from_str(&text(&bare(), Format::CloudEvents)).unwrap();
    assert_cloud_event(&bare);
    let names: Vec<&String> = bare.as_object().unwrap().keys().collect();
    assert_eq!(names, ["specversion", "id", "type", "source", "time", "entity", "operation"]);
}

#[test]
fn text_that_no_attribute_may_hold_is_left_out() {
    for subject in ["", "a\nb", "\u{0}", "\u{85}", "\u{FFFE}", "\u{FDD0}", "\u{1FFFF}"] {
        let odd = Envelope {
            subject: Some(subject),
            tenant: Some(subject),
            user_id: Some(subject),
            ..bare()
        };
        let event: Value = serde_json::from_str(&text(&odd, Format::CloudEvents)).unwrap();
        assert_cloud_event(&event);
        assert_eq!(event.get("subject"), None, "{subject:?}");
        // The plain envelope has it.
        let plain: Value = serde_json::from_str(&text(&odd, Format::Json)).unwrap();
        assert_eq!(plain["subject"], subject);
    }
}

fn decode(envelope: &Envelope<'_>) -> Vec<(String, Avro)> {
    let schema = AvroSchema::of_entity(envelope.entity).unwrap();
    let Body::Binary(bytes) = envelope.encode(Format::Avro, &schema).unwrap() else {
        panic!("not binary")
    };
    // The marker, and a fingerprint, after which the record follows.
    assert_eq!(bytes[..2], [0xC3, 0x01]);
    // A reader has nothing but the published text.
    let published = Schema::parse_str(&schema.json().to_string()).unwrap();
    let reader = GenericDatumReader::builder(&published).build().unwrap();
    match reader.read_value(&mut &bytes[10..]).unwrap() {
        Avro::Record(fields) => fields.into_iter().collect(),
        other => panic!("{other:?}"),
    }
}

/// What `fastavro` computes of the published schema: of its parsing canonical form, in which `time` is
/// a plain `long`.
#[test]
fn the_fingerprint_is_the_one_that_other_readers_find() {
    let schema = AvroSchema::of_entity("Record").unwrap();
    let bytes = schema.encode(&bare()).unwrap();
    assert_eq!(bytes[2..10], [0x31, 0x5B, 0x0B, 0xBB, 0x08, 0xEF, 0x7B, 0x51]);
}

#[test]
fn avro_is_read_with_the_published_schema() {
    let data = rawdoc! { "status": "draft", "total": 1200 };
    let some = |text: &str| Avro::Union(1, Box::new(Avro::String(text.to_owned())));
    let none = || Avro::Union(0, Box::new(Avro::Null));
    let fields = decode(&envelope(Some(&data)));
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "id",
            "type",
            "source",
            "subject",
            "time",
            "entity",
            "operation",
            "tenant",
            "user_id",
            "data"
        ]
    );
    assert_eq!(fields[0].1, Avro::String("evt-AbC~1".to_owned()));
    assert_eq!(fields[4].1, Avro::TimestampMillis(1_785_062_461_000));
    assert_eq!(fields[7].1, some("acme"));
    assert_eq!(fields[9].1, some(r#"{"status":"draft","total":1200}"#));
    let fields = decode(&bare());
    assert_eq!((&fields[3].1, &fields[8].1, &fields[9].1), (&none(), &none(), &none()));
}

#[test]
fn a_schema_is_named_after_its_entity() {
    for (entity, name) in [("Order", "Order"), ("line-item.v2", "line_item_v2"), ("_x", "_x")] {
        let schema = AvroSchema::of_entity(entity).unwrap();
        assert_eq!(schema.json()["name"], name);
        assert_eq!(schema.json()["namespace"], "tailwater");
    }
    assert!(AvroSchema::of_entity("").is_err());
    assert!(AvroSchema::of_entity("1st").is_err());
}

#[track_caller]
fn plain(document: &RawDocument) -> String {
    let mut out = Vec::new();
    plain::write_document(document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_type_has_a_plain_form() {
    let id = ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap();
    let date = |millis| Bson::DateTime(DateTime::from_millis(millis));
    for (value, expected) in [
        (Bson::from("a\"\n\u{1}"), r#""a\"\n\u0001""#),
        (Bson::from(1), "1"),
        (Bson::from(9_007_199_254_740_993_i64), "9007199254740993"),
        (Bson::from(1.0), "1.0"),
        (Bson::from(-0.5e-9), "-5e-10"),
        (Bson::from(f64::NAN), r#""NaN""#),
        (Bson::from(f64::NEG_INFINITY), r#""-Infinity""#),
        (Bson::from("12.50".parse::<Decimal128>().unwrap()), r#""12.50""#),
        (Bson::from(true), "true"),
        (Bson::Null, "null"),
        (Bson::Undefined, "null"),
        (Bson::from(id), r#""5f9d88b9a9f8e8b0c0a1b2c3""#),
        (date(1_568_295_769_260), r#""2019-09-12T13:42:49.260Z""#),
        (date(i64::MAX), "9223372036854775807"),
        (Bson::from(Timestamp { time: 1, increment: 7 }), r#""1970-01-01T00:00:01.000Z""#),
        (Bson::from(Uuid::from_bytes([1; 16])), r#""01010101-0101-0101-0101-010101010101""#),
        (Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] }.into(), r#""AQI=""#),
        (Binary { subtype: BinarySubtype::Uuid, bytes: vec![1, 2] }.into(), r#""AQI=""#),
        (Bson::JavaScriptCode("f()".to_owned()), r#""f()""#),
        (
            JavaScriptCodeWithScope { code: "f()".to_owned(), scope: bson::doc! {} }.into(),
            r#""f()""#,
        ),
        (Bson::Symbol("s".to_owned()), r#""s""#),
        (
            Regex { pattern: "^a".try_into().unwrap(), options: "i".try_into().unwrap() }.into(),
            r#""/^a/i""#,
        ),
        (Bson::MinKey, r#""MinKey""#),
        (Bson::MaxKey, r#""MaxKey""#),
        (bson::bson!([1, [], { "a": {} }]), r#"[1,[],{"a":{}}]"#),
    ] {
        let document = bson::doc! { "v": value.clone() };
        let document = RawDocumentBuf::try_from(&document).unwrap();
        let written = plain(&document);
        assert_eq!(written, format!("{{\"v\":{expected}}}"), "{value:?}");
        serde_json::from_str::<Value>(&written).unwrap();
    }
    assert_eq!(plain(&rawdoc! {}), "{}");
}

#[test]
fn text_that_is_not_utf8_is_repaired() {
    let mut bytes = rawdoc! { "a": "xxxx", "b": [1, { "c": "yyyy" }] }.into_bytes();
    for at in 0..bytes.len() - 3 {
        if [b"xxxx", b"yyyy"].iter().any(|word| bytes[at..].starts_with(*word)) {
            bytes[at + 1] = 0xFF;
        }
    }
    let document = RawDocument::from_bytes(&bytes).unwrap();
    assert_eq!(plain(document), "{\"a\":\"x\u{FFFD}xx\",\"b\":[1,{\"c\":\"y\u{FFFD}yy\"}]}");
}

#[test]
fn nesting_is_bounded() {
    let deep = |levels| (0..levels).fold(rawdoc! {}, |inner, _| rawdoc! { "a": inner });
    assert!(plain(&deep(plain::MAX_DEPTH - 1)).len() > 800);
    let mut out = Vec::new();
    let error = plain::write_document(&deep(plain::MAX_DEPTH), &mut out).unwrap_err();
    assert_eq!(error, plain::PlainError::TooDeep);
}

fn bytes_of_documents() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Bson::from),
        any::<f64>().prop_map(Bson::from),
        any::<String>().prop_map(Bson::from),
        any::<i64>().prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        any::<[u8; 16]>().prop_map(|bytes| Bson::Decimal128(Decimal128::from_bytes(bytes))),
        any::<[u8; 12]>().prop_map(|bytes| Bson::ObjectId(ObjectId::from_bytes(bytes))),
        Just(Bson::Null),
        Just(Bson::MaxKey),
    ];
    let value = leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::from),
            prop::collection::vec(("[^\0]{0,6}", inner), 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    });
    let document = prop::collection::vec(("[^\0]{0,6}", value), 0..5);
    let bytes = document.prop_map(|fields| {
        let document: bson::Document = fields.into_iter().collect();
        document.to_vec().unwrap()
    });
    (bytes, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)).prop_map(
        |(mut bytes, slips)| {
            let length = bytes.len();
            for (at, byte) in slips.into_iter().filter(|_| length > 5) {
                bytes[4 + at.index(length - 5)] = byte;
            }
            bytes
        },
    )
}

proptest! {
    #[test]
    fn any_document_is_an_envelope_or_an_error(bytes in bytes_of_documents(), subject in any::<String>()) {
        let Ok(document) = RawDocument::from_bytes(&bytes) else { return Ok(()) };
        let schema = AvroSchema::of_entity("Order").unwrap();
        let whole = Envelope { subject: Some(&subject), tenant: Some(&subject), ..envelope(Some(document)) };
        for format in Format::ALL {
            match whole.encode(format, &schema) {
                Ok(Body::Text(line)) => {
                    let line = std::str::from_utf8(&line).unwrap();
                    prop_assert!(!line.contains(['\n', '\r', '\0']));
                    let value: Value = serde_json::from_str(line).unwrap();
                    if format == Format::CloudEvents {
                        assert_cloud_event(&value);
                    }
                }
                Ok(Body::Binary(bytes)) => prop_assert!(bytes.len() > 10),
                Err(error) => prop_assert!(error.to_string().starts_with("the document is malformed")),
            }
        }
    }
}
