//! Many streams of one HTTP/2 connection.

use bson::doc;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, time::timeout};

use crate::support::{PATIENCE, TestApp, all};

/// Of two hundred streams on one connection half are not read: the other half keeps flowing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_streams_leave_the_others_alone() {
    let app = TestApp::with_streams("heartbeat: off").await;
    app.declare("c", vec![all()]).await;
    let io = TokioIo::new(TcpStream::connect(app.address).await.unwrap());
    // The window of a connection is the client's: it has to hold what its streams leave unread.
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(32 * 1024 * 1024)
        .handshake(io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let (mut read, mut stalled) = (Vec::new(), Vec::new());
    for number in 0..200 {
        let uri = format!("http://{}{}", app.address, app.path("c/all"));
        let request = hyper::Request::get(uri).header("accept", "text/event-stream");
        let response = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        if number % 2 == 0 { read.push(response) } else { stalled.push(response) }
    }
    // Several times the window of a stream.
    let documents = (0..60).map(|n| doc! { "_id": n, "text": "x".repeat(4000) });
    app.coll("c").insert_many(documents).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": "the last" }).await.unwrap();
    for response in &mut read {
        let mut tail = Vec::new();
        while !String::from_utf8_lossy(&tail).contains("the last") {
            let frame = timeout(PATIENCE, response.body_mut().frame()).await.expect("in time");
            tail = frame.unwrap().unwrap().into_data().unwrap().to_vec();
        }
    }
    // Whoever reads again hears what it has missed.
    let mut late = stalled.pop().unwrap();
    let mut text = String::new();
    while !text.contains("the last") {
        let frame = timeout(PATIENCE, late.body_mut().frame()).await.expect("in time");
        let data = frame.unwrap().unwrap().into_data().unwrap();
        text.push_str(&String::from_utf8_lossy(&data));
    }
    assert_eq!(text.matches("event: change").count(), 61);
}
