//! Pages of other origins: what they may read, and from which of them credentials count that a browser adds.

use bson::doc;

use super::{
    deployment::{Deployment, Way, ask, everywhere, permission, status},
    tokens::{basic, bearer_of, claims, signed},
};
use crate::support::TestApp;

async fn started(auth: &str) -> TestApp {
    let deployment = Deployment::new().await;
    let deployment = if auth.is_empty() { deployment } else { deployment.auth(auth) };
    let app =
        deployment.permissions([everywhere(doc! {}), permission("nowhere", "path('/')", doc! {})]);
    app.await.start().await
}

/// Every answer tells a browser who may read it, refusals too.
#[tokio::test]
async fn every_answer_tells_browsers_who_may_read_it() {
    let app = started("").await;
    let (ann, nobody) = (basic("ann", "ann"), bearer_of("ann", &["nowhere"]));
    for origin in [Some("https://app.example"), None] {
        for (authorization, stream, expected) in [
            (Some(&ann), "c/all", 200),
            (None, "c/all", 401),
            (Some(&nobody), "c/all", 403),
            (Some(&ann), "c/none", 404),
            (Some(&ann), "c/all?avars=x", 400),
        ] {
            let mut headers: Vec<(&str, &str)> =
                origin.map(|it| ("origin", it)).into_iter().collect();
            headers.extend(authorization.map(|it| ("authorization", it.as_str())));
            let answer = ask(&app, Way::Sse, &app.path(stream), &headers).await;
            assert_eq!(answer.status, expected, "F1");
            let header = |name: &str| answer.headers.get(name).map(|it| it.to_str().unwrap());
            assert_eq!(
                header("access-control-allow-origin"),
                Some(origin.unwrap_or("*")),
                "F1 {expected}"
            );
            assert_eq!(
                header("access-control-allow-credentials"),
                origin.map(|_| "true"),
                "F1 {expected}"
            );
            assert_eq!(header("vary"), Some("Origin"), "F1 CORS-02 {expected}");
        }
    }
}

/// A browser asks before it sends credentials and an id: the answer needs none and allows both.
#[tokio::test]
async fn preflights_are_answered() {
    let app = started("").await;
    let meta = format!("{}/_meta", app.coll_path("c"));
    for (path, methods) in [
        (app.path("c/all"), "GET"),
        (meta, "GET"),
        (app.coll_path("c"), "GET, PUT, PATCH"),
        ("/_/tickets".to_owned(), "POST"),
        ("/_/sessions".to_owned(), "DELETE"),
        ("/_/ws".to_owned(), "GET"),
    ] {
        let headers = [
            ("origin", "https://app.example"),
            ("access-control-request-method", "GET"),
            ("access-control-request-headers", "authorization, cache-control, last-event-id"),
        ];
        for headers in [&headers[..], &[]] {
            let answer = app.with("OPTIONS", &path, headers).await;
            assert_eq!(
                (answer.status, answer.header("access-control-allow-methods")),
                (200, Some(methods)),
                "F2 {path}"
            );
            let allowed =
                answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
            for name in [
                "authorization",
                "no-auth-challenge",
                "cache-control",
                "last-event-id",
                "content-type",
            ] {
                assert!(allowed.split(", ").any(|it| it == name), "F2 CORS-01 {name}: {allowed}");
            }
        }
    }
}

/// A page may read why its request was refused, even one whose path cannot be read.
#[tokio::test]
async fn a_path_that_cannot_be_read_is_refused_in_the_open() {
    let app = started("").await;
    let answer = app.with("GET", "/a/%zz", &[("origin", "https://app.example")]).await;
    let allowed = answer.header("access-control-allow-origin");
    assert_eq!((answer.status, allowed), (400, Some("https://app.example")));
}

