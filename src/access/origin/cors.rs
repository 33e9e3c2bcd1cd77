use super::{Origins, Source, source};
use crate::access::request::RequestHead;

/// Headers of a response: lower-case names and their values.
pub type CorsHeaders = Vec<(&'static str, String)>;

/// What a page may send. `last-event-id` and `cache-control` are what clients of event streams send
/// when they are not the browser's own.
const ALLOW_HEADERS: &str = "Authorization, Cache-Control, Content-Type, If-Match, If-None-Match, \
                             Last-Event-ID, No-Auth-Challenge, X-Requested-With";

/// What a page may read beside the usual.
const EXPOSE_HEADERS: &str = "ETag, Location, Retry-After";

/// Seconds for which a browser need not ask again.
const MAX_AGE: &str = "600";

impl Origins {
    /// For every response, errors included. A page that is not let in gets nothing to read.
    pub fn cors_headers(&self, head: &RequestHead) -> CorsHeaders {
        let mut headers = vec![("vary", "Origin".to_owned())];
        if let Some((origin, credentials)) = self.reader(head) {
            headers.push(("access-control-allow-origin", origin));
            if credentials {
                headers.push(("access-control-allow-credentials", "true".to_owned()));
            }
            headers.push(("access-control-expose-headers", EXPOSE_HEADERS.to_owned()));
        }
        headers
    }

    /// For the answer to `OPTIONS`, which needs no credential. `methods` are those of the resource,
    /// like `GET`.
    pub fn preflight_headers(&self, head: &RequestHead, methods: &str) -> CorsHeaders {
        let mut headers = self.cors_headers(head);
        if self.reader(head).is_some() {
            headers.push(("access-control-allow-methods", methods.to_owned()));
            headers.push(("access-control-allow-headers", ALLOW_HEADERS.to_owned()));
            headers.push(("access-control-max-age", MAX_AGE.to_owned()));
        }
        headers
    }

    /// Who may read the response, and whether when it was asked for with credentials.
    fn reader(&self, head: &RequestHead) -> Option<(String, bool)> {
        // The header is given back as it was sent: browsers compare it byte for byte.
        let sent = || head.header("origin").unwrap_or_default().to_owned();
        match (source(head), self.has_lists()) {
            (Source::Same, _) | (Source::Other(_), false) => Some((sent(), true)),
            (Source::Other(origin), true) => self.lists(&origin).then(|| (sent(), true)),
            // Any page can be `null`, so it is everybody and nobody in particular.
            (Source::Missing | Source::Opaque, false) => Some(("*".to_owned(), false)),
            (Source::Missing | Source::Opaque, true) => None,
        }
    }
}
