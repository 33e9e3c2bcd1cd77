//! Documents that JSON, or a transport's framing, has no place for: whole, parseable, and followed by
//! the next event.

use bson::{Bson, Decimal128, doc, oid::ObjectId};
use serde_json::Value;

use crate::support::{
    TestApp, all,
    client::{Client, Transport},
    sse::Sse,
};

const MODES: [&str; 5] = ["", "RELAXED", "EXTENDED", "STRICT", "SHELL"];

/// Those whose text is JSON: `SHELL` writes constructors.
const JSON: [&str; 4] = ["", "RELAXED", "EXTENDED", "STRICT"];

/// Clients of every transport in every mode.
async fn audience(app: &TestApp, coll: &str) -> Vec<(&'static str, Client)> {
    audience_of(app, coll, &MODES).await
}

async fn audience_of(
    app: &TestApp,
    coll: &str,
    modes: &[&'static str],
) -> Vec<(&'static str, Client)> {
    let mut clients = Vec::new();
    for mode in modes.iter().copied() {
        for transport in Transport::ALL {
            let query = if mode.is_empty() { String::new() } else { format!("?jsonMode={mode}") };
            let path = app.path(&format!("{coll}/all{query}"));
            clients.push((mode, transport.open(app.address, &path).await));
        }
    }
    clients
}

async fn started() -> TestApp {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    app
}

/// Doubles and decimals without a JSON literal stay distinguishable, in JSON that parses.
#[tokio::test]
async fn numbers_that_json_has_not() {
    let app = started().await;
    let mut clients = audience(&app, "c").await;
    let digits: Decimal128 = "1234567890123456789012345678901234".parse().unwrap();
    let nan: Decimal128 = "NaN".parse().unwrap();
    let infinity: Decimal128 = "Infinity".parse().unwrap();
    let document = doc! {
        "_id": 1, "nan": f64::NAN, "inf": f64::INFINITY, "minus": f64::NEG_INFINITY, "zero": -0.0,
        "dnan": nan, "dinf": infinity, "digits": digits,
    };
    app.coll("c").insert_one(document).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    for (mode, client) in &mut clients {
        // SHELL writes constructors, which are no JSON: the text is looked at.
        let text = client.text().await;
        let expected: &[&str] = match *mode {
            "SHELL" => &["NaN", "Infinity", "-Infinity", "1234567890123456789012345678901234"],
            _ => &[
                r#""NaN""#,
                r#""Infinity""#,
                r#""-Infinity""#,
                r#""1234567890123456789012345678901234""#,
            ],
        };
        for part in expected {
            assert!(text.contains(part), "{mode}: {part} in {text}");
        }
        if *mode != "SHELL" {
            let value: Value = serde_json::from_str(&text).unwrap();
            let zero = &value["fullDocument"]["zero"];
            let zero = zero.as_f64().or_else(|| zero["$numberDouble"].as_str()?.parse().ok());
            assert!(zero.is_some_and(|zero| zero.is_sign_negative()), "{mode}: {value}");
        }
        assert!(client.text().await.contains("\"_id\""), "{mode}: the next event arrives");
    }
}

/// 64-bit integers keep their digits in the text; `EXTENDED` and `STRICT` say which ones JavaScript
/// would round.
#[tokio::test]
async fn long_integers_keep_their_digits() {
    let app = started().await;
    let mut clients = audience(&app, "c").await;
    let two53 = 1_i64 << 53;
    let all = [two53 - 1, two53, two53 + 1, i64::MIN, i64::MAX];
    app.coll("c").insert_one(doc! { "_id": 1, "all": all.to_vec() }).await.unwrap();
    for (mode, client) in &mut clients {
        let text = client.text().await;
        for number in all {
            let expected = match *mode {
                "EXTENDED" => format!(r#"{{"$numberLong":"{number}"}}"#),
                _ => number.to_string(),
            };
            assert!(text.replace(' ', "").contains(&expected), "{mode}: {expected} in {text}");
        }
    }
}

/// Data that looks like a type wrapper, and names that start with a dollar, pass as they are.
#[tokio::test]
async fn data_that_looks_like_extended_json() {
    let app = started().await;
    let when = doc! { "fullDocument::k": { "$var": "k" } };
    let by_k = doc! { "uri": "k", "stages": [], "notify_when": when };
    app.declare("c", vec![all(), by_k]).await;
    let mut selected = app.sse("c/k?k=1").await;
    let mut clients = audience(&app, "c").await;
    let odd = doc! {
        "_id": 1, "k": "1",
        "a": { "$date": "not a date" }, "b": { "$oid": "zz" }, "c": { "$numberLong": "x" },
        "d": { "$numberLong": "7" }, "e": { "$binary": 5 }, "$weird": 1,
        "f": { "$ref": "c", "$id": 1 }, "g": { "$undefined": true },
    };
    // The driver's own validation of names is passed by: the server takes them.
    app.db.run_command(doc! { "insert": "c", "documents": [odd] }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 2, "k": "1" }).await.unwrap();
    let expected = [
        r#""a":{"$date":"not a date"}"#,
        r#""b":{"$oid":"zz"}"#,
        r#""c":{"$numberLong":"x"}"#,
        r#""d":{"$numberLong":"7"}"#,
        r#""$weird":"#,
    ];
    for (mode, client) in &mut clients {
        let text = client.text().await;
        for field in expected {
            assert!(text.replace("\": ", "\":").contains(field), "{mode}: {field} in {text}");
        }
        assert!(*mode == "SHELL" || serde_json::from_str::<Value>(&text).is_ok(), "{mode}: {text}");
        client.text().await;
    }
    assert_eq!(selected.change().await["documentKey"]["_id"], 1);
    assert_eq!(selected.change().await["documentKey"]["_id"], 2);
}

/// Truncated arrays, pipeline updates, replaces, upserts and find-and-modify keep what the server says.
#[tokio::test]
async fn every_way_to_change_a_document_keeps_its_description() {
    let app = started().await;
    let mut clients = audience_of(&app, "c", &JSON).await;
    let coll = app.coll("c");
    let one = doc! { "_id": 1 };
    // A document smaller than its description is replaced by the server.
    let long = "x".repeat(1000);
    coll.insert_one(doc! { "_id": 1, "l": [1, 2, 3, 4], "n": 1, "x": &long }).await.unwrap();
    coll.update_one(one.clone(), doc! { "$pop": { "l": 1 } }).await.unwrap();
    let shorten =
        vec![doc! { "$set": { "l": { "$slice": ["$l", 2] }, "m": { "$add": ["$n", 1] } } }];
    coll.update_one(one.clone(), shorten).await.unwrap();
    let push = doc! { "$push": { "l": { "$each": [9], "$slice": -2 } } };
    coll.update_one(one.clone(), push).await.unwrap();
    coll.replace_one(one.clone(), doc! { "n": 2, "x": &long }).await.unwrap();
    coll.update_one(doc! { "_id": 2 }, doc! { "$set": { "n": 1 } }).upsert(true).await.unwrap();
    coll.find_one_and_update(one.clone(), doc! { "$inc": { "n": 1 } }).await.unwrap();
    coll.find_one_and_delete(one).await.unwrap();
    let kinds = ["insert", "update", "update", "update", "replace", "insert", "update", "delete"];
    for (mode, client) in &mut clients {
        let mut events = Vec::new();
        for kind in kinds {
            let event: Value = serde_json::from_str(&client.text().await).unwrap();
            assert_eq!(event["operationType"], kind, "{mode}: {event}");
            events.push(event);
        }
        let truncated = &events[2]["updateDescription"]["truncatedArrays"][0];
        assert_eq!(truncated["field"], "l", "{mode}: {}", events[2]);
        assert!(events[4].get("updateDescription").is_none(), "{mode}: {}", events[4]);
        assert!(events[6]["updateDescription"]["updatedFields"].get("n").is_some(), "{mode}");
    }
}

/// Control characters, line ends, separators and invalid UTF-8 are one event of valid JSON each.
#[tokio::test]
async fn text_that_could_break_the_framing() {
    let app = started().await;
    let mut clients = audience_of(&app, "c", &JSON).await;
    let shell = app.path("c/all?jsonMode=SHELL");
    let mut shell = Transport::Sse.open(app.address, &shell).await;
    let text = "\0\u{1}\r\n\r\ndata: x\n\nid: forged\n\u{2028}\u{2029}\u{7f}\u{feff}\"\\</script>";
    let keyed = doc! { "_id": text, "text": text, "a\r\nb": { text.replace('\0', ""): text } };
    app.coll("c").insert_one(keyed).await.unwrap();
    app.insert_malformed("c", 2).await;
    app.coll("c").insert_one(doc! { "_id": 3 }).await.unwrap();
    for (mode, client) in &mut clients {
        let event: Value = serde_json::from_str(&client.text().await).unwrap();
        assert_eq!(event["documentKey"]["_id"], text, "{mode}");
        assert_eq!(event["fullDocument"]["text"], text, "{mode}");
        assert_eq!(event["fullDocument"]["a\r\nb"][text.replace('\0', "")], text, "{mode}");
        let event: Value = serde_json::from_str(&client.text().await).unwrap();
        assert_eq!(event["fullDocument"]["bad"], "a\u{FFFD}b", "{mode}");
        let event: Value = serde_json::from_str(&client.text().await).unwrap();
        assert!(event["documentKey"]["_id"].is_number() || event["documentKey"]["_id"].is_object());
    }
    for n in 0..3 {
        let text = shell.text().await;
        assert!(!text.contains(|c: char| c.is_control()), "event {n}: {text}");
    }
}

/// An event that is no valid BSON is reported to whoever selects events: whether it is wanted cannot be
/// told. Live, and in a replay.
#[tokio::test]
async fn a_malformed_event_is_reported_to_whoever_selects() {
    let app = started().await;
    let mine =
        doc! { "uri": "mine", "stages": [], "notify_when": { "fullDocument::k": { "$var": "k" } } };
    app.declare("c", vec![all(), mine]).await;
    let mut client = app.sse("c/mine?k=1").await;
    let start = client.last_id.clone();
    // Once it has been brought something it waits for what is brought.
    app.coll("c").insert_one(doc! { "_id": 1, "k": "1" }).await.unwrap();
    client.change().await;
    app.insert_malformed("c", 2).await;
    app.coll("c").insert_one(doc! { "_id": 3, "k": "1" }).await.unwrap();
    let mut back = app.resume("c/mine?k=1", &start).await;
    assert_eq!(back.change().await["documentKey"]["_id"], 1);
    for client in [&mut client, &mut back] {
        let skipped = client.event().await;
        assert!(skipped.is("skipped"), "{skipped:?}");
        assert_eq!(skipped.json()["reason"], "the event is malformed");
        assert_eq!(client.change().await["documentKey"]["_id"], 3);
    }
}

/// Whatever the `_id` is made of, ids of events are 44 safe characters and every frame is well-formed.
#[tokio::test]
async fn any_id_makes_a_short_and_safe_event_id() {
    let app = started().await;
    let mut sse = app.sse("c/all").await;
    let ids: Vec<Bson> = vec![
        "x".repeat(800).into(),
        "a\r\nid: forged\r\n\r\n".into(),
        "\0".into(),
        Bson::Null,
        ObjectId::new().into(),
        doc! { "a": [1], "b": "\n" }.into(),
        bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![0; 300] }.into(),
        i64::MAX.into(),
        f64::NAN.into(),
    ];
    for id in &ids {
        app.coll("c").insert_one(doc! { "_id": id }).await.unwrap();
    }
    for id in &ids {
        let block = sse.event().await;
        assert!(block.is("change"), "{id}: {block:?}");
        let event_id = block.id.unwrap();
        assert_eq!(event_id.len(), 44, "{id}");
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(event_id.chars().all(safe), "{id}: {event_id}");
    }
}