/// Where origins are listed, others are refused on every way, whoever they are; the spelling of the list
/// does not matter, and nothing but the origin decides.
#[tokio::test]
async fn listed_origins_and_no_others() {
    let lists = "origins: { allow: [\"HTTPS://Acme.Test/\"], patterns: [\"https://*.acme.example\"], ignore_paths: [\"/{db}/c/_streams/free\"] }";
    let app = started(lists).await;
    let ann = basic("ann", "ann");
    let host = app.address.to_string();
    let own = format!("http://{host}");
    for (origin, expected) in [
        (Some("https://acme.test"), 200),
        (Some("https://ACME.test"), 200),
        (Some("https://acme.test/"), 200),
        (Some("https://acme.test:8443"), 403),
        (Some("http://acme.test"), 403),
        (Some("https://acme.test.evil"), 403),
        (Some("https://evil-acme.test"), 403),
        (Some("https://a.acme.example"), 200),
        (Some("https://acme.example"), 403),
        (Some("https://a.acme.example.evil"), 403),
        (Some("null"), 403),
        (Some(own.as_str()), 200),
        (None, 200),
    ] {
        let mut headers = vec![("authorization", ann.as_str())];
        headers.extend(origin.map(|it| ("origin", it)));
        assert_eq!(status(&app, "", &headers).await, expected, "F3 {origin:?}");
        if expected == 403 {
            let stranger = status(&app, "", &headers[1..]).await;
            assert_eq!(stranger, 401, "F3 {origin:?}: who is calling comes first, as in RESTHeart");
            let answer = ask(&app, Way::Sse, &app.path("c/all"), &headers).await;
            assert!(
                answer.headers.get("access-control-allow-origin").is_none(),
                "CORS-02 {origin:?}"
            );
            assert_eq!(answer.headers["vary"], "Origin", "CORS-02");
            let plain =
                app.with("OPTIONS", &app.path("c/all"), &[("origin", origin.unwrap())]).await;
            assert_eq!(plain.status, 403, "F3: a plain OPTIONS is a request like any other");
            let asked = [("origin", origin.unwrap()), ("access-control-request-method", "GET")];
            let preflight = app.with("OPTIONS", &app.path("c/all"), &asked).await;
            assert_eq!(preflight.status, 200, "F3: a preflight is answered");
            assert!(preflight.header("access-control-allow-origin").is_none(), "F3");
        }
    }
    let evil = [("authorization", ann.as_str()), ("origin", "https://evil.example")];
    let free = ask(&app, Way::Sse, &app.path("c/free"), &evil).await;
    assert_eq!(free.status, 404, "F3: the lists do not apply there");

    let strict = started("origins: { allow: [\"https://acme.test\"], allow_missing: false }").await;
    assert_eq!(status(&strict, "", &[("authorization", &ann)]).await, 403, "F3");
    let listed = [("authorization", ann.as_str()), ("origin", "https://acme.test")];
    assert_eq!(status(&strict, "", &listed).await, 200, "F3");
    let open = started("").await;
    assert_eq!(
        status(
            &open,
            "",
            &[("authorization", &bearer_of("ann", &["user"])), ("origin", "https://any.example")]
        )
        .await,
        200,
        "F3: without lists all may"
    );
}

/// What a browser adds by itself counts from this server's own pages, from listed ones and from programs; a
/// page cannot make it open a stream in its user's name.
#[tokio::test]
async fn ambient_credentials_need_a_known_page() {
    let open = started("").await;
    let listed = started("origins: { allow: [\"https://acme.test\"] }").await;
    let cookie = format!("rh_auth=Bearer_{}", signed(&claims("ann", &["user"])));
    let (password, token) = (basic("ann", "ann"), bearer_of("ann", &["user"]));
    for (app, origin, expected) in [
        (&open, Some("https://evil.example"), 403),
        (&open, Some("null"), 403),
        (&open, None, 200),
        (&open, Some("own"), 200),
        (&listed, Some("https://acme.test"), 200),
    ] {
        let own = format!("http://{}", app.address);
        let origin = origin.map(|it| if it == "own" { own.as_str() } else { it });
        let with = |credential: (&'static str, &str), way: Way| {
            let (name, value) = (credential.0, credential.1.to_owned());
            async move {
                let mut headers = vec![(name, value.as_str())];
                headers.extend(origin.map(|it| ("origin", it)));
                ask(app, way, &app.path("c/all"), &headers).await.status
            }
        };
        for way in Way::STREAMS {
            assert_eq!(
                with(("cookie", &cookie), way).await,
                expected,
                "F4 CORS-04 {origin:?} {way:?}"
            );
        }
        assert_eq!(
            with(("authorization", &password), Way::WebSocket).await,
            expected,
            "F4 CORS-04 {origin:?}"
        );
        assert_eq!(with(("authorization", &password), Way::Sse).await, 200, "F4 {origin:?}");
        assert_eq!(with(("authorization", &token), Way::WebSocket).await, 200, "F4 {origin:?}");
    }
}
