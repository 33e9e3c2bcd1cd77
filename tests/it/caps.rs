//! How much one client may take from the others: connections and cursors.

use bson::doc;
use tokio_tungstenite::tungstenite::Error;

use crate::{
    operators::{metric, series},
    support::{
        TestApp, add_user, all, eventually,
        fail_point::FailPoints,
        http::{self, Answer},
        mongod::{fresh_database_of, private},
        sse::Sse,
        websocket::Socket,
    },
};

async fn started(yaml: &str) -> TestApp {
    declared(TestApp::configured(yaml).await).await
}

async fn declared(app: TestApp) -> TestApp {
    let own = doc! { "uri": "own", "stages": [{ "$match": { "$expr": { "$eq": ["$fullDocument.x", { "$var": "x" }] } } }] };
    let other = doc! { "uri": "other", "stages": [{ "$match": { "$expr": { "$ne": ["$fullDocument.x", { "$var": "x" }] } } }] };
    app.declare("c", vec![all(), own, other]).await;
    app
}

/// The status, a wait that is drawn anew, and the contract's body.
#[track_caller]
fn check(answer: &Answer, status: u16, names: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert!(answer.message().contains(names), "{}", answer.body);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=8).contains(&wait), "{wait}");
}

async fn from(app: &TestApp, stream: &str, address: &str) -> Answer {
    let headers = [("accept", "text/event-stream"), ("x-forwarded-for", address)];
    http::request(app.address, "GET", &app.path(stream), &headers, "").await
}

/// One connection too many is told so, whatever it asks for, while probes of health are answered; when one
/// has left there is room again.
#[tokio::test]
async fn connections_in_all_are_capped() {
    let app = started("limits: { connections: 3 }").await;
    let first = app.sse("c/all").await;
    let others = (app.sse("c/all").await, app.socket("c/all").await);
    check(&app.refused("c/all").await, 503, "limits.connections");
    check(&app.get(&app.coll_path("c")).await, 503, "limits.connections");
    let (status, message) = Socket::refused(app.address, &app.path("c/all")).await;
    assert_eq!((status, message.contains("limits.connections")), (503, true), "{message}");
    assert_eq!(app.get("/_/health/live").await.status, 200);
    assert_eq!(app.get("/_/health/ready").await.status, 200);
    drop(first);
    eventually("there is room", async || app.open_status("c/all").await == 200).await;
    drop(others);
    eventually("the last ones are gone", async || app.get("/_/metrics").await.status == 200).await;
    assert!(metric(&app, "tailwater_refused_total{cap=\"connections\"}").await >= 3.0);
}

/// Waits are spread, so that those who were refused together do not come back together.
#[tokio::test]
async fn waits_are_spread() {
    let app = started("limits: { per_address: 1 }").await;
    let _first = app.sse("c/all").await;
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let answer = app.refused("c/all").await;
        check(&answer, 429, "limits.per_address");
        waits.insert(answer.header("retry-after").unwrap().to_owned());
    }
    assert!(waits.len() > 1, "{waits:?}");
}

/// Streams of one address are capped, over both transports; the address is what a trusted proxy says, and
/// nobody else is believed.
#[tokio::test]
async fn connections_of_an_address_are_capped() {
    let app = started("limits: { per_address: 2 }\ntrusted_proxies: [127.0.0.1]").await;
    let path = app.path("c/all");
    let open =
        async |address: &str| Sse::open(app.address, &path, &[("x-forwarded-for", address)]).await;
    let first = open("192.0.2.1").await;
    let _second = open("198.51.100.7, 192.0.2.1").await;
    check(&from(&app, "c/all", "192.0.2.1").await, 429, "limits.per_address");
    let _another = open("192.0.2.2").await;
    let forwarded = [("accept", "text/event-stream"), ("forwarded", "for=192.0.2.1;proto=http")];
    check(&app.with("GET", &path, &forwarded).await, 429, "limits.per_address");
    drop(first);
    eventually("there is room", async || {
        let headers = [("accept", "text/event-stream"), ("x-forwarded-for", "192.0.2.1")];
        http::begin(app.address, "GET", &path, &headers, "").await.status() == 200
    })
    .await;

    let direct = started("limits: { per_address: 2 }").await;
    let _held = (direct.sse("c/all").await, direct.socket("c/all").await);
    check(&from(&direct, "c/all", "192.0.2.9").await, 429, "limits.per_address");
    let (status, _) = Socket::refused(direct.address, &direct.path("c/all")).await;
    assert_eq!(status, 429);
    assert_eq!(direct.get("/_/health/live").await.status, 200);
}

