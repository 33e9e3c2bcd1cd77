//! Which pages of the web may call, and what browsers are told about it.

mod cors;
mod pattern;
#[cfg(test)]
mod tests;

pub use self::cors::CorsHeaders;
use self::pattern::OriginPattern;
use super::predicate::PathTemplate;
use super::principal::Carrier;
use super::request::RequestHead;
use crate::config::OriginsConfig;

/// The rules of a deployment.
#[derive(Debug)]
pub struct Origins {
    allow: Vec<String>,
    patterns: Vec<OriginPattern>,
    allow_missing: bool,
    ignore_paths: Vec<Ignored>,
}

#[derive(Debug)]
enum Ignored {
    Template(PathTemplate),
    /// What is no template is compared as it is.
    Path(String),
}

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// No browser, or a page of this server.
    Missing,
    Same,
    Other(String),
    /// `null`, or several at once.
    Opaque,
}

impl Origins {
    pub fn new(config: &OriginsConfig) -> Self {
        let ignored = |path: &String| match PathTemplate::parse(path) {
            Ok(template) => Ignored::Template(template),
            Err(_) => Ignored::Path(path.clone()),
        };
        Self {
            allow: config.allow.iter().map(|origin| normalized(origin)).collect(),
            patterns: config.patterns.iter().map(|p| OriginPattern::new(&normalized(p))).collect(),
            allow_missing: config.allow_missing,
            ignore_paths: config.ignore_paths.iter().map(ignored).collect(),
        }
    }

    /// Whether the request may go on, whoever calls: `403` otherwise. Without lists all may.
    pub fn admits(&self, head: &RequestHead) -> bool {
        if is_preflight(head) || self.is_ignored(head) || !self.has_lists() {
            return true;
        }
        match source(head) {
            Source::Missing => self.allow_missing,
            Source::Same => true,
            Source::Other(origin) => self.lists(&origin),
            Source::Opaque => false,
        }
    }

    /// Whether this credential may be taken from this page: `403` otherwise.
    ///
    /// A browser adds cookies, and on upgrades also a password it was once given, to requests that
    /// any page makes. Such a request counts only from this server's own pages, from those that are
    /// listed, and from programs, which send no origin. There is no other protection for an upgrade.
    pub fn admits_credential(&self, head: &RequestHead, carrier: Carrier, upgrade: bool) -> bool {
        let is_ambient = match carrier {
            Carrier::Cookie => true,
            Carrier::Basic => upgrade,
            Carrier::Bearer | Carrier::Ticket => false,
        };
        !is_ambient
            || match source(head) {
                Source::Missing | Source::Same => true,
                Source::Other(origin) => self.lists(&origin),
                Source::Opaque => false,
            }
    }

    fn has_lists(&self) -> bool {
        !self.allow.is_empty() || !self.patterns.is_empty()
    }

    fn lists(&self, origin: &str) -> bool {
        self.allow.iter().any(|allowed| allowed == origin)
            || self.patterns.iter().any(|pattern| pattern.matches(origin))
    }

    fn is_ignored(&self, head: &RequestHead) -> bool {
        self.ignore_paths.iter().any(|ignored| match ignored {
            Ignored::Template(template) => template.captures(head.path()).is_some(),
            Ignored::Path(path) => path == head.path(),
        })
    }
}

/// A browser's question before the request. Other `OPTIONS` requests are requests like any other.
pub fn is_preflight(head: &RequestHead) -> bool {
    head.method() == "OPTIONS"
        && head.header("origin").is_some()
        && head.header("access-control-request-method").is_some()
}

fn source(head: &RequestHead) -> Source {
    let mut origins = head.headers("origin");
    match (origins.next(), origins.next()) {
        (None, _) => Source::Missing,
        (Some(origin), None) if !origin.eq_ignore_ascii_case("null") && !origin.is_empty() => {
            let origin = normalized(origin);
            match is_same(&origin, head) {
                true => Source::Same,
                false => Source::Other(origin),
            }
        }
        _ => Source::Opaque,
    }
}

fn normalized(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

/// By host and port. The scheme is left out: behind a proxy that ends TLS it is not known.
fn is_same(origin: &str, head: &RequestHead) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let default = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return false,
    };
    let plain = |authority: &str| authority.strip_suffix(default).unwrap_or(authority).to_owned();
    head.host().is_some_and(|host| plain(&host.to_ascii_lowercase()) == plain(authority))
}
