use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

use super::principal::Carrier;
use super::request::RequestHead;

/// What a request presents, before anything of it is believed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) carrier: Carrier,
    pub(super) content: Content,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Content {
    Basic {
        user: String,
        password: String,
    },
    Bearer(String),
    Ticket(String),
    /// Something that is no credential in any form known here. It was meant as one.
    Malformed,
}

/// The standard alphabet; browsers pad and some programs do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Credential {
    /// The one that counts: the first `Authorization` header, else a ticket, else the cookie.
    pub(super) fn of(head: &RequestHead, cookie: Option<&str>) -> Option<Self> {
        if let Some(header) = head.header("authorization").filter(|header| !header.is_empty()) {
            return Some(Self::of_header(header));
        }
        if let Some(ticket) = head.ticket() {
            let content = Content::Ticket(ticket.to_owned());
            return Some(Self { carrier: Carrier::Ticket, content });
        }
        let value = head.cookie(cookie?).filter(|value| !value.is_empty())?;
        Some(Self { carrier: Carrier::Cookie, content: of_cookie(value) })
    }

    fn of_header(header: &str) -> Self {
        let content = authorization(header);
        let carrier = match content {
            Content::Basic { .. } => Carrier::Basic,
            _ => Carrier::Bearer,
        };
        Self { carrier, content }
    }
}

/// `Basic` in any case, `Bearer` as it is written: so it is in RESTHeart.
fn authorization(value: &str) -> Content {
    if let Some(token) = value.strip_prefix("Bearer ") {
        return Content::Bearer(token.trim().to_owned());
    }
    match value.split_at_checked(6) {
        Some((scheme, encoded)) if scheme.eq_ignore_ascii_case("basic ") => basic(encoded.trim()),
        _ => Content::Malformed,
    }
}

/// The name ends at the first colon, the password may hold more.
fn basic(encoded: &str) -> Content {
    let decoded = BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.as_deref().and_then(|text| text.split_once(':')) {
        Some((user, password)) => {
            Content::Basic { user: user.to_owned(), password: password.to_owned() }
        }
        None => Content::Malformed,
    }
}

/// `Bearer_<token>`, and what earlier versions set: quoted, with a space.
fn of_cookie(value: &str) -> Content {
    let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    match value.split_at_checked(7) {
        Some(("Bearer_", token)) => return Content::Bearer(token.to_owned()),
        Some(("Bearer ", token)) => return Content::Bearer(token.to_owned()),
        _ => {}
    }
    match value.split_at_checked(6) {
        Some(("Basic_" | "Basic ", encoded)) => basic(encoded),
        _ => Content::Malformed,
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({:?}, ***)", self.carrier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::support::request;

    fn check(target: &str, headers: &[(&str, &str)], expected: Option<(Carrier, Content)>) {
        let found = Credential::of(&request(&format!("GET {target}"), headers), Some("rh_auth"));
        let expected = expected.map(|(carrier, content)| Credential { carrier, content });
        assert!(found == expected, "{target} {headers:?}");
    }

    fn user(user: &str, password: &str) -> Content {
        Content::Basic { user: user.into(), password: password.into() }
    }

    fn bearer(token: &str) -> Content {
        Content::Bearer(token.into())
    }

    #[test]
    fn headers() {
        let header = |value: &str, carrier, content| {
            check("/", &[("Authorization", value)], Some((carrier, content)));
        };
        header("Basic bm9yYTphOmI=", Carrier::Basic, user("nora", "a:b"));
        header("bAsIC bm9yYTphOmI", Carrier::Basic, user("nora", "a:b"));
        header("Basic bm9yYTrDvA==", Carrier::Basic, user("nora", "ü"));
        header("Basic bm9yYTo=", Carrier::Basic, user("nora", ""));
        header("Bearer a.b.c", Carrier::Bearer, bearer("a.b.c"));
        for value in
            ["Basic !!!", "Basic bm9yYQ==", "Basic /w==", "bearer a.b.c", "Digest x", "x", "Basic"]
        {
            header(value, Carrier::Bearer, Content::Malformed);
        }
        check("/", &[("authorization", "")], None);
        check("/", &[], None);
    }

    #[test]
    fn cookies() {
        let cookie = |value: &str, content| {
            let header = format!("a=b; rh_auth={value}");
            check("/", &[("cookie", &header)], Some((Carrier::Cookie, content)));
        };
        cookie("Bearer_a.b.c", bearer("a.b.c"));
        cookie("\"Bearer a.b.c\"", bearer("a.b.c"));
        cookie("Basic_bm9yYTp4", user("nora", "x"));
        cookie("\"Basic bm9yYTp4\"", user("nora", "x"));
        cookie("junk", Content::Malformed);
        check("/", &[("cookie", "rh_auth=")], None);
        check("/", &[("cookie", "other=Bearer_a.b.c")], None);
        assert!(
            Credential::of(&request("GET /", &[("cookie", "rh_auth=Bearer_x")]), None).is_none()
        );
    }

    #[test]
    fn the_header_wins() {
        let headers = [("authorization", "Bearer h"), ("cookie", "rh_auth=Bearer_c")];
        check("/?ticket=t", &headers, Some((Carrier::Bearer, bearer("h"))));
        let ticket = Content::Ticket("t".into());
        check("/?ticket=t", &headers[1..], Some((Carrier::Ticket, ticket)));
        check("/?access_token=t", &[], None);
    }

    #[test]
    fn shows_no_secret() {
        let head = request("GET /", &[("authorization", "Bearer hush")]);
        let credential = Credential::of(&head, None);
        assert!(!format!("{credential:?} {head:?}").contains("hush"));
    }
}
