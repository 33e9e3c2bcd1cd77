//! `jsonMode`: the same event in every form, the same on either transport.

use bson::{
    Binary, Bson, DateTime, Decimal128, Document, Regex, Timestamp, doc, oid::ObjectId,
    spec::BinarySubtype,
};

use crate::support::{TestApp, all};

/// One value and its text in the default, RELAXED, STRICT, EXTENDED and SHELL mode.
type Row = (Bson, [&'static str; 5]);

fn rows() -> Vec<Row> {
    let oid = ObjectId::parse_str("62166d53ebdcd56455a1a7aa").unwrap();
    let oid_json = r#"{"$oid": "62166d53ebdcd56455a1a7aa"}"#;
    let binary = Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2, 3] };
    let binary_json = r#"{"$binary": {"base64": "AQID", "subType": "00"}}"#;
    let regex = Bson::RegularExpression(Regex {
        pattern: "a/b".to_owned().try_into().unwrap(),
        options: "i".to_owned().try_into().unwrap(),
    });
    let regex_json = r#"{"$regularExpression": {"pattern": "a/b", "options": "i"}}"#;
    let timestamp_json = r#"{"$timestamp": {"t": 1, "i": 2}}"#;
    let decimal_json = r#"{"$numberDecimal": "1.10"}"#;
    let nan = r#"{"$numberDouble": "NaN"}"#;
    vec![
        (1.into(), ["1", "1", "1", r#"{"$numberInt": "1"}"#, "1"]),
        (
            1_i64.into(),
            ["1", "1", r#"{"$numberLong": "1"}"#, r#"{"$numberLong": "1"}"#, "NumberLong(1)"],
        ),
        (
            5_887_391_606_i64.into(),
            [
                "5887391606",
                "5887391606",
                r#"{"$numberLong": "5887391606"}"#,
                r#"{"$numberLong": "5887391606"}"#,
                r#"NumberLong("5887391606")"#,
            ],
        ),
        (1.0.into(), ["1.0", "1.0", "1.0", r#"{"$numberDouble": "1.0"}"#, "1.0"]),
        (0.5.into(), ["0.5", "0.5", "0.5", r#"{"$numberDouble": "0.5"}"#, "0.5"]),
        (f64::NAN.into(), [nan, nan, nan, nan, "NaN"]),
        (
            DateTime::from_millis(1_568_295_769_260).into(),
            [
                r#"{"$date": 1568295769260}"#,
                r#"{"$date": "2019-09-12T13:42:49.26Z"}"#,
                r#"{"$date": 1568295769260}"#,
                r#"{"$date": {"$numberLong": "1568295769260"}}"#,
                r#"ISODate("2019-09-12T13:42:49.260Z")"#,
            ],
        ),
        (
            DateTime::from_millis(1_568_295_769_000).into(),
            [
                r#"{"$date": 1568295769000}"#,
                r#"{"$date": "2019-09-12T13:42:49Z"}"#,
                r#"{"$date": 1568295769000}"#,
                r#"{"$date": {"$numberLong": "1568295769000"}}"#,
                r#"ISODate("2019-09-12T13:42:49.000Z")"#,
            ],
        ),
        (
            oid.into(),
            [oid_json, oid_json, oid_json, oid_json, r#"ObjectId("62166d53ebdcd56455a1a7aa")"#],
        ),
        (
            Bson::Decimal128("1.10".parse::<Decimal128>().unwrap()),
            [decimal_json, decimal_json, decimal_json, decimal_json, r#"NumberDecimal("1.10")"#],
        ),
        (
            binary.into(),
            [
                binary_json,
                binary_json,
                r#"{"$binary": "AQID", "$type": "00"}"#,
                binary_json,
                r#"new BinData(0, "AQID")"#,
            ],
        ),
        (
            regex,
            [
                regex_json,
                regex_json,
                r#"{"$regex": "a/b", "$options": "i"}"#,
                regex_json,
                r"/a\/b/i",
            ],
        ),
        (
            Timestamp { time: 1, increment: 2 }.into(),
            [timestamp_json, timestamp_json, timestamp_json, timestamp_json, "Timestamp(1, 2)"],
        ),
        (Bson::Null, ["null"; 5]),
        (true.into(), ["true"; 5]),
        (Bson::Array(vec![]), ["[]"; 5]),
        (Document::new().into(), ["{}"; 5]),
        ("q\"\\\u{8}\n\u{1}é\u{1F600}".into(), [r#""q\"\\\b\n\u0001é😀""#; 5]),
    ]
}

/// Every type in every mode, byte for byte, over both transports.
#[tokio::test]
async fn every_type_has_its_form_in_every_mode() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let queries =
        ["", "?jsonMode=RELAXED", "?jsonMode=strict", "?jsonMode=Extended", "?jsonMode=SHELL"];
    let mut clients = Vec::new();
    for query in queries {
        let stream = format!("c/all{query}");
        clients.push((app.sse(&stream).await, app.socket(&stream).await));
    }
    for (value, texts) in rows() {
        app.coll("c").insert_one(doc! { "_id": "x", "v": &value }).await.unwrap();
        app.coll("c").delete_one(doc! { "_id": "x" }).await.unwrap();
        for ((sse, socket), text) in clients.iter_mut().zip(texts) {
            let data = sse.event().await.data.unwrap();
            assert!(data.contains(&format!("\"v\": {text}}}")), "{text} is not in {data}");
            assert!(!data.contains('\n'));
            let message = socket.message().await.into_text().unwrap().to_string();
            assert_eq!(message, data, "both transports carry the same bytes");
            sse.event().await;
            socket.message().await;
        }
    }
    app.has_cursors("c", 1).await;
}

/// An unknown mode is `400`, before any stream is opened.
#[tokio::test]
async fn an_unknown_mode_is_refused() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    for mode in ["", "x", "RELAXED%20", "RELAXED,STRICT", "legacy", "%00"] {
        let answer = app.refused(&format!("c/all?jsonMode={mode}")).await;
        assert_eq!(answer.status, 400, "{mode}");
        assert!(answer.message().contains("jsonMode"), "{}", answer.message());
        let meta = app.get(&format!("{}/_meta?jsonMode={mode}", app.coll_path("c"))).await;
        assert_eq!(meta.status, 400, "{mode}");
    }
    assert_eq!(app.cursors("c").await, 0);
}

/// Metadata is shown in the mode that is asked for.
#[tokio::test]
async fn metadata_follows_the_mode() {
    let app = TestApp::start().await;
    let path = app.coll_path("c");
    app.send("PUT", &path, r#"{ "n": 1, "l": { "$numberLong": "2" } }"#).await;
    for (mode, text) in [
        ("", r#""n": 1, "l": 2"#),
        ("?jsonMode=extended", r#""n": {"$numberInt": "1"}, "l": {"$numberLong": "2"}"#),
        ("?jsonMode=STRICT", r#""n": 1, "l": {"$numberLong": "2"}"#),
    ] {
        let meta = app.get(&format!("{path}/_meta{mode}")).await;
        assert!(meta.body.contains(text), "{mode}: {}", meta.body);
    }
}
