//! `notify_when` on random values of every type, held against what MongoDB's own `$match` says.

use std::collections::BTreeSet;

use bson::{
    Binary, Bson, DateTime, Decimal128, Document, Timestamp, doc, oid::ObjectId,
    spec::BinarySubtype,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{TestApp, sse::Sse};

/// Documents, and so possible values, of one run.
const DOCUMENTS: i32 = 150;

/// Clients, each with a value of its own.
const CLIENTS: usize = 60;

/// Sent after everything else, to every client.
const MARKER: i32 = 1_000_000;

fn seed() -> u64 {
    std::env::var("TAILWATER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(rand::random)
}

/// Few enough distinct values that they meet, in all the types that can be equal across types, and all others.
fn scalar(random: &mut StdRng) -> Bson {
    let small: i32 = random.random_range(-2..5);
    let words =
        ["42", "a", "", "true", "null", "5f9d88b9a9f8e8b0c0a1b2c3", "1.5", "$x", "\u{1F600}"];
    match random.random_range(0..18) {
        0 => Bson::Int32(small),
        1 => Bson::Int64(small.into()),
        2 => Bson::Double(small.into()),
        3 => Bson::Double(f64::from(small) + 0.5),
        4 => Bson::Decimal128(format!("{small}").parse::<Decimal128>().unwrap()),
        5 => Bson::Decimal128(format!("{small}.50").parse::<Decimal128>().unwrap()),
        6 => Bson::Int64(i64::MAX - i64::from(small.unsigned_abs())),
        7 => Bson::Double(f64::NAN),
        8 => Bson::Double(if small > 0 { f64::INFINITY } else { -0.0 }),
        9 => Bson::Boolean(small > 0),
        10 => Bson::Null,
        11 => Bson::DateTime(DateTime::from_millis(i64::from(small) * 1000)),
        12 => Bson::ObjectId(ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap()),
        13 => {
            let subtype = if small > 0 { BinarySubtype::Generic } else { BinarySubtype::Uuid };
            Bson::Binary(Binary { subtype, bytes: vec![7; 16] })
        }
        14 => Bson::Timestamp(Timestamp { time: 1, increment: small.unsigned_abs() }),
        _ => Bson::String(words[random.random_range(0..words.len())].to_owned()),
    }
}

fn value(random: &mut StdRng, depth: u8) -> Bson {
    match random.random_range(0..10) {
        0 | 1 if depth > 0 => {
            let items = random.random_range(0..3);
            Bson::Array((0..items).map(|_| value(random, depth - 1)).collect())
        }
        2 | 3 if depth > 0 => {
            let mut document = Document::new();
            for key in ["v", "w"].into_iter().take(random.random_range(0..3)) {
                document.insert(key, value(random, depth - 1));
            }
            Bson::Document(document)
        }
        _ => scalar(random),
    }
}

fn documents(random: &mut StdRng) -> Vec<Document> {
    let document = |id| match random.random_range(0..12) {
        0 => doc! { "_id": id },
        _ => doc! { "_id": id, "v": value(random, 2) },
    };
    (0..DOCUMENTS).map(document).collect()
}

/// What `avars` can carry: canonical Extended JSON of a value.
fn typed(value: &Bson) -> String {
    let json = Bson::Document(doc! { "t": value.clone() }).into_canonical_extjson().to_string();
    format!("avars={}", utf8_percent_encode(&json, NON_ALPHANUMERIC))
}

/// The rule for plain text, written down once more: the string itself, and what it spells.
fn spelled(text: &str) -> Vec<Bson> {
    let mut values = vec![Bson::from(text)];
    match text {
        "42" | "0" | "-1" | "3" => values.push(Bson::Int64(text.parse().unwrap())),
        "1.5" => {
            values.extend([Bson::Double(1.5), Bson::Decimal128("1.5".parse().unwrap())]);
        }
        "true" | "false" => values.push(Bson::Boolean(text == "true")),
        "5f9d88b9a9f8e8b0c0a1b2c3" => {
            values.push(Bson::ObjectId(ObjectId::parse_str(text).unwrap()));
        }
        "07070707-0707-0707-0707-070707070707" => {
            values.push(Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: vec![7; 16] }));
        }
        "1970-01-01T00:00:02Z" => values.push(Bson::DateTime(DateTime::from_millis(2000))),
        _ => {}
    }
    values
}

