//! Variables of stages: optional stages, defaults, names with dots, and values that nobody can use.

use bson::{Bson, Document, bson, doc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::support::{TestApp, all};

fn stream(uri: &str, stages: Bson) -> Document {
    doc! { "uri": uri, "stages": stages }
}

fn avars(text: &str) -> String {
    format!("avars={}", utf8_percent_encode(text, NON_ALPHANUMERIC))
}

/// Inserts documents with `n` from 1 to 4 and gives the `n` of those that a stream let pass.
async fn passed(app: &TestApp, stream: &str) -> Vec<i64> {
    let mut sse = app.sse(stream).await;
    for n in 1..=4 {
        app.coll("c").insert_one(doc! { "n": n }).await.unwrap();
    }
    let mut passed = Vec::new();
    app.coll("c").insert_one(doc! { "n": 99, "marker": true }).await.unwrap();
    loop {
        match sse.change().await["fullDocument"]["n"].as_i64().unwrap() {
            99 => return passed,
            n => passed.push(n),
        }
    }
}

/// A stage on `n`, through which the marker always passes.
fn n_is(condition: Bson) -> Bson {
    bson!({ "$match": { "$or": [{ "fullDocument.n": condition }, { "fullDocument.marker": true }] } })
}

/// An optional stage without its variable is left out, whatever else is or is not bound; with it, it holds.
#[tokio::test]
async fn optional_stages_come_and_go_with_their_variables() {
    let app = TestApp::start().await;
    let (below, is_two) = (n_is(bson!({ "$lt": { "$var": "max" } })), n_is(bson!(2)));
    let both = bson!({ "$ifvar": [["a", "b"], (is_two.clone())] });
    let streams = vec![
        stream("opt", bson!([{ "$ifvar": ["max", (below.clone())] }])),
        stream(
            "escaped",
            bson!([{ "_$ifvar": ["max", { "_$match": { "_$or": [
            { "fullDocument::n": { "_$lt": { "_$var": "max" } } }, { "fullDocument::marker": true } ] } }] }]),
        ),
        stream("else", bson!([{ "$ifvar": ["max", (below), (is_two.clone())] }])),
        stream("both", bson!([both])),
        stream("always", bson!([{ "$ifvar": [[], (is_two)] }])),
    ];
    app.declare("c", streams).await;
    let everything = vec![1, 2, 3, 4];
    let null = avars(r#"{"max":null}"#);
    let rows = [
        ("opt".to_owned(), everything.clone()),
        (format!("opt?{}", avars("{}")), everything.clone()),
        ("opt?other=1".to_owned(), everything.clone()),
        ("opt?MAX=1".to_owned(), everything.clone()),
        (format!("opt?{}", avars("{max: 3}")), vec![1, 2]),
        (format!("escaped?{}", avars("{max: 3}")), vec![1, 2]),
        // Null is a value: the stage is there, and nothing is below null.
        (format!("opt?{null}"), vec![]),
        // A plain value is a string, which no number is below.
        ("opt?max=3".to_owned(), vec![]),
        ("else".to_owned(), vec![2]),
        (format!("else?{}", avars("{max: 3}")), vec![1, 2]),
        ("both?a=1".to_owned(), everything),
        ("both?a=1&b=1".to_owned(), vec![2]),
        ("always".to_owned(), vec![2]),
    ];
    for (query, expected) in rows {
        assert_eq!(passed(&app, &format!("c/{query}")).await, expected, "{query}");
    }
}

/// Defaults and dotted names bind as in RESTHeart: the whole name first, then the path.
#[tokio::test]
async fn defaults_and_dotted_names() {
    let app = TestApp::start().await;
    let dotted = n_is(bson!({ "$eq": { "$var": ["options.n", 2] } }));
    let required = n_is(bson!({ "$in": [{ "$var": "l[0]" }, { "$var": "['o'].x" }] }));
    let whole = bson!([{ "$match": { "$var": ["filter.doc", { "fullDocument.marker": true }] } }]);
    let streams =
        vec![stream("d", bson!([dotted])), stream("r", bson!([required])), stream("w", whole)];
    app.declare("c", streams).await;
    for (query, expected) in [
        ("d".to_owned(), vec![2]),
        (format!("d?{}", avars("{options: {n: 3}}")), vec![3]),
        (format!("d?{}", avars("{'options.n': 4}")), vec![4]),
        (format!("d?{}", avars("{'options.n': 4, options: {n: 3}}")), vec![4]),
        (format!("d?{}", avars("{options: {m: 3}}")), vec![2]),
        (format!("r?{}", avars("{l: [1, 9], o: {x: 4}}")), vec![1, 4]),
        ("w".to_owned(), vec![]),
        (format!("w?{}", avars("{filter: {doc: {'fullDocument.nope': 1}}}")), vec![]),
    ] {
        if query.starts_with("w?") {
            // The marker does not pass this one: that it opens is all there is to see.
            app.sse(&format!("c/{query}")).await;
            continue;
        }
        assert_eq!(passed(&app, &format!("c/{query}")).await, expected, "{query}");
    }
    for (query, name) in [("r", "l[0]"), ("r?l=x", "l[0]")] {
        let answer = app.refused(&format!("c/{query}")).await;
        assert_eq!((answer.status, answer.message()), (400, format!("variable {name} not bound")));
    }
}

/// Paging is predefined, as RESTHeart has it, and its parameters are checked.
#[tokio::test]
async fn paging_is_predefined() {
    let app = TestApp::start().await;
    let stages = bson!([{ "$set": { "p": [
        { "$var": "@page" }, { "$var": "@pagesize" }, { "$var": "@limit" }, { "$var": "@skip" },
        { "$var": ["@user", "nobody"] }] } }]);
    app.declare("c", vec![stream("s", stages)]).await;
    for (query, expected) in [("", [1, 100, 100, 0]), ("?page=3&pagesize=10", [3, 10, 10, 20])] {
        let mut sse = app.sse(&format!("c/s{query}")).await;
        app.coll("c").insert_one(doc! {}).await.unwrap();
        let event = sse.change().await;
        let numbers: Vec<_> = event["p"].as_array().unwrap()[..4].to_vec();
        assert_eq!(numbers, expected);
        assert!(event["p"][4].is_null(), "anonymous callers have a null user");
    }
    for (query, message) in [
        ("page=0", "illegal page parameter, it is < 1"),
        ("page=x", "illegal page parameter, it is not a number"),
        ("page=99999999999", "illegal page parameter, it is not a number"),
        ("pagesize=-1", "illegal pagesize parameter, it is < 0"),
        ("pagesize=", "illegal pagesize parameter, it is not a number"),
    ] {
        let answer = app.refused(&format!("c/s?{query}")).await;
        assert_eq!((answer.status, answer.message().as_str()), (400, message));
    }
}

/// `avars` that are no object, too deep, too large or given twice are refused, and the service goes on.
#[tokio::test]
async fn unusable_avars_are_refused() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let wide = format!("{{a:[{}1]}}", "1,".repeat(5000));
    let long = format!("{{a:'{}'}}", "x".repeat(20_000));
    for text in [
        "{",
        "}",
        "",
        " ",
        "[1]",
        "1",
        "null",
        "\"x\"",
        "{a:}",
        "{a 1}",
        "{\"a\":1}}",
        "{a:1,}x",
        r#"{"$oid":"5f9d88b9a9f8e8b0c0a1b2c3"}"#,
        "{a:NumberLong(\"x\")}",
        "{a:{$oid:1}}",
        "\u{0}",
        "{a:'\u{1F600}}",
        &deep,
        &format!("{{a:{deep}}}"),
        &wide,
    ] {
        let answer = app.refused(&format!("c/all?{}", avars(text))).await;
        assert_eq!(answer.status, 400, "{text:.80}");
        assert!(!answer.message().is_empty() && answer.body.len() < 1000, "{text:.80}");
    }
    app.sse(&format!("c/all?{}", avars(&long))).await;
    for query in ["avars=%7B%7D&avars=%7B%7D", "tid=a&tid=b", "tid=a&tid=a", "a&a=", "%61=1&a=2"] {
        let answer = app.refused(&format!("c/all?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.message().starts_with("duplicate parameter"), "{}", answer.message());
    }
}

/// A stage with a value that MongoDB refuses is the client's fault, said before the head; another client's
/// stream is not touched.
#[tokio::test]
async fn a_value_that_mongodb_refuses_is_answered_with_its_reason() {
    let app = TestApp::start().await;
    let size = bson!([{ "$match": { "fullDocument.list": { "$size": { "$var": "n" } } } }]);
    app.declare("c", vec![stream("s", size)]).await;
    let mut healthy = app.sse(&format!("c/s?{}", avars("{n: 2}"))).await;
    for value in ["{n: 'x'}", "{n: -1}", "{n: 1.5}", "{n: [1]}", "{n: null}"] {
        let answer = app.refused(&format!("c/s?{}", avars(value))).await;
        assert_eq!(answer.status, 400, "{value}: {}", answer.body);
        assert!(answer.message().len() > 20, "{}", answer.message());
    }
    app.coll("c").insert_one(doc! { "_id": 1, "list": [1, 2] }).await.unwrap();
    assert_eq!(healthy.change().await["documentKey"]["_id"], 1);
}
