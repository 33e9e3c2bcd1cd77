//! Tailwater inside another application: as its example does it.

use bson::{Document, doc};
use tailwater::{Router, access::Identity, config::Config};
use tokio::{net::TcpListener, sync::oneshot};

use crate::support::{
    TestApp, all, eventually, http,
    mongod::{connect, fresh_database, shared_uri},
    sse::Sse,
    tailwater::Folder,
    websocket::Socket,
};

#[path = "../../examples/embed.rs"]
#[expect(dead_code, reason = "its `main` is not run here")]
mod example;

/// Callers are those whom the host knows, links are where the host serves them, and at the end each stream
/// has its last frame.
#[tokio::test]
async fn the_example_serves_and_ends() {
    let db = fresh_database().await;
    let permission = doc! { "roles": ["user"], "predicate": "path-prefix('/')", "priority": 1, "mongo": { "readFilter": { "owner": "@user._id" } } };
    db.collection::<Document>("acl").insert_one(permission).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let app = TestApp::of(listener.local_addr().unwrap(), db.clone());
    app.declare("c", vec![all()]).await;
    let (stop, told) = oneshot::channel::<()>();
    let cursors = connect(&shared_uri().await).await;
    let name = db.name();
    let declared = format!(
        "entities: [{{ name: Case, collection: {name}.c, source: /c, events: [{{ name: e }}] }}]\n"
    );
    let folder = Folder::new().with("c.yaml", &declared);
    let entities = Some(folder.path().into());
    let serving = example::serve(db, cursors, entities, listener, async { drop(told.await) });
    let serving = tokio::spawn(serving);

    assert_eq!(app.get("/").await.body, "the host's own page\n");
    let path = format!("/live{}", app.path("c/all"));
    let accept = ("accept", "text/event-stream");
    let stranger = app.with("GET", &path, &[accept]).await;
    assert_eq!((stranger.status, stranger.body.as_str()), (401, ""));
    eventually("permissions are seen", async || {
        let read = format!("/live{}", app.coll_path("c"));
        app.with("GET", &read, &[("x-user", "ann")]).await.status != 403
    })
    .await;
    let mut ann = Sse::open(app.address, &path, &[("x-user", "ann")]).await;
    let mut root =
        Sse::open(app.address, &path, &[("x-user", "root"), ("last-event-id", "lost")]).await;
    let feed = "/live/api/subscribe/Case";
    let mut cases = Sse::begin(app.address, feed, &[("x-user", "ann")]).await;
    assert!(cases.block().await.comments[0].starts_with("connected sub="));
    let link = root.until("reset").await.json()["recover"]["link"].as_str().unwrap().to_owned();
    for owner in ["bob", "ann"] {
        app.coll("c").insert_one(doc! { "_id": owner, "owner": owner }).await.unwrap();
    }
    assert_eq!(app.with("GET", &link, &[("x-user", "root")]).await.status, 200, "{link}");
    assert_eq!(ann.change().await["documentKey"]["_id"], "ann");
    assert_eq!(root.change().await["documentKey"]["_id"], "bob");
    assert_eq!(
        cases.until("entity.create").await.json()["subject"],
        "ann",
        "filtered as streams are"
    );
    // What a page buys with the host's word is good without it, for its path and its reader.
    for (number, asked) in [app.path("c/all"), path.clone()].into_iter().enumerate() {
        let (asked, buyer) = (format!(r#"{{"path": "{asked}"}}"#), [("x-user", "ann")]);
        let ticket = http::request(app.address, "POST", "/live/_/tickets", &buyer, &asked).await;
        let url = ticket.json()["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("{path}?ticket=")), "{url}");
        let mut page = Sse::open(app.address, &url, &[]).await;
        for owner in ["bob", "ann"] {
            let document = doc! { "_id": format!("{owner} {number}"), "owner": owner };
            app.coll("c").insert_one(document).await.unwrap();
        }
        assert_eq!(page.change().await["documentKey"]["_id"], format!("ann {number}"));
        let forged = app.with("GET", &format!("{url}x"), &[accept]).await;
        assert_eq!(forged.status, 401, "a ticket that is none is no stranger either");
    }
    for (user, status) in [("ann", 403), ("root", 200)] {
        let answer = app.with("GET", "/live/_/status", &[("x-user", user)]).await;
        assert_eq!(answer.status, status, "{user}");
    }
    let elsewhere = app.with("GET", "/live/admin/x", &[("x-user", "root")]).await;
    assert_eq!(elsewhere.status, 404, "no other database is mounted");

    stop.send(()).unwrap();
    for stream in [ann, root] {
        assert_eq!(stream.rest().await.last().unwrap().json()["code"], 1012);
    }
    let rest = cases.rest().await;
    let [.., close, end] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!(
        (&close.json()["code"], &end.comments[0][..]),
        (&1012.into(), "server shutting down")
    );
    serving.await.unwrap().unwrap();
    eventually("no cursor is left", async || app.cursors("c").await == 0).await;
}

/// Dropping it ends its streams as closing it does, over both transports, and leaves the host alone.
#[tokio::test]
async fn dropping_it_ends_its_streams() {
    let db = fresh_database().await;
    let open = "auth: { insecure_no_auth: true }\nstreams: { drain: 1s }";
    let config = Config::from_yaml(std::path::Path::new("t.yaml"), open).unwrap();
    let built = Router::builder(db.clone()).configuration(config).prefix("/feeds").build().await;
    let tailwater = built.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let app = TestApp::of(listener.local_addr().unwrap(), db);
    app.declare("c", vec![all()]).await;
    let own = axum::routing::get(|| async { "mine" });
    let routes = tailwater.routes().route("/mine", own);
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });
    let (sse, mut socket) = (app.sse("c/all").await, app.socket("c/all").await);
    drop(tailwater);
    assert_eq!(sse.rest().await.last().unwrap().json()["code"], 1012);
    assert_eq!(socket.closed().await.0, 1012);
    let (status, _) = Socket::refused(app.address, &app.path("c/all")).await;
    assert_eq!(status, 503);
    assert_eq!(http::request(app.address, "GET", "/mine", &[], "").await.body, "mine");
    serving.abort();
}

/// Entity feeds come with it, and the host says whose a caller is.
#[tokio::test]
async fn entity_feeds_come_with_it() {
    let db = fresh_database().await;
    let name = db.name().to_owned();
    let declared = format!(
        "entities: [{{ name: Order, collection: {name}.orders, tenant: tenant, source: /o, events: [{{ name: e }}] }}]\n"
    );
    let folder = Folder::new().with("orders.yaml", &declared);
    let permission = doc! { "roles": ["user"], "predicate": "path-prefix('/api')", "priority": 1 };
    db.collection::<Document>("acl").insert_one(permission).await.unwrap();
    let settings =
        format!("auth: {{ basic: false }}\nacl: {{ database: {name}, collection: acl }}");
    let config = Config::from_yaml(std::path::Path::new("t.yaml"), &settings).unwrap();
    let tailwater = Router::builder(db.clone())
        .configuration(config)
        .entities(folder.path())
        .identity(|parts| {
            let tenant = parts.headers.get("x-tenant")?.to_str().ok()?;
            let properties = doc! { "tenant": tenant };
            let (id, roles) = ("ann".to_owned(), vec!["user".to_owned()]);
            Some(Identity { id, roles, properties, expires_at: None })
        })
        .build()
        .await
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let app = TestApp::of(listener.local_addr().unwrap(), db);
    let routes = axum::Router::new().nest("/live", tailwater.routes());
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });
    let path = "/live/api/subscribe/Order";
    assert_eq!(app.with("GET", path, &[("accept", "text/event-stream")]).await.status, 401);
    let mut acme = Sse::begin(app.address, path, &[("x-tenant", "acme")]).await;
    assert!(acme.block().await.comments[0].starts_with("connected sub="));
    for (id, tenant) in [(1, "globex"), (2, "acme")] {
        app.coll("orders").insert_one(doc! { "_id": id, "tenant": tenant }).await.unwrap();
    }
    let event = acme.until("entity.create").await.json();
    assert_eq!((event["subject"].as_str(), event["tenant"].as_str()), (Some("2"), Some("acme")));
    let lost = [("x-tenant", "acme"), ("last-event-id", "lost")];
    let mut lost = Sse::begin(app.address, path, &lost).await;
    let link = lost.until("reset").await.json()["recover"]["link"].take();
    assert_eq!(link, format!("/live/{name}/orders"));
    tailwater.close().await;
    assert_eq!(acme.until("close").await.json()["code"], 1012);
    serving.abort();
}

/// A prefix that no route can be under is refused, as it is in the configuration.
#[tokio::test]
async fn a_prefix_has_to_be_a_path() {
    let db = fresh_database().await;
    for prefix in ["", "/", "api", "/a b", "/_", "/_/x", "/a//b"] {
        let built = Router::builder(db.clone()).identity(|_| None).prefix(prefix).build().await;
        let error = built.unwrap_err().to_string();
        assert!(error.contains("prefix"), "{prefix}: {error}");
    }
}
