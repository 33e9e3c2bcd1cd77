//! Whatever a client sends is answered with a status that says what is wrong, never with a 5xx, and the
//! service goes on.

use bson::doc;
use serde_json::Value;

use crate::support::{TestApp, all, http, websocket::Socket};

pub(crate) async fn started() -> TestApp {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    app
}

/// What has one value is refused when it is given twice, by name; filters may be given several times.
#[tokio::test]
async fn a_parameter_given_twice_is_refused() {
    let app = started().await;
    for (path, name) in [
        (app.path("c/all?jsonMode=STRICT&jsonMode=SHELL"), "jsonMode"),
        (app.path("c/all?heartbeat=named&heartbeat=named"), "heartbeat"),
        (app.path("c/all?lastEventId=a&lastEventId=b"), "lastEventId"),
        (app.path("c/all?avars={}&avars={}"), "avars"),
        (app.path("c/all?x=1&x=1"), "x"),
        (format!("{}?page=1&page=2", app.coll_path("c")), "page"),
        (format!("/_/explain?path={0}&path={0}", app.path("c/all")), "path"),
    ] {
        let accept = [("accept", "text/event-stream")];
        let answer = app.with("GET", &path, &accept).await;
        assert_eq!(answer.status, 400, "{path}");
        let message = answer.message();
        assert!(message.contains(name) && !message.contains("not bound"), "{path}: {message}");
    }
    let several = format!("{}?filter={{}}&filter={{}}", app.coll_path("c"));
    app.coll("c").insert_one(doc! {}).await.unwrap();
    assert_eq!(app.get(&several).await.status, 200);
}

/// The head of the answer only: an accepted stream has no end.
pub(crate) async fn status(
    app: &TestApp,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> u16 {
    http::begin(app.address, method, path, headers, "").await.status().as_u16()
}

/// The service still serves streams.
pub(crate) async fn check_alive(app: &TestApp) {
    let mut sse = app.sse("c/all").await;
    app.coll("c").insert_one(doc! {}).await.unwrap();
    sse.change().await;
}

/// The contract's body in a raw answer.
#[track_caller]
fn check_body(answer: &str, status: u16) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(
        head.to_ascii_lowercase().contains("content-type: application/json; charset=utf-8"),
        "{head}"
    );
    let body: Value =
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["http status code", "http status description", "message"]);
    assert_eq!(body["http status code"], status);
}

/// Names and uris with anything in them: not found, or not readable, and said so in the contract's words.
#[tokio::test]
async fn odd_names_are_not_found_or_not_readable() {
    let app = started().await;
    let coll = app.coll_path("c");
    for (name, expected) in [
        ("%0D%0A", 400),
        ("%0D%0Aset-cookie:%20x=1", 400),
        ("%00", 400),
        ("all%00", 400),
        ("%2F", 404),
        ("all%2Fx", 404),
        ("%5C", 400),
        ("..%2f..%2fadmin", 404),
        ("all%252Fx", 400),
        ("all;x", 400),
        ("all%3Bx", 400),
        (".", 400),
        ("%FF", 400),
        ("%C3%28", 400),
        ("%ED%A0%80", 400),
        ("%", 400),
        ("%zz", 400),
        ("%F0%9F%98%80", 404),
        ("%E2%80%A8", 404),
        ("$where", 404),
        ("@user", 404),
        ("ALL", 404),
        ("all%20", 404),
        ("al+l", 404),
        ("..", 400),
        ("'%22%3Cscript%3E", 404),
        ("all/x/_meta", 404),
        ("_size", 404),
    ] {
        let path = format!("{coll}/_streams/{name}");
        let answer = format!("GET {path} HTTP/1.1\r\naccept: text/event-stream");
        let answer = http::raw_answer(app.address, answer.as_bytes()).await;
        check_body(&answer, expected);
        assert!(!answer.contains("\r\nset-cookie"), "{answer}");
        assert_eq!(Socket::refused(app.address, &path).await.0, expected, "{name}");
    }
    for (path, expected) in [
        ("/", 404),
        ("//", 400),
        ("/_", 404),
        ("/_/nothing", 404),
        ("/%00/c/_streams/all", 400),
        ("/%0A/c/_streams/all", 400),
        ("/%FF/c/_streams/all", 400),
        ("/a%2Fb/c/_streams/all", 404),
        ("/db/%0D/_streams/all", 400),
        ("/db/%F0%9F%98%80/_streams/all", 404),
        ("/no-such-db/c/_streams/all", 404),
        ("/x/y/_streams/z/../../../admin", 400),
    ] {
        let answer = format!("GET {path} HTTP/1.1\r\naccept: text/event-stream");
        check_body(&http::raw_answer(app.address, answer.as_bytes()).await, expected);
    }
    check_alive(&app).await;
}

