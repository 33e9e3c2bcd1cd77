use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use percent_encoding::percent_decode_str;

/// The query parameter that carries a ticket. It is taken out before anything else sees the query.
const TICKET_PARAMETER: &str = "ticket";

/// A request as the HTTP server read it, before anything in it is trusted.
#[derive(Clone, Default)]
pub struct RawRequest {
    /// As sent: methods are case-sensitive.
    pub method: String,
    /// The path as sent, without the query.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: Option<String>,
    /// Names in any case; values that are not UTF-8 are left out by the server. `host` is there for
    /// HTTP/2 as well, whose requests name it otherwise.
    pub headers: Vec<(String, String)>,
    /// The peer, or who a trusted proxy says it is.
    pub remote: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
    /// Whether the request came over TLS.
    pub secure: bool,
    /// Like `HTTP/1.1`.
    pub protocol: String,
}

/// All that authentication and permissions look at, as plain data.
///
/// `Debug` shows neither headers nor the query: both carry credentials.
#[derive(Clone)]
pub struct RequestHead {
    method: String,
    path: String,
    raw_path: String,
    query: Vec<(String, String)>,
    query_string: String,
    ticket: Option<String>,
    headers: Vec<(String, String)>,
    remote: Option<SocketAddr>,
    local: Option<SocketAddr>,
    secure: bool,
    protocol: String,
    received: SystemTime,
    resource: Resource,
}

/// What the path stands for once mounts are resolved; shown by `@request.db` and the like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    /// What sort of resource, like `CHANGE_STREAM`.
    pub kind: Option<&'static str>,
    pub database: Option<String>,
    pub collection: Option<String>,
    pub document: Option<String>,
}

/// Why a request's target is refused with `400`: two readers could take it for different paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the path does not start with a slash")]
    NotAbsolute,
    #[error("the path holds an escape that is not % and two hexadecimal digits")]
    Escape,
    #[error("the path is not UTF-8")]
    Utf8,
    #[error("the path holds {0}, which is read in more than one way")]
    Ambiguous(&'static str),
    #[error("the query has more than {0} parameters")]
    TooManyParameters(usize),
}

/// More parameters than any client sends; beyond, reading them costs more than the request.
const MAX_PARAMETERS: usize = 1000;

impl RequestHead {
    /// Decodes path and query once. The path that permissions see is the one to route by:
    /// [`RequestHead::path`].
    ///
    /// # Errors
    /// [`TargetError`] for a path that is not plain.
    pub fn new(raw: RawRequest, received: SystemTime) -> Result<Self, TargetError> {
        let path = decode_path(&raw.path)?;
        let (query, query_string, ticket) = split_query(raw.query.as_deref().unwrap_or(""))?;
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        Ok(Self {
            method: raw.method,
            path,
            raw_path: raw.path,
            query,
            query_string,
            ticket,
            headers: raw.headers.into_iter().map(lower).collect(),
            remote: raw.remote,
            local: raw.local,
            secure: raw.secure,
            protocol: raw.protocol,
            received,
            resource: Resource::default(),
        })
    }

    /// Says what the path stands for.
    #[must_use]
    pub fn with_resource(mut self, resource: Resource) -> Self {
        self.resource = resource;
        self
    }

    /// The same request for another path: a ticket is asked for by naming one, and one connection
    /// may carry several streams. The ticket that came with the request is kept.
    ///
    /// # Errors
    /// As [`RequestHead::new`].
    pub fn for_target(&self, path: &str, query: Option<&str>) -> Result<Self, TargetError> {
        let (query, query_string, _) = split_query(query.unwrap_or(""))?;
        let path_decoded = decode_path(path)?;
        Ok(Self {
            method: "GET".to_owned(),
            path: path_decoded,
            raw_path: path.to_owned(),
            query,
            query_string,
            resource: Resource::default(),
            ..self.clone()
        })
    }

    /// The same request with another credential, shown later.
    #[must_use]
    pub fn presenting(&self, authorization: &str, received: SystemTime) -> Self {
        let mut head = Self { received, ..self.clone() };
        head.headers.retain(|(name, _)| name != "authorization");
        head.headers.push(("authorization".to_owned(), authorization.to_owned()));
        head
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    /// Decoded once, except that an encoded slash stays `%2F`: it never splits a segment.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path as sent.
    pub fn raw_path(&self) -> &str {
        &self.raw_path
    }

    /// The query as sent, without question mark and without the ticket.
    pub fn query_string(&self) -> &str {
        &self.query_string
    }

    /// Decoded names and values in their order, without the ticket.
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }

    /// The values of one query parameter, in their order.
    pub fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a header; `name` is lower-case.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.headers(name).next()
    }

    /// All values of a header; `name` is lower-case.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first cookie of that name, as sent.
    pub fn cookie<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.headers("cookie").flat_map(|header| header.split(';')).find_map(|pair| {
            pair.trim().split_once('=').filter(|(n, _)| *n == name).map(|(_, value)| value)
        })
    }

    /// The name that the client reached the server by, with its port where given.
    pub fn host(&self) -> Option<&str> {
        self.header("host")
    }

    /// The host without its port.
    pub fn server_name(&self) -> Option<&str> {
        self.host().map(without_port)
    }

    pub fn remote_ip(&self) -> Option<IpAddr> {
        self.remote.map(|address| address.ip())
    }

    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    pub fn is_secure(&self) -> bool {
        self.secure
    }

    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// When the request came: `@now`. A later evaluation of the same request sees the same time.
    pub fn received(&self) -> SystemTime {
        self.received
    }

    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Whether it came with a ticket, good or not.
    pub fn carries_ticket(&self) -> bool {
        self.ticket.is_some()
    }

    pub(super) fn ticket(&self) -> Option<&str> {
        self.ticket.as_deref()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RawRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRequest")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn decode_path(raw: &str) -> Result<String, TargetError> {
    if !raw.starts_with('/') {
        return Err(TargetError::NotAbsolute);
    }
    check_escapes(raw)?;
    // An encoded slash must survive decoding; `%252F` would then look the same.
    if contains_ignoring_case(raw, "%252f") {
        return Err(TargetError::Ambiguous("a slash that is encoded twice"));
    }
    let kept = raw.replace("%2F", "%252F").replace("%2f", "%252F");
    let path = percent_decode_str(&kept).decode_utf8().map_err(|_| TargetError::Utf8)?;
    check_plain(&path)?;
    Ok(path.into_owned())
}

fn check_escapes(raw: &str) -> Result<(), TargetError> {
    let hex = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
    let bytes = raw.as_bytes();
    let broken = |(i, _): (usize, &u8)| !hex(bytes.get(i + 1)) || !hex(bytes.get(i + 2));
    match bytes.iter().enumerate().filter(|(_, b)| **b == b'%').any(broken) {
        true => Err(TargetError::Escape),
        false => Ok(()),
    }
}

fn contains_ignoring_case(text: &str, needle: &str) -> bool {
    text.to_ascii_lowercase().contains(needle)
}

fn check_plain(path: &str) -> Result<(), TargetError> {
    let refuse = |what| Err(TargetError::Ambiguous(what));
    if path.contains("//") {
        return refuse("an empty segment");
    }
    if path.split('/').any(|segment| segment == "." || segment == "..") {
        return refuse("a segment of dots");
    }
    match path.chars().find(|c| matches!(c, ';' | '\\') || c.is_control()) {
        Some(';') => refuse("a semicolon"),
        Some('\\') => refuse("a backslash"),
        Some(_) => refuse("a control character"),
        None => Ok(()),
    }
}

type Query = (Vec<(String, String)>, String, Option<String>);

/// Decodes the pairs and takes out the ticket.
fn split_query(raw: &str) -> Result<Query, TargetError> {
    let (mut query, mut kept, mut ticket) = (Vec::new(), Vec::new(), None);
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode_parameter(name), decode_parameter(value));
        if name == TICKET_PARAMETER {
            ticket = ticket.or(Some(value));
            continue;
        }
        if query.len() == MAX_PARAMETERS {
            return Err(TargetError::TooManyParameters(MAX_PARAMETERS));
        }
        kept.push(pair);
        query.push((name, value));
    }
    Ok((query, kept.join("&"), ticket))
}

/// What is not UTF-8 becomes U+FFFD and so equals nothing that a permission names.
fn decode_parameter(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// `host:port` or `[v6]:port` without the port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(path: &str, query: &str) -> Result<RequestHead, TargetError> {
        let raw = RawRequest {
            method: "GET".into(),
            path: path.into(),
            query: Some(query.into()),
            headers: vec![("Cookie".into(), "a=1; rh_auth=Bearer_x".into())],
            ..RawRequest::default()
        };
        RequestHead::new(raw, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn decodes_the_path_once() {
        let check = |raw: &str, decoded: &str| assert_eq!(head(raw, "").unwrap().path(), decoded);
        check("/db/coll", "/db/coll");
        check("/a%20b/%C3%A9", "/a b/é");
        check("/a%2Fb", "/a%2Fb");
        check("/a%2fb", "/a%2Fb");
        check("/100%25", "/100%");
        check("/a+b", "/a+b");
        check("/a/", "/a/");
    }

    #[test]
    fn refuses_paths_that_read_in_two_ways() {
        let check = |raw: &str| assert!(head(raw, "").is_err(), "{raw}");
        for raw in ["", "a", "//a", "/a//b", "/a/./b", "/a/../b", "/a/..", "/%2e%2e/b", "/a;k=v"] {
            check(raw);
        }
        for raw in
            ["/a%5Cb", "/a\\b", "/a%00", "/a%0A", "/%zz", "/%4", "/%ff", "/a%252fb", "/a%3Bb"]
        {
            check(raw);
        }
    }

    #[test]
    fn takes_the_ticket_out_of_the_query() {
        let head = head("/a", "x=1&ticket=t%2B&y=a+b&x=2&z").unwrap();
        assert_eq!(head.ticket(), Some("t+"));
        assert_eq!(head.query_string(), "x=1&y=a+b&x=2&z");
        assert_eq!(head.parameters("x").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(head.parameters("y").next(), Some("a b"));
        assert_eq!(head.parameters("z").next(), Some(""));
        assert_eq!(head.parameters("ticket").next(), None);
        assert!(!format!("{head:?}").contains("t+"));
    }

    #[test]
    fn finds_cookies() {
        let head = head("/a", "").unwrap();
        assert_eq!(head.cookie("rh_auth"), Some("Bearer_x"));
        assert_eq!(head.cookie("a"), Some("1"));
        assert_eq!(head.cookie("rh"), None);
    }

    #[test]
    fn too_many_parameters_are_refused() {
        let query = "a=1&".repeat(MAX_PARAMETERS + 1);
        assert_eq!(head("/a", &query).unwrap_err(), TargetError::TooManyParameters(MAX_PARAMETERS));
    }
}
