use super::{Origins, is_preflight};
use crate::access::principal::Carrier;
use crate::access::request::RequestHead;
use crate::access::support::request;
use crate::config::OriginsConfig;

fn origins(allow: &[&str], patterns: &[&str], allow_missing: bool) -> Origins {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Origins::new(&OriginsConfig {
        allow: texts(allow),
        patterns: texts(patterns),
        allow_missing,
        ignore_paths: texts(&["/open/{any}", "/exact"]),
    })
}

fn from(origin: &str) -> RequestHead {
    request("GET /a", &[("host", "app.example:8080"), ("origin", origin)])
}

fn listed() -> Origins {
    origins(&["https://acme.test"], &["https://*.acme.example"], true)
}

#[test]
fn lists_decide_who_may_call() {
    let check = |origin: &str, expected: bool| {
        assert_eq!(listed().admits(&from(origin)), expected, "{origin}");
    };
    check("https://acme.test", true);
    check("HTTPS://ACME.test", true);
    check("https://acme.test/", true);
    check("https://acme.test:3000", false);
    check("https://acme.test.evil", false);
    check("http://acme.test", false);
    check("https://a.acme.example", true);
    check("https://evil.example", false);
    check("null", false);
    check("http://app.example:8080", true);
    check("http://app.example", false);
}

#[test]
fn some_requests_pass_the_lists() {
    let evil = ("origin", "https://evil.example");
    let check = |line: &str, headers: &[(&str, &str)], expected: bool| {
        assert_eq!(listed().admits(&request(line, headers)), expected, "{line} {headers:?}");
    };
    check("OPTIONS /a", &[evil, ("access-control-request-method", "GET")], true);
    check("OPTIONS /a", &[evil], false);
    check("GET /open/x", &[evil], true);
    check("GET /exact", &[evil], true);
    check("GET /exact/x", &[evil], false);
    check("GET /a", &[], true);
    check("GET /a", &[("origin", "https://acme.test"), evil], false);
    let strict = origins(&["https://acme.test"], &[], false);
    assert!(!strict.admits(&request("GET /a", &[])));
    assert!(origins(&[], &[], false).admits(&from("https://evil.example")));
}

#[test]
fn what_a_browser_adds_counts_only_from_known_pages() {
    let open = origins(&[], &[], true);
    let check = |origins: &Origins, origin: &str, carrier, upgrade, expected: bool| {
        let admitted = origins.admits_credential(&from(origin), carrier, upgrade);
        assert_eq!(admitted, expected, "{origin} {carrier:?} {upgrade}");
    };
    for carrier in [Carrier::Cookie, Carrier::Basic] {
        check(&open, "https://evil.example", carrier, true, false);
        check(&open, "null", carrier, true, false);
        check(&open, "http://app.example:8080", carrier, true, true);
        check(&listed(), "https://acme.test", carrier, true, true);
        let program = request("GET /a", &[("host", "app.example")]);
        assert!(open.admits_credential(&program, carrier, true));
    }
    check(&open, "https://evil.example", Carrier::Cookie, false, false);
    check(&open, "https://evil.example", Carrier::Basic, false, true);
    check(&open, "https://evil.example", Carrier::Bearer, true, true);
    check(&open, "https://evil.example", Carrier::Ticket, true, true);
}

#[test]
fn default_ports_are_no_difference() {
    let check = |host: &str, origin: &str, expected: bool| {
        let head = request("GET /a", &[("host", host), ("origin", origin)]);
        let open = origins(&[], &[], true);
        assert_eq!(
            open.admits_credential(&head, Carrier::Cookie, true),
            expected,
            "{host} {origin}"
        );
    };
    check("app.example", "https://app.example", true);
    check("app.example:443", "https://app.example", true);
    check("APP.example:80", "http://app.example", true);
    check("app.example:8443", "https://app.example", false);
    check("[::1]:8080", "http://[::1]:8080", true);
    check("app.example", "file://app.example", false);
}

fn value(headers: &[(&'static str, String)], name: &str) -> Option<String> {
    headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
}

#[test]
fn browsers_are_told() {
    let check = |origins: &Origins, head: RequestHead, origin: Option<&str>, credentials: bool| {
        let headers = origins.cors_headers(&head);
        assert_eq!(value(&headers, "vary").as_deref(), Some("Origin"));
        assert_eq!(value(&headers, "access-control-allow-origin").as_deref(), origin);
        let allowed = value(&headers, "access-control-allow-credentials").is_some();
        assert_eq!(allowed, credentials);
    };
    let open = origins(&[], &[], true);
    check(&open, from("https://Any.example"), Some("https://Any.example"), true);
    check(&open, request("GET /a", &[]), Some("*"), false);
    check(&open, from("null"), Some("*"), false);
    check(&listed(), from("https://acme.test"), Some("https://acme.test"), true);
    check(&listed(), from("https://evil.example"), None, false);
    check(&listed(), from("null"), None, false);
    check(&listed(), request("GET /a", &[]), None, false);
}

#[test]
fn preflights_allow_what_streams_need() {
    let asked = [("origin", "https://acme.test"), ("access-control-request-method", "GET")];
    let head = request("OPTIONS /a", &asked);
    assert!(is_preflight(&head));
    let headers = listed().preflight_headers(&head, "GET");
    assert_eq!(value(&headers, "access-control-allow-methods").as_deref(), Some("GET"));
    let allowed = value(&headers, "access-control-allow-headers").unwrap();
    for name in
        ["Authorization", "Cache-Control", "Last-Event-ID", "No-Auth-Challenge", "Content-Type"]
    {
        assert!(allowed.split(", ").any(|allowed| allowed == name), "{name}");
    }
    let evil = request("OPTIONS /a", &[("origin", "https://evil.example")]);
    assert!(!is_preflight(&evil));
    assert_eq!(listed().preflight_headers(&evil, "GET").len(), 1);
}
