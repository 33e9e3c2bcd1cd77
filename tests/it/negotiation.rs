//! Which transport a client gets, over which version of HTTP, and what an upgrade needs.

use bson::doc;
use tokio::net::TcpStream;

use crate::{
    odd_requests::{check_alive, started, status},
    support::{PATIENCE, eventually, http},
};

/// A stream is opened for whoever takes events, in whatever form that is said, and refused to all others.
#[tokio::test]
async fn only_who_takes_events_gets_them() {
    let app = started().await;
    let path = app.path("c/all");
    for (accepts, expected) in [
        (vec![], 400),
        (vec!["*/*"], 400),
        (vec![""], 400),
        (vec!["application/json"], 400),
        (vec!["text/*"], 400),
        (vec!["text/event-streams"], 400),
        (vec!["text/html,application/xhtml+xml,*/*;q=0.8"], 400),
        (vec!["text/event-stream"], 200),
        (vec!["TEXT/Event-Stream"], 200),
        (vec!["text/event-stream;q=0.5"], 200),
        (vec!["application/json, text/event-stream"], 200),
        (vec!["application/json", "text/event-stream"], 200),
        (vec!["text/event-stream", "*/*"], 200),
    ] {
        let headers: Vec<_> = accepts.iter().map(|accept| ("accept", *accept)).collect();
        assert_eq!(status(&app, "GET", &path, &headers).await, expected, "{accepts:?}");
    }
}

const KEY: (&str, &str) = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
const VERSION: (&str, &str) = ("sec-websocket-version", "13");
const UPGRADE: [(&str, &str); 2] =
    [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")];

/// An upgrade is checked before anything is opened, and a refusal says what is missing.
#[tokio::test]
async fn malformed_upgrades_are_refused() {
    let app = started().await;
    let path = app.path("c/all");
    let rows = [
        (vec![VERSION], 400, "sec-websocket-key"),
        (vec![VERSION, ("sec-websocket-key", "")], 400, "sec-websocket-key"),
        (vec![VERSION, ("sec-websocket-key", "short")], 400, "sec-websocket-key"),
        (
            vec![VERSION, ("sec-websocket-key", "!!!!!!!!!!!!!!!!!!!!!!==")],
            400,
            "sec-websocket-key",
        ),
        (
            vec![VERSION, ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZSBpcyB0b28gbG9uZw==")],
            400,
            "key",
        ),
        (vec![KEY], 426, "version: 13"),
        (vec![KEY, ("sec-websocket-version", "8")], 426, "version: 13"),
        (vec![KEY, ("sec-websocket-version", "x")], 426, "version: 13"),
        (vec![KEY, ("sec-websocket-version", "14")], 426, "version: 13"),
    ];
    for (headers, expected, named) in rows {
        let headers = [&UPGRADE[..], &headers].concat();
        let answer = http::request(app.address, "GET", &path, &headers, "").await;
        assert_eq!(answer.status, expected, "{headers:?}");
        assert!(answer.message().contains(named), "{}", answer.message());
        if expected == 426 {
            assert_eq!(answer.header("sec-websocket-version"), Some("13"));
            assert_eq!(answer.header("upgrade"), Some("websocket"));
        }
    }
    let neither = [("upgrade", "websocket"), KEY, VERSION];
    assert_eq!(status(&app, "GET", &path, &neither).await, 400, "no Connection: upgrade");
    let h2c = [("connection", "upgrade"), ("upgrade", "h2c"), KEY, VERSION];
    assert_eq!(status(&app, "GET", &path, &h2c).await, 400, "another protocol");
    let both = [&UPGRADE[..], &[KEY, VERSION, ("accept", "text/event-stream")]].concat();
    assert_eq!(status(&app, "GET", &path, &both).await, 101, "an upgrade comes first");
    let elsewhere = [&UPGRADE[..], &[KEY, VERSION]].concat();
    let meta = format!("{}/_streams", app.coll_path("c"));
    assert_eq!(status(&app, "GET", &meta, &elsewhere).await, 200, "nothing to upgrade there");
    let old = format!(
        "GET {path} HTTP/1.0\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {}",
        KEY.1
    );
    let answer = http::raw_answer(app.address, old.as_bytes()).await;
    assert!(answer.contains(" 400 ") && answer.contains("HTTP/1.1"), "{answer}");
    check_alive(&app).await;
}

/// HTTP/1.0 clients get their stream too: its body ends with the connection.
#[tokio::test]
async fn http_1_0_gets_a_stream() {
    let app = started().await;
    let head = format!("GET {} HTTP/1.0\r\naccept: text/event-stream", app.path("c/all"));
    let address = app.address;
    let reading = tokio::spawn(async move { http::raw_answer(address, head.as_bytes()).await });
    eventually("it is open", async || app.cursors("c").await == 1).await;
    app.declare("c", vec![]).await;
    let answer = reading.await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("transfer-encoding"), "{answer}");
    assert!(answer.contains("event: ready") && answer.contains("event: close"), "{answer}");
}

/// HTTP/2 without negotiation carries streams, several on one connection.
#[tokio::test]
async fn http_2_carries_streams() {
    use http_body_util::BodyExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let app = started().await;
    let socket = TcpStream::connect(app.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
            .await
            .unwrap();
    tokio::spawn(connection);
    let mut bodies = Vec::new();
    for _ in 0..20 {
        let uri = format!("http://{}{}", app.address, app.path("c/all"));
        let request = hyper::Request::get(uri).header("accept", "text/event-stream");
        let response = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, hyper::Version::HTTP_2));
        bodies.push(response.into_body());
    }
    app.coll("c").insert_one(doc! { "_id": "over h2" }).await.unwrap();
    for body in &mut bodies {
        let mut text = String::new();
        while !text.contains("over h2") {
            let frame = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap();
            text.push_str(
                std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap(),
            );
        }
        assert!(text.starts_with("retry: "));
    }
}
