//! Every operator of MongoDB's query language: decided in process, by a cursor of its own with the same result,
//! or refused. None is left to chance.

use std::collections::BTreeSet;

use bson::{Bson, Document, bson, doc};
use serde_json::Value;

use super::{
    deployment::{Deployment, Way, ask, permission},
    tokens::bearer_of,
};
use crate::support::{TestApp, client::key, sse::Sse, websocket::Socket};

/// Where an operator is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    InProcess,
    OwnCursor,
    Refused,
}

use Place::{InProcess, OwnCursor, Refused};

/// An operator; a filter that uses it; where it is decided in a `readFilter`, and in a stage that follows one
/// with a client's variable.
type Row = (&'static str, Document, Place, Place);

fn row(operator: &'static str, filter: Document, read_filter: Place, stage: Place) -> Row {
    (operator, filter, read_filter, stage)
}

fn both(operator: &'static str, filter: Document, place: Place) -> Row {
    row(operator, filter, place, place)
}

fn regex(pattern: &str, options: &str) -> Bson {
    let text = |text: &str| text.to_owned().try_into().unwrap();
    Bson::RegularExpression(bson::Regex { pattern: text(pattern), options: text(options) })
}

fn rows() -> Vec<Row> {
    let circle = doc! { "$geometry": { "type": "Polygon", "coordinates": [[[0, 0], [0, 5], [5, 5], [5, 0], [0, 0]]] } };
    vec![
        both("equality", doc! { "n": 1 }, InProcess),
        both("$eq", doc! { "n": { "$eq": 2 } }, InProcess),
        both("$ne", doc! { "n": { "$ne": 2 } }, InProcess),
        both("$gt", doc! { "n": { "$gt": 2 } }, InProcess),
        both("$gte", doc! { "n": { "$gte": 2 } }, InProcess),
        both("$lt", doc! { "n": { "$lt": 2 } }, InProcess),
        both("$lte", doc! { "n": { "$lte": 2 } }, InProcess),
        both("$in", doc! { "s": { "$in": ["apple", "Fig"] } }, InProcess),
        both("$in", doc! { "s": { "$in": [(regex("^a", "i"))] } }, OwnCursor),
        both("$nin", doc! { "s": { "$nin": ["apple"] } }, InProcess),
        both("$and", doc! { "$and": [{ "n": { "$gt": 1 } }, { "s": "Fig" }] }, InProcess),
        both("$or", doc! { "$or": [{ "n": 1 }, { "s": "Fig" }] }, InProcess),
        both("$nor", doc! { "$nor": [{ "n": 1 }, { "s": "Fig" }] }, InProcess),
        both("$nor", doc! { "$nor": [{ "n": { "$bitsAllSet": 1 } }, { "s": "Fig" }] }, OwnCursor),
        both("$not", doc! { "n": { "$not": { "$gt": 2 } } }, InProcess),
        both("$not", doc! { "s": { "$not": (regex("^a", "")) } }, InProcess),
        both("$exists", doc! { "s": { "$exists": false } }, InProcess),
        both("$exists", doc! { "s": { "$exists": "yes" } }, OwnCursor),
        both("$type", doc! { "n": { "$type": "number" } }, InProcess),
        both("$type", doc! { "s": { "$type": ["string", 1] } }, InProcess),
        both("$mod", doc! { "n": { "$mod": [2, 1] } }, InProcess),
        both("$mod", doc! { "n": { "$mod": [2.5, 1] } }, OwnCursor),
        both("$regex", doc! { "s": { "$regex": "pp" } }, InProcess),
        both("$regex", doc! { "s": (regex("^app", "")) }, InProcess),
        both("$regex", doc! { "s": { "$regex": "p+l" } }, OwnCursor),
        both("$options", doc! { "s": { "$regex": "^A", "$options": "i" } }, OwnCursor),
        both("$size", doc! { "l": { "$size": 2 } }, InProcess),
        both("$all", doc! { "l": { "$all": [1, 2] } }, InProcess),
        both("$elemMatch", doc! { "l": { "$elemMatch": { "$gt": 1, "$lt": 3 } } }, InProcess),
        both(
            "$elemMatch",
            doc! { "d": { "$elemMatch": { "x": 1, "$or": [{ "y": 2 }] } } },
            InProcess,
        ),
        both("$bitsAllSet", doc! { "n": { "$bitsAllSet": 1 } }, OwnCursor),
        both("$bitsAllClear", doc! { "n": { "$bitsAllClear": 1 } }, OwnCursor),
        both("$bitsAnySet", doc! { "n": { "$bitsAnySet": 3 } }, OwnCursor),
        both("$bitsAnyClear", doc! { "n": { "$bitsAnyClear": [0, 1] } }, OwnCursor),
        both("$geoWithin", doc! { "at": { "$geoWithin": (circle.clone()) } }, OwnCursor),
        both("$box", doc! { "at": { "$geoWithin": { "$box": [[0, 0], [5, 5]] } } }, OwnCursor),
        both("$center", doc! { "at": { "$geoWithin": { "$center": [[0, 0], 5] } } }, OwnCursor),
        both(
            "$centerSphere",
            doc! { "at": { "$geoWithin": { "$centerSphere": [[0, 0], 1] } } },
            OwnCursor,
        ),
        both(
            "$polygon",
            doc! { "at": { "$geoWithin": { "$polygon": [[0, 0], [0, 5], [5, 5]] } } },
            OwnCursor,
        ),
        both("$geoIntersects", doc! { "at": { "$geoIntersects": circle } }, OwnCursor),
        both("$near", doc! { "at": { "$near": [0, 0] } }, Refused),
        both("$nearSphere", doc! { "at": { "$nearSphere": [0, 0] } }, Refused),
        both(
            "$maxDistance",
            doc! { "at": { "$geoWithin": { "$box": [[0, 0], [5, 5]] }, "$maxDistance": 1 } },
            Refused,
        ),
        both("$minDistance", doc! { "at": { "$minDistance": 1 } }, Refused),
        both("$within", doc! { "at": { "$within": { "$box": [[0, 0], [5, 5]] } } }, Refused),
        both("$uniqueDocs", doc! { "at": { "$uniqueDocs": true } }, Refused),
        both("$comment", doc! { "n": 1, "$comment": "why" }, InProcess),
        row("$expr", doc! { "$expr": { "$gt": ["$fullDocument.n", 1] } }, Refused, OwnCursor),
        row(
            "$jsonSchema",
            doc! { "$jsonSchema": { "properties": { "fullDocument": { "properties": { "n": { "minimum": 2 } } } } } },
            Refused,
            OwnCursor,
        ),
        both("$where", doc! { "$where": "this.n > 1" }, Refused),
        both("$text", doc! { "$text": { "$search": "apple" } }, Refused),
        both("$rand", doc! { "$expr": { "$lt": [{ "$rand": {} }, 1] } }, Refused),
        both("$sampleRate", doc! { "$sampleRate": 1.0 }, Refused),
        both("$alwaysTrue", doc! { "$alwaysTrue": 1 }, Refused),
        both("$alwaysFalse", doc! { "$alwaysFalse": 1 }, Refused),
        both("$natural", doc! { "$natural": 1 }, Refused),
        both(
            "$function",
            doc! { "$expr": { "$function": { "body": "", "args": [], "lang": "js" } } },
            Refused,
        ),
        both("unknown", doc! { "n": { "$nonsense": 1 } }, Refused),
        both("unknown", doc! { "$nonsense": 1 }, Refused),
        row("$ref", doc! { "r": { "$ref": "c", "$id": 1 } }, OwnCursor, OwnCursor),
    ]
}

/// The operators that MongoDB's manual lists for queries, with those it keeps for older programs.
const MANUAL: &[&str] = &[
    "$eq",
    "$gt",
    "$gte",
    "$in",
    "$lt",
    "$lte",
    "$ne",
    "$nin",
    "$and",
    "$not",
    "$nor",
    "$or",
    "$exists",
    "$type",
    "$expr",
    "$jsonSchema",
    "$mod",
    "$regex",
    "$options",
    "$text",
    "$where",
    "$geoIntersects",
    "$geoWithin",
    "$near",
    "$nearSphere",
    "$box",
    "$center",
    "$centerSphere",
    "$maxDistance",
    "$minDistance",
    "$polygon",
    "$uniqueDocs",
    "$within",
    "$all",
    "$elemMatch",
    "$size",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$comment",
    "$rand",
    "$natural",
    "$sampleRate",
    "$alwaysTrue",
    "$alwaysFalse",
    "$ref",
];

fn documents() -> Vec<Document> {
    let point = |x: f64, y: f64| doc! { "type": "Point", "coordinates": [x, y] };
    vec![
        doc! { "_id": 1, "n": 1, "s": "apple", "l": [1, 2], "at": point(1.0, 1.0), "d": [{ "x": 1, "y": 2 }] },
        doc! { "_id": 2, "n": 2, "s": "Apple", "l": [2], "at": [2.0, 3.0], "d": [{ "x": 1 }, { "y": 2 }] },
        doc! { "_id": 3, "n": 3.5, "s": "Fig", "l": [[1, 2]], "at": point(90.0, 80.0) },
        doc! { "_id": 4, "s": 7, "l": [], "r": { "$ref": "c", "$id": 1 } },
        doc! { "_id": 5, "n": 4_i64, "l": 2, "s": ["apple", "x"] },
        doc! { "_id": 6, "n": "2" },
        doc! { "_id": 9, "end": true },
    ]
}

/// The filter of a document as one of its event.
fn prefixed(filter: &Document) -> Document {
    filter
        .iter()
        .map(|(key, value)| match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(filters)) => {
                let filters = filters.iter().map(|it| prefixed(it.as_document().unwrap()));
                (key.clone(), Bson::Array(filters.map(Bson::Document).collect()))
            }
            (operator, value) if operator.starts_with('$') => (key.clone(), value.clone()),
            (field, value) => (format!("fullDocument.{field}"), value.clone()),
        })
        .collect()
}

