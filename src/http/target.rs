//! What a path addresses.

use axum::http::{HeaderMap, Uri, header};
use percent_encoding::percent_decode_str;

use super::error::ApiError;
use crate::{
    binding::Namespace,
    config::Mounts,
    definition::names::{NameError, check_coll, check_db},
};

/// A resource of the MongoDB surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/<db>`
    Database(String),
    /// `/<db>/<coll>`
    Collection(Namespace),
    /// `/<db>/<coll>/_meta`
    Meta(Namespace),
    /// `/<db>/<coll>/_size`
    Size(Namespace),
    /// `/<db>/<coll>/_streams`
    Streams(Namespace),
    /// `/<db>/<coll>/_streams/<uri>`
    Stream(Namespace, String),
    /// `/<db>/<coll>/<id>`
    Document(Namespace, String),
}

/// More segments than any resource has; bounds the work on a long path.
const MAX_SEGMENTS: usize = 32;

impl Target {
    /// Reads a path as it came, percent-encoded.
    pub(crate) fn parse(path: &str, mounts: &Mounts, host: Option<&str>) -> Result<Self, ApiError> {
        let segments = segments(path)?;
        let resolved = mounts.resolve(&segments, host).ok_or(ApiError::NoMount)?;
        let db = resolved.database;
        check_db(&db)?;
        let Some(coll) = resolved.collection else { return Ok(Self::Database(db)) };
        check_coll(&db, &coll)?;
        Self::within(Namespace::new(db, coll), &resolved.rest)
    }

    /// The collection that the target is or lies in.
    pub(crate) fn namespace(&self) -> Option<&Namespace> {
        match self {
            Self::Database(_) => None,
            Self::Collection(namespace)
            | Self::Meta(namespace)
            | Self::Size(namespace)
            | Self::Streams(namespace)
            | Self::Stream(namespace, _)
            | Self::Document(namespace, _) => Some(namespace),
        }
    }

    /// The methods that it has.
    pub(crate) fn allowed(&self) -> &'static str {
        match self {
            Self::Stream(..)
            | Self::Streams(_)
            | Self::Meta(_)
            | Self::Size(_)
            | Self::Document(..) => "GET",
            Self::Collection(_) => "GET, PUT, PATCH",
            Self::Database(_) => "PUT",
        }
    }

    fn within(namespace: Namespace, rest: &[String]) -> Result<Self, ApiError> {
        let Some((first, more)) = rest.split_first() else {
            return Ok(Self::Collection(namespace));
        };
        // RESTHeart reads these names from the end of the path, whatever precedes them.
        let ends_reserved = more.last().is_some_and(|last| is(last, "_meta") || is(last, "_size"));
        if is(first, "_streams") && !ends_reserved {
            return Ok(match more.first() {
                None => Self::Streams(namespace),
                // Further segments are ignored, as RESTHeart does.
                Some(uri) => Self::Stream(namespace, uri.clone()),
            });
        }
        match (first, more) {
            (meta, []) if is(meta, "_meta") => Ok(Self::Meta(namespace)),
            (size, []) if is(size, "_size") => Ok(Self::Size(namespace)),
            (id, []) => Ok(Self::Document(namespace, id.clone())),
            _ => Err(ApiError::NotFound("no such resource".to_owned())),
        }
    }
}

/// The part of a path that leads to the collection, its segments as the client wrote them.
pub(super) fn collection_path(path: &str, mounts: &Mounts, host: Option<&str>) -> Option<String> {
    let below = mounts.resolve(&segments(path).ok()?, host)?.rest.len();
    let written: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    let above = written.get(..written.len().checked_sub(below)?)?;
    Some(format!("/{}", above.join("/")))
}

fn is(segment: &str, name: &str) -> bool {
    segment.eq_ignore_ascii_case(name)
}

/// Decodes a path once. `%2F` and `%5C` stay as they are: they are no separators.
pub(super) fn segments(path: &str) -> Result<Vec<String>, ApiError> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Vec<_> = parts.take(MAX_SEGMENTS + 1).collect();
    if parts.len() > MAX_SEGMENTS {
        return Err(ApiError::BadRequest("the path has too many segments".to_owned()));
    }
    parts.into_iter().map(segment).collect()
}