/// Paths, queries, headers and variables without measure are refused, and their like at the bound is served.
#[tokio::test]
async fn what_has_no_measure_is_refused() {
    let app = started().await;
    let path = app.path("c/all");
    let (large, long) = ("x".repeat(1_000_000), "x".repeat(40_000));
    let refusals = [
        (format!("GET {path}{large} HTTP/1.1"), vec![414, 431]),
        (format!("GET {path}?tid={large} HTTP/1.1"), vec![414, 431]),
        (format!("GET {path}?avars={large} HTTP/1.1"), vec![414, 431]),
        (format!("GET {path} HTTP/1.1\r\nlast-event-id: {large}"), vec![431]),
        (format!("GET {path} HTTP/1.1\r\n{}", "a: b\r\n".repeat(1000)), vec![431]),
        (format!("GET {path}?tid={long} HTTP/1.1"), vec![400]),
        (format!("GET {path}?avars={long} HTTP/1.1"), vec![400]),
        (format!("GET {path}?{} HTTP/1.1", "a&".repeat(1000)), vec![400]),
        (
            format!(
                "GET {path}?{} HTTP/1.1",
                (0..2000).map(|n| format!("v{n}&")).collect::<String>()
            ),
            vec![400],
        ),
        (format!("GET /{} HTTP/1.1", "a/".repeat(5000)), vec![400]),
        (format!("GET {} HTTP/1.1", "/".repeat(5000)), vec![400]),
    ];
    for (head, expected) in refusals {
        let head = format!("{head}\r\naccept: text/event-stream");
        let answer = http::raw_answer(app.address, head.as_bytes()).await;
        let line = answer.lines().next().unwrap_or_default();
        let refused = expected.iter().any(|status| line.starts_with(&format!("HTTP/1.1 {status}")));
        // A client that is still writing when it is refused may see a reset instead of the answer.
        assert!(refused || head.len() > 500_000 && line.is_empty(), "{line}: {head:.60}");
    }
    let accept = [("accept", "text/event-stream")];
    let fits = format!("{path}?tid={}", "x".repeat(30_000));
    assert_eq!(status(&app, "GET", &fits, &accept).await, 200);
    check_alive(&app).await;
}

/// What is no HTTP at all ends the connection with 400 or nothing.
#[tokio::test]
async fn what_is_no_http_is_refused() {
    let app = started().await;
    let path = app.path("c/all");
    let heads = [
        format!("GET {path}\r HTTP/1.1\r\n\r\n"),
        format!("GET {path}\n HTTP/1.1\r\n\r\n"),
        format!("GET {path}\0 HTTP/1.1\r\n\r\n"),
        format!("GET {path} x HTTP/1.1\r\n\r\n"),
        format!("GET {path} HTTP/9.9\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nbad header: x\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nx: a\0b\r\n\r\n"),
        format!("POST {path} HTTP/1.1\r\ncontent-length: x\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nzz"),
        "\0\0\0\0".to_owned(),
        "\r\n\r\n\r\n".to_owned(),
        "SSH-2.0-x\r\n".to_owned(),
    ];
    for head in heads {
        let mut bytes = head.clone().into_bytes();
        // So that one that waits for more does not wait for long.
        bytes.extend(b"\r\n\r\n");
        let answer = http::raw(app.address, &bytes).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{head:?}: {answer}");
    }
    check_alive(&app).await;
}

/// Only GET opens a stream; HEAD opens nothing.
#[tokio::test]
async fn other_methods_open_nothing() {
    let app = started().await;
    let path = app.path("c/all");
    let accept = [("accept", "text/event-stream")];
    for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"] {
        let answer = http::request(app.address, method, &path, &accept, "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")), "{method}");
        assert_eq!(answer.message(), format!("method {method} not allowed"));
    }
    let head = http::request(app.address, "HEAD", &path, &accept, "").await;
    assert_eq!((head.status, head.body.as_str()), (405, ""));
    let options = status(&app, "OPTIONS", &path, &accept).await;
    assert!([200, 204, 405].contains(&options), "{options}");
    for (method, path) in [("POST", "/_/health/live"), ("DELETE", "/_/health/ready"), ("POST", "/")]
    {
        let status = status(&app, method, path, &[]).await;
        assert!((400..500).contains(&status), "{method} {path}: {status}");
    }
    for head in ["OPTIONS * HTTP/1.1", "CONNECT example.org:443 HTTP/1.1", "GET * HTTP/1.1"] {
        let line = http::raw(app.address, format!("{head}\r\nhost: x\r\n\r\n").as_bytes()).await;
        assert!(line.starts_with("HTTP/1.1 4") || line.starts_with("HTTP/1.1 2"), "{head}: {line}");
    }
    assert_eq!(app.cursors("c").await, 0);
}

/// Parameters that are not what they should be are 400 and named.
#[tokio::test]
async fn bad_parameters_are_named() {
    let app = started().await;
    for (query, named) in [
        ("heartbeat=x", "heartbeat"),
        ("heartbeat=", "heartbeat"),
        ("heartbeat=5", "heartbeat"),
        ("etag=x", "etag"),
        ("etag=", "etag"),
        ("etag=62166d53ebdcd56455a1a7aag", "etag"),
        ("etag=%00", "etag"),
        ("jsonMode=x", "jsonMode"),
        ("page=-1", "page"),
        ("%FF=1", "UTF-8"),
        ("a=%FF", "UTF-8"),
        ("a=%C3%28", "UTF-8"),
        ("a=1&a=2", "duplicate parameter a"),
        ("@x=1", "@x"),
    ] {
        let answer = app.refused(&format!("c/all?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.message().contains(named), "{query}: {}", answer.message());
        let socket = Socket::refused(app.address, &app.path(&format!("c/all?{query}"))).await;
        assert_eq!(socket, (400, answer.message()), "{query}");
    }
    let fine = [
        "a=%00",
        "a=%0D%0A",
        "a=%F0%9F%98%80",
        "&&&",
        "=",
        "a",
        "%",
        "a=%zz",
        "lastEventId=",
        "filter=garbage",
        "jsonMode=relaxed",
        "etag=62166d53ebdcd56455a1a7aa",
        "heartbeat=named",
        "a+b=c+d",
    ];
    for query in fine {
        app.sse(&format!("c/all?{query}")).await;
    }
}
