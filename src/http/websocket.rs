//! WebSocket: ready frames on the raw socket. The server's side of RFC 6455, without extensions.

pub(crate) mod connection;
pub(crate) mod format;
pub(crate) mod handshake;
pub(crate) mod inbound;
pub(crate) mod own;
mod request;
mod subscriptions;
pub(crate) mod upgrade;
pub(crate) mod wire;

use bytes::Bytes;
use futures_util::FutureExt;

use self::{
    inbound::{Inbound, Listener},
    request::SocketRequest,
};

/// Hears what a client might send, as far as it can be understood, and gives the messages; each is read as a
/// request. For fuzzing.
#[doc(hidden)]
pub fn hear(bytes: &[u8], most: usize) -> Vec<Bytes> {
    let mut listener = Listener::new(bytes, most);
    let mut messages = Vec::new();
    // Bytes that are there already are never waited for.
    while let Some(Ok(said)) = listener.next().now_or_never() {
        if let Inbound::Message(message) = said {
            drop(SocketRequest::parse(&message));
            messages.push(message);
        }
    }
    messages
}
