//! A request as access control sees it.

use std::{
    net::{IpAddr, SocketAddr},
    time::SystemTime,
};

use axum::{
    extract::ConnectInfo,
    http::{Extensions, HeaderMap, header, request::Parts},
};

use super::{
    error::ApiError,
    server::{Local, Peer},
    target::Target,
};
use crate::{
    access::{RawRequest, RequestHead, Resource, TargetError},
    binding::Namespace,
    config::TrustedProxies,
};

/// Reads the head of a request. The path that is judged here is the one that is routed by.
pub(crate) fn read(parts: &Parts, proxies: &TrustedProxies) -> Result<RequestHead, ApiError> {
    let trusted = peer(&parts.extensions).is_some_and(|peer| proxies.contains(peer.ip()));
    let raw = RawRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: headers(parts),
        remote: client(&parts.headers, &parts.extensions, proxies),
        local: parts.extensions.get::<Local>().map(|local| local.0),
        secure: trusted && said_to_be_secure(&parts.headers),
        protocol: format!("{:?}", parts.version),
    };
    Ok(RequestHead::new(raw, SystemTime::now())?)
}

/// Who sent a request: whoever is connected, or behind trusted proxies the client that they name.
pub(super) fn client(
    headers: &HeaderMap,
    extensions: &Extensions,
    proxies: &TrustedProxies,
) -> Option<SocketAddr> {
    let peer = peer(extensions)?;
    let trusted = proxies.contains(peer.ip());
    Some(if trusted { forwarded(headers, peer, proxies) } else { peer })
}

/// Who is connected. A host may say it in axum's own way.
fn peer(extensions: &Extensions) -> Option<SocketAddr> {
    let connected = || extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    extensions.get::<Peer>().map(|peer| peer.0).or_else(connected)
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

/// The client behind proxies: the last address that no trusted proxy has. What stands before a hop
/// that is no address is the client's own word.
fn forwarded(headers: &HeaderMap, peer: SocketAddr, proxies: &TrustedProxies) -> SocketAddr {
    let mut client = peer;
    for hop in hops(headers).into_iter().rev() {
        let Some(address) = hop else { break };
        client = SocketAddr::new(address, 0);
        if !proxies.contains(address) {
            break;
        }
    }
    client
}

/// The addresses of `X-Forwarded-For`, or where there is none of `Forwarded`, from the client on.
fn hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let listed = |name: &'static str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(','))
    };
    if headers.contains_key("x-forwarded-for") {
        return listed("x-forwarded-for").map(|hop| address(hop.trim())).collect();
    }
    listed("forwarded").map(forwarded_for).collect()
}

/// The `for` of one element of `Forwarded` (RFC 7239 §4).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    address(node.trim().trim_matches('"'))
}

/// An address, with a port or without, in brackets or without.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

fn said_to_be_secure(headers: &HeaderMap) -> bool {
    let scheme = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
    scheme.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

/// A collection, for permissions that ask.
pub(crate) fn collection(namespace: &Namespace) -> Resource {
    resource_of(&Target::Collection(namespace.clone()))
}

impl From<TargetError> for ApiError {
    fn from(error: TargetError) -> Self {
        Self::BadRequest(error.to_string())
    }
}

/// What a target stands for, for permissions that ask.
pub(super) fn resource_of(target: &Target) -> Resource {
    let document = match target {
        Target::Document(_, id) => Some(id.clone()),
        _ => None,
    };
    let database = match target {
        Target::Database(db) => Some(db.clone()),
        target => target.namespace().map(|namespace| namespace.db.clone()),
    };
    let collection = target.namespace().map(|namespace| namespace.coll.clone());
    Resource { kind: Some(kind(target)), database, collection, document }
}

/// As permissions name it.
fn kind(target: &Target) -> &'static str {
    match target {
        Target::Database(_) => "DB",
        Target::Collection(_) => "COLLECTION",
        Target::Size(_) => "COLLECTION_SIZE",
        Target::Meta(_) => "COLLECTION_META",
        Target::Document(..) => "DOCUMENT",
        Target::Stream(..) => "CHANGE_STREAM",
        Target::Streams(_) => "CHANGE_STREAMS",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(name: &'static str, value: &str, expected: &str) {
        let yaml = "trusted_proxies: [10.0.0.0/8]";
        let proxies = Config::from_yaml(Path::new("t.yaml"), yaml).unwrap().listen.trusted_proxies;
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        let client = forwarded(&headers, "10.0.0.1:99".parse().unwrap(), &proxies);
        assert_eq!(client.ip(), expected.parse::<IpAddr>().unwrap(), "{name}: {value}");
    }

    #[test]
    fn the_client_is_the_last_that_no_proxy_vouches_for() {
        for (value, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("198.51.100.9, 192.0.2.1", "192.0.2.1"),
            ("192.0.2.1, 10.0.0.2", "192.0.2.1"),
            ("192.0.2.1:4711, 10.0.0.2", "192.0.2.1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("10.0.0.3", "10.0.0.3"),
            ("198.51.100.9, unknown", "10.0.0.1"),
            ("198.51.100.9, unknown, 10.0.0.2", "10.0.0.2"),
            ("", "10.0.0.1"),
        ] {
            check("x-forwarded-for", value, expected);
        }
        for (value, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=198.51.100.9;proto=https, for=192.0.2.1;by=10.0.0.2", "192.0.2.1"),
            (r#"for="[2001:db8::1]:4711""#, "2001:db8::1"),
            (r#"for=198.51.100.9, for="_hidden""#, "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
        ] {
            check("forwarded", value, expected);
        }
    }
}
