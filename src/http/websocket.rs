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