/// The filter of an event as one of its document.
fn bare(filter: &Document) -> Document {
    match filter.get_document("$jsonSchema") {
        Ok(_) => doc! { "$jsonSchema": { "properties": { "n": { "minimum": 2 } } } },
        Err(_) => {
            let text = Bson::Document(filter.clone()).into_canonical_extjson().to_string();
            let value: Value = serde_json::from_str(&text.replace("$fullDocument.", "$")).unwrap();
            Document::try_from(value.as_object().unwrap().clone()).unwrap()
        }
    }
}

fn or_end(filter: &Document, end: &str) -> Document {
    // A comment stands at the top.
    let (mut filter, mut or_end) = (filter.clone(), Document::new());
    let comment = filter.remove("$comment");
    or_end.insert("$or", vec![filter, doc! { end: true }]);
    or_end.extend(comment.map(|comment| ("$comment".to_owned(), comment)));
    or_end
}

/// Where a stream is decided for a caller: as it is explained, and as it opens.
async fn place(app: &TestApp, coll: &str, stream: &str, headers: &[(&str, &str)]) -> Place {
    let path = app.path(&format!("{coll}/{stream}"));
    let asked = path.replace('?', "%3F");
    let plan = app.with("GET", &format!("/_/explain?path={asked}"), headers).await;
    if plan.status == 200 {
        let shared = plan.json()["cursor"]["shared"].as_bool().unwrap();
        return if shared { InProcess } else { OwnCursor };
    }
    for way in Way::STREAMS {
        let answer = ask(app, way, &path, headers).await;
        assert_eq!(answer.status, 403, "{stream} {way:?}: {}", answer.body);
    }
    Refused
}

