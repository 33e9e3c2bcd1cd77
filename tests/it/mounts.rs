//! Mounts: the same streams under other paths, and links that name the path the client used.

use bson::doc;

use crate::support::{TestApp, all, http, mongod, sse::Sse, websocket::Socket};

/// A service with these mounts; `DB` stands for the test's database.
async fn mounted(mounts: &str) -> TestApp {
    let db = mongod::fresh_database().await;
    let mounts = mounts.replace("DB", db.name());
    let uri = mongod::shared_uri().await;
    let app = TestApp::at(&uri, db, &format!("mounts: {mounts}")).await;
    app.declare("c", vec![all(), doc! { "uri": "_streams", "stages": [] }]).await;
    app
}

/// A stream opens below a mount over both transports, is listed with links that work, and names the mounted
/// path as the way back.
async fn check(app: &TestApp, base: &str, host: Option<&str>) {
    let coll = app.coll("c");
    let with_host = host.map(|host| ("host", host));
    let mut headers: Vec<_> = with_host.into_iter().collect();
    headers.push(("last-event-id", "unknown"));
    for stream in ["_streams/all", "_streams/_streams", "_STREAMS/all/and/more", "%5Fstreams/all"] {
        let path = format!("{base}/{stream}");
        let mut sse = Sse::open(app.address, &path, &headers).await;
        let reset = sse.event().await;
        assert!(reset.is("reset"), "{reset:?}");
        assert_eq!(reset.json()["recover"]["link"], base, "{path}");
        coll.insert_one(doc! { "v": 1 }).await.unwrap();
        assert_eq!(sse.change().await["ns"]["coll"], "c");
    }
    if host.is_some() {
        return;
    }
    let mut socket = Socket::open(app.address, &format!("{base}/_streams/all"), None).await;
    coll.insert_one(doc! { "_id": "ws" }).await.unwrap();
    assert_eq!(socket.json().await["documentKey"]["_id"], "ws");
    let listed = app.get(&format!("{base}/_streams")).await.json();
    let link = listed[0]["link"].as_str().unwrap();
    assert_eq!(link, format!("{base}/_streams/all"));
    Sse::open(app.address, link, &[]).await;
}

/// Plain mounts of everything, of a database and of a collection.
#[tokio::test]
async fn plain_mounts_serve_streams() {
    for (mounts, base) in [
        (r#"[{ what: "*", where: "/" }]"#, "/DB/c"),
        (r#"[{ what: "*", where: "/api/v1" }]"#, "/api/v1/DB/c"),
        (r#"[{ what: "/DB", where: "/" }]"#, "/c"),
        (r#"[{ what: "/DB", where: "/shop/" }]"#, "/shop/c"),
        (r#"[{ what: "/DB/c", where: "/feeds" }]"#, "/feeds"),
        (
            r#"[{ what: "/DB/c", where: "/a/b/feeds" }, { what: "/other", where: "/a" }]"#,
            "/a/b/feeds",
        ),
        (r#"[{ what: "/DB/c", where: "/_streams" }]"#, "/_streams"),
    ] {
        let app = mounted(mounts).await;
        check(&app, &base.replace("DB", app.db.name()), None).await;
    }
}

/// RESTHeart's own name for the setting, and the prefix that its configuration ships with.
#[tokio::test]
async fn mounts_are_known_under_their_old_name() {
    let db = mongod::fresh_database().await;
    let yaml = format!("mongo-mounts: [{{ what: \"/{}\", where: \"/\" }}]", db.name());
    let app = TestApp::at(&mongod::shared_uri().await, db, &yaml).await;
    app.declare("c", vec![all()]).await;
    Sse::open(app.address, "/c/_streams/all", &[]).await;
}

/// Templates take names from the path and from the host.
#[tokio::test]
async fn template_mounts_serve_streams() {
    let tenant = mounted(r#"[{ what: "/{tenant}/{*}", where: "/t/{tenant}/{*}" }]"#).await;
    let base = format!("/t/{}/c", tenant.db.name());
    check(&tenant, &base, None).await;

    let by_host = mounted(r#"[{ what: "/{host[0]}/{*}", where: "/own/{*}" }]"#).await;
    let host = format!("{}.example.org:8080", by_host.db.name());
    check(&by_host, "/own/c", Some(&host)).await;
    for host in ["", "example.org", "ADMIN.example.org", "a%2Fb.x", "..", "\u{2603}.x"] {
        let head = format!(
            "GET /own/c/_streams/all HTTP/1.1\r\naccept: text/event-stream\r\nhost: {host}"
        );
        let answer = http::raw_answer(by_host.address, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{host}: {answer}");
    }
}

/// Hosts lead each to its own database: the same path never shares a cursor between them.
#[tokio::test]
async fn hosts_are_kept_apart() {
    let app = mounted(r#"[{ what: "/{host[0]}/{*}", where: "/{*}" }]"#).await;
    let other = mongod::fresh_database().await;
    app.db.collection("x").insert_one(doc! {}).await.unwrap();
    let stored = other.collection("_properties");
    stored.insert_one(doc! { "_id": "_properties.c", "streams": [all()] }).await.unwrap();
    let open = async |db: &str| {
        let host = format!("{db}.example.org");
        Sse::open(app.address, "/c/_streams/all", &[("host", &host)]).await
    };
    let (mut ours, mut theirs) = (open(app.db.name()).await, open(other.name()).await);
    other.collection("c").insert_one(doc! { "_id": "theirs" }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": "ours" }).await.unwrap();
    assert_eq!(ours.change().await["documentKey"]["_id"], "ours");
    assert_eq!(theirs.change().await["documentKey"]["_id"], "theirs");
}

/// A path outside every mount is 404, in the contract's body.
#[tokio::test]
async fn outside_every_mount_there_is_nothing() {
    let app = mounted(r#"[{ what: "/DB", where: "/shop" }]"#).await;
    for path in ["/c/_streams/all", "/shopping/c/_streams/all", "/Shop/c/_streams/all", "/"] {
        let answer = app.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["http status code"], 404);
    }
    assert_eq!(app.get("/_/health/live").await.status, 200, "the service's own stays where it is");
}