async fn heard(client: &mut Sse) -> BTreeSet<i64> {
    let mut ids = BTreeSet::new();
    loop {
        let id = client.change().await["documentKey"]["_id"].as_i64().unwrap();
        if id == i64::from(MARKER) {
            return ids;
        }
        assert!(ids.insert(id), "{id} twice");
    }
}

/// What MongoDB selects of the same documents.
async fn matched(app: &TestApp, values: &[Bson]) -> BTreeSet<i64> {
    let filter = doc! { "v": { "$in": values.to_vec() }, "_id": { "$lt": MARKER } };
    let mut found = app.coll("c").find(filter).await.unwrap();
    let mut ids = BTreeSet::new();
    while found.advance().await.unwrap() {
        ids.insert(found.current().get_i32("_id").unwrap().into());
    }
    ids
}

/// The marker holds every value that a client bound.
async fn mark(app: &TestApp, bound: Vec<Bson>) {
    app.coll("c").insert_one(doc! { "_id": MARKER, "v": bound }).await.unwrap();
}

/// A value bound through `avars`, of whatever type, is delivered exactly what `$match` selects.
#[tokio::test]
async fn typed_values_equal_as_mongodb_says() {
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let app = app().await;
    let documents = documents(&mut random);
    let mut clients = Vec::new();
    while clients.len() < CLIENTS {
        // Arrays of documents and such are values too; null is too, and equals what is absent.
        let bound = value(&mut random, 1);
        clients.push((bound.clone(), app.sse(&format!("c/by?{}", typed(&bound))).await));
    }
    app.coll("c").insert_many(&documents).await.unwrap();
    mark(&app, clients.iter().map(|(bound, _)| bound.clone()).collect()).await;
    for (bound, client) in &mut clients {
        let expected = matched(&app, std::slice::from_ref(bound)).await;
        assert_eq!(heard(client).await, expected, "TAILWATER_SEED={seed} {bound:?}");
    }
    app.has_cursors("c", 1).await;
}

/// A plain parameter is delivered what `$match` selects for the string and for what it spells.
#[tokio::test]
async fn plain_texts_equal_what_they_spell() {
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let app = app().await;
    let texts = [
        "42",
        "0",
        "-1",
        "3",
        "1.5",
        "true",
        "false",
        "null",
        "a",
        "",
        "$x",
        "\u{1F600}",
        " 42",
        "+1",
        "042",
        "NaN",
        "5f9d88b9a9f8e8b0c0a1b2c3",
        "07070707-0707-0707-0707-070707070707",
        "1970-01-01T00:00:02Z",
        "1970-01-01",
    ];
    let mut clients = Vec::new();
    for text in texts {
        let query = utf8_percent_encode(text, NON_ALPHANUMERIC);
        clients.push((text, app.sse(&format!("c/by?t={query}")).await));
    }
    app.coll("c").insert_many(documents(&mut random)).await.unwrap();
    mark(&app, texts.iter().map(|text| Bson::from(*text)).collect()).await;
    for (text, client) in &mut clients {
        let expected = matched(&app, &spelled(text)).await;
        assert_eq!(heard(client).await, expected, "TAILWATER_SEED={seed} {text:?}");
    }
}

async fn app() -> TestApp {
    let app = TestApp::start().await;
    let notify_when = doc! { "fullDocument::v": { "$var": "t" } };
    app.declare("c", vec![doc! { "uri": "by", "stages": [], "notify_when": notify_when }]).await;
    app
}