/// Strangers are capped by their address where principals are capped.
#[tokio::test]
async fn streams_of_a_principal_are_capped() {
    let app = started("limits: { per_principal: 1 }\ntrusted_proxies: [127.0.0.1]").await;
    let path = app.path("c/all");
    let _first = Sse::open(app.address, &path, &[("x-forwarded-for", "192.0.2.1")]).await;
    check(&from(&app, "c/all", "192.0.2.1").await, 429, "limits.per_principal");
    let _other = Sse::open(app.address, &path, &[("x-forwarded-for", "192.0.2.2")]).await;

    let guarded = administered("limits: { per_principal: 1 }").await;
    let path = guarded.path("c/all");
    let _ann = Sse::open(guarded.address, &path, &basic("ann")[..1]).await;
    check(&guarded.with("GET", &path, &basic("ann")).await, 429, "limits.per_principal");
    let _bob = Sse::open(guarded.address, &path, &basic("bob")[..1]).await;
}

/// Cursors that only one binding can use are capped per stream and in all. Equal bindings share
/// one, shared cursors do not count, and what merely lingers makes room.
#[tokio::test]
async fn own_cursors_are_capped() {
    for (caps, second, names) in [
        ("per_stream: 1", "c/own?x=2", "streams.own_cursors.per_stream"),
        ("total: 1", "c/other?x=1", "streams.own_cursors.total"),
    ] {
        let app = started(&format!("streams: {{ linger: 1h, own_cursors: {{ {caps} }} }}")).await;
        let first = app.sse("c/own?x=1").await;
        let _equal = app.sse("c/own?x=1").await;
        let _shared = app.sse("c/all").await;
        check(&app.refused(second).await, 503, names);
        let (status, message) = Socket::refused(app.address, &app.path(second)).await;
        assert_eq!((status, message.contains(names)), (503, true), "{message}");
        assert_eq!(metric(&app, "tailwater_cursors{sharing=\"own\"}").await, 1.0);
        assert_eq!(metric(&app, "tailwater_refused_total{cap=\"own_cursors\"}").await, 2.0);
        drop((first, _equal));
        eventually("what lingers makes room", async || app.open_status(second).await == 200).await;
        app.stop().await;
    }
}

/// So are those of one principal, whatever the stream; another one has its own.
#[tokio::test]
async fn own_cursors_of_a_principal_are_capped() {
    let app = administered("streams: { own_cursors: { per_principal: 1 } }").await;
    let _first = Sse::open(app.address, &app.path("c/own?x=1"), &basic("ann")[..1]).await;
    let other = app.path("c/other?x=1");
    let refused = app.with("GET", &other, &basic("ann")).await;
    check(&refused, 503, "streams.own_cursors.per_principal");
    let _bob = Sse::open(app.address, &other, &basic("bob")[..1]).await;
}

/// A client that comes again and again without a pause for what it may not have is soon told to wait, which
/// costs MongoDB nothing. Another credential is another caller, and probes of health are answered.
#[tokio::test]
async fn refusals_of_a_caller_are_capped() {
    let mongod = private().await;
    let db = fresh_database_of(&mongod.uri()).await;
    add_user(&db, "ann", "nobody", None).await;
    add_user(&db, "bob", "admin", None).await;
    let app = TestApp::guarded_at(&mongod.uri(), db, "limits: { refusals: 50 }").await;
    let app = declared(app).await;
    let path = app.path("c/all");
    let _bob = Sse::open(app.address, &path, &basic("bob")[..1]).await;
    let refused = async || {
        let authorization = basic("ann")[0].1;
        match Socket::as_user(app.address, &path, None, authorization).await {
            Err(Error::Http(response)) => response.status().as_u16(),
            other => panic!("{:?}", other.err()),
        }
    };
    for _ in 0..50 {
        assert_eq!(refused().await, 403);
    }
    let faults = FailPoints::of(&mongod.uri()).await;
    let asked = async || faults.count("find").await + faults.count("aggregate").await;
    let before = asked().await;
    for _ in 0..200 {
        assert_eq!(refused().await, 429);
    }
    assert_eq!(asked().await, before, "nothing was looked up");
    check(&app.with("GET", &path, &basic("ann")).await, 429, "limits.refusals");
    let page = app.as_user("bob", "GET", "/_/metrics").await.body;
    assert_eq!(series(&page, "tailwater_refused_total{cap=\"refusals\"}"), Some(201.0));
    let _again = Sse::open(app.address, &path, &basic("bob")[..1]).await;
    assert_eq!(app.with("GET", "/_/health/live", &basic("ann")).await.status, 200);
    mongod.stop().await.unwrap();
}

/// With administrators `ann` and `bob`.
async fn administered(yaml: &str) -> TestApp {
    let app = declared(TestApp::guarded(yaml).await).await;
    for name in ["ann", "bob"] {
        add_user(&app.db, name, "admin", None).await;
    }
    app
}

fn basic(user: &str) -> [(&'static str, &'static str); 2] {
    let authorization = if user == "ann" { "Basic YW5uOmFubg==" } else { "Basic Ym9iOmJvYg==" };
    [("authorization", authorization), ("accept", "text/event-stream")]
}