/// The documents that a stream lets through, on either transport.
async fn streamed(app: &TestApp, coll: &str, stream: &str, headers: &[(&str, &str)]) -> Vec<i64> {
    let path = app.path(&format!("{coll}/{stream}"));
    let mut sse = Sse::open(app.address, &path, headers).await;
    let mut socket = Socket::with(app.address, &path, headers).await;
    let owned = app.coll(coll);
    owned.delete_many(doc! {}).await.unwrap();
    owned.insert_many(documents()).await.unwrap();
    let mut ids = Vec::new();
    while ids.last() != Some(&9) {
        let event = sse.change().await;
        assert_eq!(socket.json().await["documentKey"], event["documentKey"]);
        ids.push(key(&event));
    }
    ids
}

/// What MongoDB finds.
async fn found(app: &TestApp, coll: &str, filter: Document) -> Vec<i64> {
    let mut found = app.coll(coll).find(filter.clone()).sort(doc! { "_id": 1 }).await;
    let found = found.as_mut().unwrap_or_else(|error| panic!("{filter}: {error}"));
    let mut ids = Vec::new();
    while found.advance().await.unwrap() {
        ids.push(found.deserialize_current().unwrap().get_i32("_id").unwrap().into());
    }
    ids
}

/// In a permission each operator is decided in process, or by a cursor of its own with the same result as the
/// read, or refused.
#[tokio::test]
async fn every_operator_in_a_permission() {
    let rows = rows();
    let permissions = rows.iter().enumerate().map(|(number, (_, filter, ..))| {
        let filter = or_end(filter, "end");
        permission(&number.to_string(), "path-prefix('/')", doc! { "readFilter": filter })
    });
    let app = Deployment::new().await.permissions(permissions).await.start().await;
    for (number, (operator, filter, expected, _)) in rows.iter().enumerate() {
        let bearer = bearer_of("ann", &[&number.to_string()]);
        let headers = [("authorization", bearer.as_str())];
        assert_eq!(place(&app, "c", "all", &headers).await, *expected, "{operator} {filter}");
        if *expected != Refused {
            let streamed = streamed(&app, "c", "all", &headers).await;
            assert_eq!(
                streamed,
                found(&app, "c", or_end(filter, "end")).await,
                "{operator} {filter}"
            );
        }
    }
}