fn segment(part: &str) -> Result<String, ApiError> {
    let kept = keep_slashes(part);
    let decoded = percent_decode_str(&kept).decode_utf8();
    let decoded =
        decoded.map_err(|_| ApiError::BadRequest("the path is not valid UTF-8".to_owned()))?;
    Ok(decoded.into_owned())
}

/// Encodes the percent sign of encoded slashes once more, so that decoding leaves them.
fn keep_slashes(part: &str) -> String {
    let mut kept = String::with_capacity(part.len());
    for (index, letter) in part.char_indices() {
        kept.push(letter);
        let code = part.get(index + 1..index + 3).unwrap_or_default();
        if letter == '%' && (code.eq_ignore_ascii_case("2f") || code.eq_ignore_ascii_case("5c")) {
            kept.push_str("25");
        }
    }
    kept
}

impl From<NameError> for ApiError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Reserved => Self::Forbidden("reserved resource".to_owned()),
            invalid @ NameError::Invalid { .. } => Self::BadRequest(invalid.to_string()),
        }
    }
}

/// The host that the client asked for; mounts may depend on it.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let header = headers.get(header::HOST);
    header.and_then(|host| host.to_str().ok()).or_else(|| uri.host())
}

/// Whether a path is one of the probes', which pass whatever else is turned away: a full service is a
/// healthy one.
pub(super) fn is_probe(path: &str) -> bool {
    path.starts_with("/_/health/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Result<Target, ApiError> {
        Target::parse(path, &Mounts::default(), None)
    }

    #[track_caller]
    fn check(path: &str, expected: &Target) {
        assert_eq!(parse(path).ok().as_ref(), Some(expected), "{path}");
    }

    #[test]
    fn paths_address_resources() {
        let orders = || Namespace::new("shop", "orders");
        check("/shop", &Target::Database("shop".to_owned()));
        check("/shop/", &Target::Database("shop".to_owned()));
        check("/shop/orders", &Target::Collection(orders()));
        check("/shop//orders/", &Target::Collection(orders()));
        check("/shop/orders/_meta", &Target::Meta(orders()));
        check("/shop/orders/_streams", &Target::Streams(orders()));
        let stream = |uri: &str| Target::Stream(orders(), uri.to_owned());
        check("/shop/orders/_streams/all", &stream("all"));
        check("/shop/orders/_STREAMS/all", &stream("all"));
        check("/shop/orders/_streams/all/x/y", &stream("all"));
        check("/shop/orders/_streams/a%2Fb", &stream("a%2Fb"));
        check("/shop/orders/_streams/a%252Fb", &stream("a%2Fb"));
        check("/shop/orders/_streams/caf%C3%A9+x", &stream("caf\u{e9}+x"));
        check("/shop/orders/42", &Target::Document(orders(), "42".to_owned()));
    }

    #[test]
    fn a_path_leads_to_its_collection() {
        for (path, expected) in [
            ("/shop/orders", "/shop/orders"),
            ("/shop/orders/_streams/all", "/shop/orders"),
            ("//shop/orders//_streams//all//x//", "/shop/orders"),
            ("/shop/_streams/_streams/_streams", "/shop/_streams"),
            ("/a%2Fb/%C3%A9/%5Fstreams/all", "/a%2Fb/%C3%A9"),
        ] {
            let found = collection_path(path, &Mounts::default(), None);
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_addressed_is_refused() {
        let status = |path: &str| parse(path).map_err(|error| error.status().as_u16());
        assert_eq!(status("/admin/x"), Err(403));
        assert_eq!(status("/shop/system.users"), Err(403));
        assert_eq!(status("/shop/_properties"), Err(403));
        assert_eq!(status("/tailwater/settings"), Err(403));
        assert_eq!(status("/a%20b/c"), Err(400));
        assert_eq!(status("/shop/or%00ders"), Err(400));
        assert_eq!(status("/shop/%ff"), Err(400));
        assert_eq!(status("/shop/orders/_streams/x/_meta"), Err(404));
        assert_eq!(status(&"/x".repeat(40)), Err(400));
    }
}
