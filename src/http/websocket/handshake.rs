//! The opening handshake (RFC 6455 §4): checked before any cursor exists.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use tungstenite::handshake::derive_accept_key;

/// The subprotocol whose messages are `{"id", "event", "data"}`.
pub(crate) const SUBPROTOCOL: &str = "tailwater.v1";

/// A request that may be answered with `101`.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    accept: String,
    /// Whether the client offers the subprotocol.
    pub(crate) enveloped: bool,
}

/// What is wrong with an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandshakeError {
    /// Another version of the protocol, or none.
    #[error("unsupported websocket version; send sec-websocket-version: 13")]
    Version,
    /// No key, or one that is not 16 bytes of base64.
    #[error("missing or malformed sec-websocket-key")]
    Key,
    /// HTTP/1.0 and HTTP/2 cannot upgrade a connection.
    #[error("a websocket upgrade needs HTTP/1.1")]
    HttpVersion,
}

/// Whether a request asks for an upgrade to WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    mentions(headers, &header::CONNECTION, "upgrade")
        && mentions(headers, &header::UPGRADE, "websocket")
}

impl Handshake {
    /// Checks an upgrade request.
    pub(crate) fn check(headers: &HeaderMap, version: Version) -> Result<Self, HandshakeError> {
        if version != Version::HTTP_11 {
            return Err(HandshakeError::HttpVersion);
        }
        let field = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if field(header::SEC_WEBSOCKET_VERSION) != Some("13") {
            return Err(HandshakeError::Version);
        }
        let key = field(header::SEC_WEBSOCKET_KEY).filter(|key| is_nonce(key));
        let key = key.ok_or(HandshakeError::Key)?;
        let enveloped = mentions(headers, &header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
        Ok(Self { accept: derive_accept_key(key.as_bytes()), enveloped })
    }

    /// The headers of the `101`.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(accept) = HeaderValue::from_str(&self.accept) {
            headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        }
        if self.enveloped {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        }
        headers
    }
}

/// Whether a comma-separated header lists a token, in any case.
fn mentions(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    let mut tokens = values.flat_map(|value| value.split(','));
    tokens.any(|listed| listed.trim().eq_ignore_ascii_case(token))
}

fn is_nonce(key: &str) -> bool {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.decode(key.trim()).is_ok_and(|bytes| bytes.len() == 16)
}