/// So it is in a stage that follows one with a client's variable.
#[tokio::test]
async fn every_operator_in_a_stage() {
    let rows = rows();
    let app = Deployment::new().await.start().await;
    let root = bearer_of("root", &["admin"]);
    let headers = [("authorization", root.as_str())];
    let streams = rows.iter().enumerate().map(|(number, (_, filter, ..))| {
        let bound = doc! { "$match": { "operationType": { "$var": "op" } } };
        let filter = doc! { "$match": or_end(&prefixed(filter), "fullDocument.end") };
        doc! { "uri": number.to_string(), "stages": [bound, filter] }
    });
    app.declare("c", streams.collect()).await;
    for (number, (operator, filter, _, expected)) in rows.iter().enumerate() {
        let stream = format!("{number}?op=insert");
        assert_eq!(place(&app, "c", &stream, &headers).await, *expected, "{operator} {filter}");
        if *expected != Refused {
            let streamed = streamed(&app, "c", &stream, &headers).await;
            assert_eq!(
                streamed,
                found(&app, "c", or_end(&bare(filter), "end")).await,
                "{operator} {filter}"
            );
        }
    }
    let collation =
        bson!({ "uri": "c", "stages": [], "collation": { "locale": "en", "strength": 2 } });
    app.declare("c", vec![collation.as_document().unwrap().clone()]).await;
    assert_eq!(app.with("GET", &app.path("c/c"), &headers).await.status, 422, "collation");
}

/// The table lists every operator there is.
#[test]
fn the_table_lists_every_operator() {
    let listed: BTreeSet<_> = rows().iter().map(|(operator, ..)| *operator).collect();
    let missing: Vec<_> = MANUAL.iter().filter(|operator| !listed.contains(*operator)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
