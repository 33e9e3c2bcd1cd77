//! One request on a connection of its own, without a client library's opinions.

use std::net::SocketAddr;

use http_body_util::BodyExt;
use hyper::{Request, Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::PATIENCE;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The message of an error body.
    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let response = begin(address, method, path, headers, body).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

/// Sends a request and reads the head of the answer. `host` is the address unless it is among the headers.
pub(crate) async fn begin(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Incoming> {
    try_begin(address, method, path, headers, body).await.unwrap()
}

/// The same on a network that fails.
pub(crate) async fn try_begin(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> anyhow::Result<Response<Incoming>> {
    let socket = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    if headers.iter().all(|(name, _)| *name != "host") {
        request = request.header("host", address.to_string());
    }
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(body.to_owned()).unwrap();
    Ok(sender.send_request(request).await?)
}

/// Sends a request head as it is, with `connection: close`, and gives everything that comes back.
pub(crate) async fn raw_answer(address: SocketAddr, head: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let end: &[u8] = b"\r\nhost: x\r\nconnection: close\r\n\r\n";
    // The server may hang up before it has read everything.
    drop(socket.write_all(&[head, end].concat()).await);
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    drop(read.expect("an answer in time"));
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends bytes as they are and gives the status line of what comes back; empty when nothing does.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // The server may hang up before it has read everything.
    drop(socket.write_all(bytes).await);
    let mut answer = vec![0; 1024];
    let count = socket.read(&mut answer).await.unwrap_or(0);
    let answer = String::from_utf8_lossy(&answer[..count]);
    answer.lines().next().unwrap_or_default().to_owned()
}
