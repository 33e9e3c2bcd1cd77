//! One client, whatever it speaks: what a test asks of every transport is asked once.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use super::{sse::Sse, websocket::Socket};

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Sse,
    /// WebSocket without subprotocol.
    Plain,
    /// WebSocket with `tailwater.v1`.
    Enveloped,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Sse, Self::Plain, Self::Enveloped];

    /// Opens a stream by its whole path.
    pub(crate) async fn open(self, address: SocketAddr, path: &str) -> Client {
        match self {
            Self::Sse => Client::Sse(Sse::open(address, path, &[]).await),
            Self::Plain => Client::Plain(Socket::open(address, path, None).await),
            Self::Enveloped => {
                Client::Enveloped(Socket::open(address, path, Some("tailwater.v1")).await)
            }
        }
    }
}

/// An open stream.
pub(crate) enum Client {
    Sse(Sse),
    Plain(Socket),
    Enveloped(Socket),
}

impl Client {
    /// The next change; anything but heartbeats before it fails the test.
    pub(crate) async fn change(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The JSON of the next change as it was sent.
    pub(crate) async fn text(&mut self) -> String {
        match self {
            Self::Sse(sse) => loop {
                let block = sse.event().await;
                if !block.is("heartbeat") {
                    assert!(block.is("change"), "{block:?}");
                    return block.data.unwrap();
                }
            },
            Self::Plain(socket) => socket.text().await,
            Self::Enveloped(socket) => loop {
                let text = socket.text().await;
                let start = text.find(",\"data\":").expect("an envelope");
                let head: Value = serde_json::from_str(&format!("{}}}", &text[..start])).unwrap();
                match head["event"].as_str().unwrap() {
                    "ready" | "heartbeat" => {}
                    "change" => return text[start + 8..text.len() - 1].to_owned(),
                    _ => panic!("{text}"),
                }
            },
        }
    }

    /// The numeric `_id`s of the next changes.
    pub(crate) async fn keys(&mut self, count: usize) -> Vec<i64> {
        let mut keys = Vec::with_capacity(count);
        while keys.len() < count {
            keys.push(key(&self.change().await));
        }
        keys
    }
}

/// The cluster time, in its packed form, that an id stands for. Ids are opaque to clients; their layout
/// is the service's own.
pub(crate) fn time_of(id: &str) -> u64 {
    let bytes = URL_SAFE_NO_PAD.decode(id).unwrap();
    u64::from_be_bytes(bytes[5..13].try_into().unwrap())
}

/// The numeric `_id` of a change.
pub(crate) fn key(change: &Value) -> i64 {
    change["documentKey"]["_id"].as_i64().unwrap_or_else(|| panic!("{change}"))
}

/// The numeric `_id`s of the next changes of a stream.
pub(crate) async fn keys(sse: &mut Sse, count: usize) -> Vec<i64> {
    let mut keys = Vec::with_capacity(count);
    while keys.len() < count {
        keys.push(key(&sse.change().await));
    }
    keys
}
