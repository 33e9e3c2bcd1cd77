//! Several streams as server-sent events on one connection.

use bson::{Document, doc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::{TestApp, all, client::key, eventually, http, sse::Sse};

fn by_kind() -> Document {
    doc! { "uri": "kind", "stages": [], "notify_when": { "fullDocument::kind": { "$var": "k" } } }
}

/// Collections `a` and `b`, with a stream of everything and one by kind.
pub(crate) async fn started(streams: &str) -> TestApp {
    let app = TestApp::with_streams(streams).await;
    for coll in ["a", "b"] {
        app.declare(coll, vec![all(), by_kind()]).await;
    }
    app
}

/// The path that opens streams, each `coll/uri?query`.
fn path(app: &TestApp, streams: &[&str]) -> String {
    let stream = |stream: &&str| {
        let path = app.path(stream);
        format!("stream={}", utf8_percent_encode(&path, NON_ALPHANUMERIC))
    };
    format!("/_/sse?{}", streams.iter().map(stream).collect::<Vec<_>>().join("&"))
}

/// Opens streams and reads the `ready` of each.
async fn open(app: &TestApp, streams: &[&str], headers: &[(&str, &str)]) -> Sse {
    let mut sse = Sse::begin(app.address, &path(app, streams), headers).await;
    for _ in streams {
        let ready = sse.event().await;
        assert!(ready.is("ready"), "{ready:?}");
    }
    sse
}

async fn insert(app: &TestApp, coll: &str, n: i64) {
    app.coll(coll)
        .insert_one(doc! { "_id": n, "kind": if n % 2 == 0 { "even" } else { "odd" } })
        .await
        .unwrap();
}

/// The next change: the stream that it is of, and the document's `_id`.
async fn change(sse: &mut Sse, app: &TestApp) -> (String, i64) {
    let block = sse.event().await;
    assert!(block.is("change"), "{block:?}");
    let data = block.json();
    let prefix = format!("/{}/", app.db.name());
    let stream = data["stream"].as_str().unwrap().strip_prefix(&prefix).unwrap();
    (stream.replace("_streams/", ""), key(&data["data"]))
}

async fn refused(app: &TestApp, path: &str) -> http::Answer {
    app.with("GET", path, &[("accept", "text/event-stream")]).await
}

/// Each event says of which stream it is, with that stream's own position; the id of the connection
/// joins one position of each.
#[tokio::test]
async fn each_event_names_its_stream() {
    let app = started("heartbeat: off").await;
    let streams = ["a/all", "b/kind?k=even"];
    let mut sse = Sse::begin(app.address, &path(&app, &streams), &[]).await;
    assert_eq!(sse.headers["content-type"], "text/event-stream");
    let mut ready = [sse.event().await, sse.event().await];
    assert!(ready[0].retry.is_some() && ready[1].retry.is_none());
    ready.sort_by_key(|block| block.json()["stream"].to_string());
    for (block, stream) in ready.iter().zip(streams) {
        let data = block.json();
        assert!(block.is("ready"));
        assert_eq!((&data["stream"], &data["id"]), (&json!(app.path(stream)), &data["data"]["id"]));
        assert_eq!(data["data"]["heartbeat"], 0);
        // Positions of 44 characters, a separator between them, and the mark.
        assert_eq!(block.id.as_ref().unwrap().len(), 44 * 2 + 1 + 3);
    }
    insert(&app, "a", 1).await;
    insert(&app, "b", 1).await;
    insert(&app, "b", 2).await;
    let mut seen = [change(&mut sse, &app).await, change(&mut sse, &app).await];
    seen.sort();
    assert_eq!(seen, [("a/all".to_owned(), 1), ("b/kind?k=even".to_owned(), 2)]);
}

/// An id taken anywhere resumes all streams: nothing is missed, nothing repeated, each in order.
#[tokio::test]
async fn one_id_resumes_all_of_them() {
    let app = started("heartbeat: 50ms").await;
    let streams = ["a/all", "b/all", "b/kind?k=even"];
    let mut sse = open(&app, &streams, &[]).await;
    let mut seen: [Vec<i64>; 3] = Default::default();
    let mut count = 0;
    for round in 0..20 {
        for n in round * 2..round * 2 + 2 {
            insert(&app, "a", n).await;
            insert(&app, "b", n).await;
        }
        // Leaves somewhere among what was written, in whatever order the streams are named.
        while count < round * 5 {
            let (stream, n) = change(&mut sse, &app).await;
            seen[streams.iter().position(|known| *known == stream).unwrap()].push(n);
            count += 1;
        }
        let id = sse.last_id.clone();
        let named = if round % 2 == 0 { streams } else { [streams[2], streams[0], streams[1]] };
        sse = open(&app, &named, &[("last-event-id", &id)]).await;
    }
    while count < 100 {
        let (stream, n) = change(&mut sse, &app).await;
        seen[streams.iter().position(|known| *known == stream).unwrap()].push(n);
        count += 1;
    }
    let numbers: Vec<i64> = (0..40).collect();
    let even: Vec<i64> = (0..20).map(|n| n * 2).collect();
    assert_eq!(seen, [numbers.clone(), numbers, even]);
}

/// An id of other streams is answered with a reset of each stream, and they go on live.
#[tokio::test]
async fn an_id_of_other_streams_is_a_reset_of_each() {
    let app = started("heartbeat: off").await;
    let other = open(&app, &["b/all", "b/kind?k=even"], &[]).await.last_id;
    for id in [other.as_str(), "0"] {
        let path = path(&app, &["a/all", "b/all"]);
        let mut sse = Sse::begin(app.address, &path, &[("last-event-id", id)]).await;
        let mut events = Vec::new();
        while events.len() < 4 {
            events.push(sse.event().await);
        }
        let of = |name: &str| events.iter().filter(|block| block.is(name)).count();
        assert_eq!((of("ready"), of("reset")), (2, 2), "{events:?}");
        let reset = events.iter().find(|block| block.is("reset")).unwrap().json();
        assert_eq!(reset["data"]["reason"], "unknown_id");
        let n = if id == "0" { 2 } else { 1 };
        insert(&app, "a", n).await;
        assert_eq!(change(&mut sse, &app).await, ("a/all".to_owned(), n));
    }
}

/// A heartbeat is one for the connection and joins all positions, which move on though nothing comes.
#[tokio::test]
async fn a_heartbeat_joins_all_positions() {
    let app = started("heartbeat: 50ms").await;
    let mut sse = open(&app, &["a/kind?k=never", "b/all"], &[]).await;
    let first = sse.last_id.clone();
    insert(&app, "a", 1).await;
    let beat = loop {
        let block = sse.block().await;
        assert!(block.event.is_none(), "{block:?}");
        assert_eq!(block.comments, ["heartbeat"]);
        if block.id.as_ref() != Some(&first) {
            break block;
        }
    };
    assert_eq!(beat.id.unwrap().len(), first.len());
    let named = format!("{}&heartbeat=named", path(&app, &["a/all"]));
    let mut named = Sse::begin(app.address, &named, &[]).await;
    let beat = named.until("heartbeat").await;
    assert_eq!(beat.json()["id"], beat.id.unwrap());
}

/// A stream that ends says so with its own code, and the others go on.
#[tokio::test]
async fn a_stream_that_ends_leaves_the_others_alone() {
    let app = started("heartbeat: off").await;
    let mut sse = open(&app, &["a/all", "b/all", "b/kind?k=even"], &[]).await;
    let close = async |sse: &mut Sse| {
        let close = sse.until("close").await.json();
        let stream = close["stream"].as_str().unwrap().to_owned();
        (stream, close["data"]["code"].clone(), close["data"]["reconnect"].clone())
    };
    app.declare("b", vec![all()]).await;
    assert_eq!(close(&mut sse).await, (app.path("b/kind?k=even"), json!(4404), json!(false)));
    let redefined = doc! { "uri": "all", "stages": [{ "$match": { "operationType": "insert" } }] };
    app.declare("b", vec![redefined]).await;
    assert_eq!(close(&mut sse).await, (app.path("b/all"), json!(4409), json!(true)));
    insert(&app, "b", 1).await;
    insert(&app, "a", 2).await;
    assert_eq!(change(&mut sse, &app).await, ("a/all".to_owned(), 2));
    // With its last stream the response ends, in good order.
    app.declare("a", vec![]).await;
    let rest = sse.rest().await;
    assert_eq!(rest.last().map(|block| block.json()["data"]["code"].clone()), Some(json!(4404)));
}

/// A stream that is written faster than its client reads is told so by itself, and is not lost: the
/// others go on, and the id brings back what it missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_too_fast_ends_alone() {
    let app =
        started("heartbeat: off\nhistory: { events: 200, bytes: 1GiB }\nwrite_timeout: 5m").await;
    let streams = ["a/all", "b/all"];
    let mut sse = open(&app, &streams, &[]).await;
    // Not read: far more than the buffers of the connection hold.
    for first in (0..4000_i64).step_by(500) {
        let documents = (first..first + 500).map(|n| doc! { "_id": n, "text": "x".repeat(10_000) });
        app.coll("a").insert_many(documents).await.unwrap();
    }
    insert(&app, "b", 1).await;
    insert(&app, "b", 2).await;
    let (mut fast, mut quiet, mut closed) = (0, Vec::new(), false);
    while !closed || quiet.len() < 2 {
        let block = sse.event().await;
        let data = block.json();
        if block.is("close") {
            assert_eq!(
                (&data["stream"], &data["data"]["code"]),
                (&json!(app.path("a/all")), &json!(4408))
            );
            closed = true;
        } else if data["stream"] == app.path("a/all") {
            assert_eq!(key(&data["data"]), fast);
            fast += 1;
        } else {
            quiet.push(key(&data["data"]));
        }
    }
    assert_eq!(quiet, [1, 2]);
    assert!(fast < 4000, "nothing was held back");
    let id = sse.last_id.clone();
    let mut back = open(&app, &streams, &[("last-event-id", &id)]).await;
    while fast < 4000 {
        assert_eq!(change(&mut back, &app).await, ("a/all".to_owned(), fast));
        fast += 1;
    }
}

