//! Connections between requests.

use hyper::Request;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{PATIENCE, TestApp, all};

async fn started() -> TestApp {
    let yaml = "limits: { header_timeout: 300ms }\nstreams: { heartbeat: 100ms }";
    let app = TestApp::configured(yaml).await;
    app.declare("c", vec![all()]).await;
    app
}

/// A balancer's idle connection is there when it is used again, long after the time for a head.
#[tokio::test]
async fn an_idle_connection_is_kept() {
    let app = started().await;
    let socket = TcpStream::connect(app.address).await.unwrap();
    let io = TokioIo::new(socket);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let mut clock = app.sse("c/all").await;
    for _ in 0..2 {
        sender.ready().await.expect("the connection is there");
        let request = Request::get("/_/health/live").header("host", app.address.to_string());
        let answer = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        drop(answer);
        // Three times the time for a head.
        for _ in 0..9 {
            clock.block().await;
        }
    }
}

/// A connection that does not come to its first request, or only to half of it, is closed in time.
#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    let app = started().await;
    for sent in ["", "GET /_/health/live HTTP/1.1\r\nhost: x\r\n"] {
        let mut socket = TcpStream::connect(app.address).await.unwrap();
        socket.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let end = timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
        drop(end.expect("an end in time"));
        assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    }
}
