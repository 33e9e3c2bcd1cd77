//! A request as access control sees it.

use std::{
    net::{IpAddr, SocketAddr},
    time::SystemTime,
};

use axum::http::{HeaderMap, header, request::Parts};

use super::{error::ApiError, server::Peer};
use crate::{
    access::{RawRequest, RequestHead, Resource, TargetError},
    config::TrustedProxies,
};

/// Reads the head of a request. The path that is judged here is the one that is routed by.
pub(crate) fn read(parts: &Parts, proxies: &TrustedProxies) -> Result<RequestHead, ApiError> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
    let trusted = peer.is_some_and(|peer| proxies.contains(peer.ip()));
    let raw = RawRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: headers(parts),
        remote: peer
            .map(|peer| if trusted { forwarded(&parts.headers, peer, proxies) } else { peer }),
        local: None,
        secure: trusted && said_to_be_secure(&parts.headers),
        protocol: format!("{:?}", parts.version),
    };
    Ok(RequestHead::new(raw, SystemTime::now())?)
}

/// Headers as text; what is not text is nothing that anybody is recognised by. HTTP/2 names the host
/// in the target.
fn headers(parts: &Parts) -> Vec<(String, String)> {
    let text = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let mut headers: Vec<_> = parts.headers.iter().filter_map(text).collect();
    if let (Some(host), None) = (parts.uri.authority(), parts.headers.get(header::HOST)) {
        headers.push(("host".to_owned(), host.to_string()));
    }
    headers
}

/// The client behind proxies: the last address that no trusted proxy has.
fn forwarded(headers: &HeaderMap, peer: SocketAddr, proxies: &TrustedProxies) -> SocketAddr {
    let listed =
        headers.get_all("x-forwarded-for").into_iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<IpAddr> = listed
        .flat_map(|value| value.split(','))
        .filter_map(|hop| hop.trim().parse().ok())
        .collect();
    let client = hops.into_iter().rev().find(|hop| !proxies.contains(*hop));
    client.map_or(peer, |client| SocketAddr::new(client, 0))
}

fn said_to_be_secure(headers: &HeaderMap) -> bool {
    let scheme = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
    scheme.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

/// What a path stands for, for permissions that ask.
pub(crate) fn resource(db: &str, coll: Option<&str>, document: Option<&str>) -> Resource {
    Resource {
        database: Some(db.to_owned()),
        collection: coll.map(str::to_owned),
        document: document.map(str::to_owned),
    }
}

impl From<TargetError> for ApiError {
    fn from(error: TargetError) -> Self {
        Self::BadRequest(error.to_string())
    }
}