/// A drain ends them together: each is told, and the body ends cleanly.
#[tokio::test]
async fn a_drain_ends_them_together() {
    let mut app = started("heartbeat: off\ndrain: 1s").await;
    let sse = open(&app, &["a/all", "b/all"], &[]).await;
    app.begin_drain();
    let rest = sse.rest().await;
    let codes: Vec<Value> = rest.iter().map(|block| block.json()["data"]["code"].clone()).collect();
    assert_eq!(codes, [json!(1012), json!(1012)]);
    app.stop().await;
}

/// One path that cannot be opened refuses the request with its own status and name, and opens nothing.
#[tokio::test]
async fn a_path_that_cannot_be_opened_refuses_the_request() {
    let app = started("heartbeat: off\nlinger: 0s").await;
    for (stream, status) in [
        ("a/none", 404),
        ("none/all", 404),
        ("a/kind", 400),
        ("a/kind?@user=x", 400),
        ("a/all?jsonMode=odd", 400),
    ] {
        let answer = refused(&app, &path(&app, &["b/all", stream])).await;
        assert_eq!(answer.status, status, "{stream}: {}", answer.body);
        assert!(answer.message().starts_with(&app.path(stream)), "{}", answer.message());
    }
    let all = path(&app, &["a/all"]);
    let many: Vec<_> = (0..65).map(|n| format!("a/all?n={n}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for (path, status) in [
        ("/_/sse".to_owned(), 400),
        ("/_/sse?stream=".to_owned(), 400),
        ("/_/sse?stream=a/all".to_owned(), 400),
        ("/_/sse?stream=http%3A%2F%2Fh%2Fa%2F_streams%2Fall".to_owned(), 400),
        ("/_/sse?stream=/_/sse".to_owned(), 404),
        (format!("/_/sse?stream={}", app.coll_path("a")), 400),
        ("/_/sse?stream=/admin/x/_streams/y".to_owned(), 403),
        ("/_/sse?stream=/tailwater/settings/_streams/y".to_owned(), 403),
        ("/_/sse?stream=/a//b/_streams/y".to_owned(), 400),
        (path(&app, &["a/all", "a/all"]), 400),
        (path(&app, &many), 400),
        (format!("{all}&k=even"), 400),
        (format!("{all}&heartbeat=loud"), 400),
    ] {
        let answer = refused(&app, &path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
    }
    assert_eq!(app.get(&all).await.status, 400, "no event stream is asked for");
    assert_eq!(app.with("HEAD", &all, &[("accept", "text/event-stream")]).await.status, 405);
    assert_eq!((app.cursors("a").await, app.cursors("b").await), (0, 0));
}

/// A stream's own query holds: variables, encoded or not, the JSON mode, and a place to begin.
#[tokio::test]
async fn a_path_carries_its_own_query() {
    let app = started("heartbeat: off").await;
    let start = app.sse("a/all").await.last_id;
    insert(&app, "a", 1).await;
    let stream = app.path("a/kind?avars={\"k\": \"odd\"}&jsonMode=EXTENDED");
    let path = format!("/_/sse?stream={}", utf8_percent_encode(&stream, NON_ALPHANUMERIC));
    let path = format!("{path}&stream={}?lastEventId={start}", app.path("a/all"));
    let mut sse = Sse::begin(app.address, &path, &[]).await;
    let replayed = sse.until("change").await.json();
    assert_eq!(replayed["data"]["documentKey"]["_id"], 1);
    insert(&app, "a", 3).await;
    let seen = [sse.until("change").await.json(), sse.until("change").await.json()];
    let typed = seen.iter().find(|data| data["stream"] == stream).unwrap();
    assert_eq!(typed["data"]["documentKey"]["_id"], json!({ "$numberLong": "3" }));
}

/// A client that leaves frees every stream of its connection.
#[tokio::test]
async fn leaving_frees_every_stream() {
    let app = started("linger: 0s").await;
    let sse = open(&app, &["a/all", "b/all"], &[]).await;
    assert_eq!((app.cursors("a").await, app.cursors("b").await), (1, 1));
    drop(sse);
    eventually("no cursor is left", async || {
        (app.cursors("a").await, app.cursors("b").await) == (0, 0)
    })
    .await;
}