/// MongoDB's token spells the `_id`, whatever its size: the event is a place like any other, in memory and
/// on a replica that has to find it.
#[tokio::test]
async fn a_large_id_is_no_obstacle() {
    let app = started().await;
    let replica = app.replica("").await;
    for size in [9_000, 300_000, 2_000_000] {
        let mut sse = app.sse("c/all").await;
        app.coll("c").insert_one(doc! { "_id": "x".repeat(size) }).await.unwrap();
        let id = sse.event().await.id.unwrap();
        assert_eq!(id.len(), 44, "{size}");
        app.coll("c").insert_one(doc! { "_id": size as i64 }).await.unwrap();
        for app in [&app, &replica] {
            let mut back = app.resume("c/all", &id).await;
            assert_eq!(back.change().await["documentKey"]["_id"], size);
        }
    }
}

/// What a client sends never reaches a frame: an id with line ends is no id, and is not echoed.
#[tokio::test]
async fn a_forged_id_is_never_echoed() {
    let app = started().await;
    for forged in ["a%0Aevent:%20close", "a%0D%0A%0D%0Adata:%20x", "%00", "%E2%80%A8"] {
        let path = app.path(&format!("c/all?lastEventId={forged}&etag=x"));
        let answer = crate::support::http::begin(
            app.address,
            "GET",
            &path,
            &[("accept", "text/event-stream")],
            "",
        );
        let status = answer.await.status().as_u16();
        assert!(status == 200 || status == 400, "{forged}: {status}");
        let path = app.path(&format!("c/all?lastEventId={forged}"));
        let mut sse = Sse::open(app.address, &path, &[]).await;
        let reset = sse.event().await;
        assert!(reset.is("reset"), "{forged}: {reset:?}");
        assert!(!format!("{reset:?}").contains("data: x"), "{reset:?}");
    }
}
