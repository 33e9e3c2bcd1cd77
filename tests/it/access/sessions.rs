//! Open sessions and the rights they were opened with: they end with their credential and when what they may
//! see changes, and come back without loss.

use bson::{Document, doc};
use serde_json::json;

use super::{
    deployment::{Deployment, Way, ask, everywhere, hashed, permission, socket_as, sse_as},
    tokens::{basic, bearer, bearer_of, claims, in_seconds, with},
};
use crate::support::{
    TestApp, all, client::key, eventually, http, listens, sse::Sse, tailwater::Folder, unused_port,
    websocket::Socket,
};

async fn started() -> TestApp {
    Deployment::new().await.permissions([everywhere(doc! {})]).await.start().await
}

/// A session ends with its token, at that moment, on either transport; with a new one it goes on where it was.
#[tokio::test]
async fn sessions_end_with_their_token() {
    let app = started().await;
    let short = bearer(&with(claims("ann", &["user"]), &json!({ "exp": in_seconds(3) })));
    let mut sse = sse_as(&app, &short, "c/all").await;
    let mut socket = socket_as(&app, &short, "c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!((key(&sse.change().await), key(&socket.json().await)), (1, 1));
    let id = sse.last_id.clone();
    let closed = sse.until("close").await.json();
    assert_eq!(
        (&closed["code"], &closed["reconnect"]),
        (&4401.into(), &true.into()),
        "A27 AUTH-01"
    );
    assert!(sse.rest().await.is_empty(), "A27: nothing comes after it");
    assert_eq!(socket.closed().await, (4401, "credentials expired".to_owned()), "A27 AUTH-01");
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    for way in Way::ALL {
        let path = if way == Way::Read { app.coll_path("c") } else { app.path("c/all") };
        let answer = ask(&app, way, &path, &[("authorization", &short)]).await;
        assert_eq!(answer.status, 401, "AUTH-04 {way:?}");
    }
    let renewed = bearer_of("ann", &["user"]);
    let headers = [("authorization", renewed.as_str()), ("last-event-id", id.as_str())];
    let mut back = Sse::open(app.address, &app.path("c/all"), &headers).await;
    assert_eq!(key(&back.change().await), 2, "AUTH-05: nothing is lost over the renewal");
}

/// So does an entity feed, which comes back with the id of the last event.
#[tokio::test]
async fn a_feed_ends_with_its_token() {
    let deployment = Deployment::new().await;
    let order = format!(
        "entities: [{{ name: Order, collection: {}.c, source: /c, events: [{{ name: c }}] }}]",
        deployment.db.name()
    );
    let folder = Folder::new().with("shop.yaml", &order);
    let entities = format!("entities: {}", folder.path());
    let app = deployment.with(&entities).permissions([everywhere(doc! {})]).await.start().await;
    let path = "/api/subscribe/Order";
    let short = bearer(&with(claims("ann", &["user"]), &json!({ "exp": in_seconds(3) })));
    let mut sse = Sse::begin(app.address, path, &[("authorization", &short)]).await;
    let mut socket = Socket::as_user(app.address, path, None, &short).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(sse.event().await.json()["subject"], "1");
    assert_eq!(socket.json().await["subject"], "1");
    let id = sse.last_id.clone();
    let closed = sse.until("close").await.json();
    assert_eq!((&closed["code"], &closed["reconnect"]), (&4401.into(), &true.into()), "AUTH-01");
    assert!(sse.rest().await.is_empty(), "AUTH-01: nothing comes after it");
    assert_eq!(socket.closed().await, (4401, "credentials expired".to_owned()), "AUTH-01");
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    let headers = [("authorization", short.as_str()), ("accept", "text/event-stream")];
    assert_eq!(http::request(app.address, "GET", path, &headers, "").await.status, 401, "AUTH-04");
    let renewed = bearer_of("ann", &["user"]);
    let headers = [("authorization", renewed.as_str()), ("last-event-id", id.as_str())];
    let mut back = Sse::begin(app.address, path, &headers).await;
    assert_eq!(back.event().await.json()["subject"], "2", "AUTH-05");
}

/// A credential that is over is refused without asking MongoDB, which may be away.
#[tokio::test]
async fn expired_tokens_cost_nothing() {
    let dead = format!("mongodb://127.0.0.1:{}/?serverSelectionTimeoutMS=60000", unused_port());
    let db = crate::support::mongod::fresh_database().await;
    let secret = super::tokens::SECRET;
    let yaml = format!("auth: {{ jwt: {{ key: {secret} }} }}");
    let app = TestApp::away(&dead, db, &yaml).await;
    let expired = bearer(&with(claims("ann", &["user"]), &json!({ "exp": in_seconds(-1) })));
    let asked = tokio::time::Instant::now();
    for _ in 0..200 {
        let answer = ask(&app, Way::Sse, "/a/b/_streams/c", &[("authorization", &expired)]).await;
        assert_eq!(answer.status, 401, "AUTH-04");
    }
    assert!(asked.elapsed().as_secs() < 5, "AUTH-04: {:?}", asked.elapsed());
    let valid = bearer_of("ann", &["user"]);
    let answer = ask(&app, Way::Sse, "/a/b/_streams/c", &[("authorization", &valid)]).await;
    assert_eq!(answer.status, 503, "what is not known yet is neither allowed nor denied");
    assert_eq!(app.get("/_/health/ready").await.status, 503);
}

/// Whatever changes about a user or a permission reaches the sessions that are open, and no others.
#[tokio::test]
async fn changes_reach_open_sessions() {
    let app = started().await;
    let users = app.db.collection::<Document>("users");
    let acl = app.db.collection::<Document>("acl");
    let nora = async |line: &str| {
        let user =
            doc! { "_id": "nora", "roles": ["user"], "password": hashed("nora"), "team": "a" };
        users.replace_one(doc! { "_id": "nora" }, user).upsert(true).await.unwrap();
        let login = basic("nora", "nora");
        eventually(line, async || {
            ask(&app, Way::Sse, &app.path("c/all"), &[("authorization", &login)]).await.status
                == 200
        })
        .await;
        (sse_as(&app, &login, "c/all").await, socket_as(&app, &login, "c/all").await)
    };
    let mut bob = sse_as(&app, &basic("bob", "bob"), "c/all").await;
    let check = async |line: &str, (mut sse, mut socket): (Sse, Socket), code: u16| {
        assert_eq!(sse.until("close").await.json()["code"], code, "AUTH-03 E21 {line}");
        assert_eq!(socket.closed().await.0, code, "AUTH-03 E21 {line}");
    };
    let update = async |set: Document| {
        users.update_one(doc! { "_id": "nora" }, doc! { "$set": set }).await.unwrap();
    };
    let open = nora("deleted").await;
    users.delete_one(doc! { "_id": "nora" }).await.unwrap();
    check("deleted", open, 4401).await;
    let open = nora("another password").await;
    update(doc! { "password": hashed("other") }).await;
    check("another password", open, 4401).await;
    let open = nora("no roles").await;
    update(doc! { "roles": [] }).await;
    check("no roles", open, 4403).await;
    let open = nora("the root role").await;
    update(doc! { "roles": ["admin"] }).await;
    check("the root role", open, 4403).await;
    // What no permission asks about changes nothing for anybody.
    let (mut sse, _socket) = nora("a property").await;
    update(doc! { "team": "b" }).await;
    acl.insert_one(permission("other", "path-prefix('/')", doc! {})).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(key(&sse.change().await), 1, "E21");
    assert_eq!(key(&bob.change().await), 1, "E21: who is not concerned notices nothing");
    acl.update_one(
        doc! { "roles": "user" },
        doc! { "$set": { "mongo": { "projectResponse": { "x": 0 } } } },
    )
    .await
    .unwrap();
    assert_eq!(bob.until("close").await.json()["code"], 4403, "E21: another projection");
}

/// What a stream asks of its caller decides what is shown, too: when that changes, whoever is shown it has to
/// come back, and then sees what the new value shows.
#[tokio::test]
async fn values_that_streams_ask_for_are_rights() {
    let deployment = Deployment::new().await;
    let users = deployment.db.collection::<Document>("users");
    let update = async |set: Document| {
        users.update_one(doc! { "_id": "ann" }, doc! { "$set": set }).await.unwrap();
    };
    update(doc! { "team": "red" }).await;
    let app = deployment.permissions([everywhere(doc! {})]).await.start().await;
    let team = doc! { "_$match": { "fullDocument::team": { "$var": "@user.team" } } };
    let notify = doc! { "fullDocument::team": { "$var": "@user['team']" } };
    app.declare(
        "t",
        vec![
            doc! { "uri": "match", "stages": [&team] },
            doc! { "uri": "optional", "stages": [{ "$ifvar": ["@user.team", &team] }] },
            doc! { "uri": "notify", "stages": [], "notify_when": notify },
            doc! { "uri": "whole", "stages": [{ "_$set": { "by": { "$var": "@user" } } }] },
        ],
    )
    .await;
    let login = basic("ann", "ann");
    let mut open = Vec::new();
    for uri in ["match", "optional", "notify"] {
        let stream = format!("t/{uri}");
        let sse = sse_as(&app, &login, &stream).await;
        open.push((uri, sse, socket_as(&app, &login, &stream).await));
    }
    let mut whole = sse_as(&app, &login, "t/whole").await;
    update(doc! { "seen": 1 }).await;
    assert_eq!(
        whole.until("close").await.json()["code"],
        4403,
        "E21: all of the user was asked for"
    );
    app.coll("t").insert_one(doc! { "_id": 1, "team": "red" }).await.unwrap();
    for (uri, sse, socket) in &mut open {
        let seen = (key(&sse.change().await), key(&socket.json().await));
        assert_eq!(seen, (1, 1), "E21 {uri}: nobody asked for what changed");
    }
    update(doc! { "team": "blue" }).await;
    for (uri, sse, socket) in &mut open {
        assert_eq!(sse.until("close").await.json()["code"], 4403, "E21 {uri}");
        assert_eq!(socket.closed().await.0, 4403, "E21 {uri}");
        let id = sse.last_id.clone();
        let headers = [("authorization", login.as_str()), ("last-event-id", id.as_str())];
        *sse = Sse::open(app.address, &app.path(&format!("t/{uri}")), &headers).await;
    }
    let teams = [doc! { "_id": 2, "team": "red" }, doc! { "_id": 3, "team": "blue" }];
    app.coll("t").insert_many(teams).await.unwrap();
    for (uri, sse, _) in &mut open {
        assert_eq!(key(&sse.change().await), 3, "E21 {uri}");
    }
}

/// A ticket opens its stream again and again, as a browser comes back, until it is over; it opens no other, on
/// no other way, and is told to no log.
#[tokio::test]
async fn tickets_serve_browsers() {
    let filter = doc! { "readFilter": { "owner": "@user._id" } };
    let app = Deployment::new()
        .await
        .auth("tickets: { ttl: 3s }")
        .permissions([everywhere(filter)])
        .await;
    let app = app.start().await;
    let path = app.path("c/all");
    let body = json!({ "path": format!("{path}?x=1") }).to_string();
    for (user, expected) in [("ann", 201), ("nobody", 401)] {
        assert_eq!(
            app.as_user_with(user, "POST", "/_/tickets", &body).await.status,
            expected,
            "ACL-06"
        );
    }
    assert_eq!(app.send("POST", "/_/tickets", &body).await.status, 401, "ACL-06");
    let ticket = app.as_user_with("ann", "POST", "/_/tickets", &body).await.json();
    let url = ticket["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("{path}?x=1&ticket=")), "{url}");
    let mut last = String::new();
    for id in 0..3 {
        let headers: &[(&str, &str)] = if id == 0 { &[] } else { &[("last-event-id", &last)] };
        let mut sse = Sse::open(app.address, url, headers).await;
        app.coll("c").insert_one(doc! { "_id": 10 + id, "owner": "bob" }).await.unwrap();
        app.coll("c").insert_one(doc! { "_id": id, "owner": "ann" }).await.unwrap();
        assert_eq!(key(&sse.change().await), i64::from(id), "URL-02");
        last.clone_from(&sse.last_id);
    }
    Socket::open(app.address, url, None).await;
    let query = format!("?ticket={}", ticket["ticket"].as_str().unwrap());
    for path in
        [app.coll_path("c"), app.path("c/other"), "/_/explain".to_owned(), "/_/tickets".to_owned()]
    {
        let answer = ask(&app, Way::Sse, &format!("{path}{query}"), &[]).await;
        assert!(matches!(answer.status, 401 | 405), "URL-02 {path}: {}", answer.status);
    }
    eventually("URL-02: the ticket is over", async || {
        ask(&app, Way::Sse, url, &[]).await.status == 401
    })
    .await;
}

/// A page that buys tickets works where authentication is off, too, as on a developer's machine; the ticket of
/// nobody opens nothing where it is on.
#[tokio::test]
async fn tickets_work_where_authentication_is_off() {
    let shared = format!("position_key: {}", "ab".repeat(32));
    let app = TestApp::configured(&shared).await;
    app.declare("c", vec![all()]).await;
    let path = app.path("c/all");
    let asked = json!({ "path": path }).to_string();
    let ticket = app.send("POST", "/_/tickets", &asked).await;
    assert_eq!(ticket.status, 201, "{}", ticket.body);
    let url = ticket.json()["url"].as_str().unwrap().to_owned();
    let mut sse = Sse::open(app.address, &url, &[]).await;
    let mut socket = Socket::open(app.address, &url, None).await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!((key(&sse.change().await), key(&socket.json().await)), (1, 1));
    let guarded = TestApp::guarded_in(app.db.clone(), &shared).await;
    assert_eq!(ask(&guarded, Way::Sse, &url, &[]).await.status, 401);
    let asked = json!({ "path": "/_/ws" }).to_string();
    assert_eq!(app.send("POST", "/_/tickets", &asked).await.status, 201);
    assert_eq!(guarded.send("POST", "/_/tickets", &asked).await.status, 401);
}

/// No credential reaches the log, whatever its level and whatever goes wrong.
#[tokio::test]
async fn credentials_stay_out_of_the_log() {
    let app = started().await;
    let port = unused_port();
    let listen = format!("127.0.0.1:{port}");
    let uri = crate::support::mongod::shared_uri().await;
    let (db, secret) = (app.db.name(), super::tokens::SECRET);
    let folder = crate::support::tailwater::Folder::new().with(
        "t.yaml",
        &format!(
            "mongodb: {{ uri: \"{uri}\" }}\nlisten: {listen}\nauth: {{ basic: {{ database: {db} }}, jwt: {{ key: {secret} }} }}\nacl: {{ database: {db} }}\n"
        ),
    );
    let config = format!("{}/t.yaml", folder.path());
    let log = std::path::Path::new(folder.path()).join("log");
    let mut serve = tokio::process::Command::new(env!("CARGO_BIN_EXE_tailwater"));
    serve.args(["serve", "--config", &config]).env("RUST_LOG", "trace").kill_on_drop(true);
    let mut serve = serve.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    eventually("the service listens", async || listens(port).await).await;
    let address = listen.parse().unwrap();
    let path = app.path("c/all");
    let service = TestApp::of(address, app.db.clone());
    eventually("the service is ready", async || service.get("/_/health/ready").await.status == 200)
        .await;
    let ticket = service
        .as_user_with("ann", "POST", "/_/tickets", &json!({ "path": path }).to_string())
        .await;
    let ticket = ticket.json()["ticket"].as_str().unwrap().to_owned();
    let token = super::tokens::signed(&claims("ann", &["user"]));
    for path in [
        format!("{path}?ticket={ticket}"),
        format!("{path}?ticket={ticket}&avars=%7B"),
        format!("{path}x?ticket={ticket}"),
        format!("{path}?access_token={token}"),
        format!("{path}?ticket={token}"),
    ] {
        for way in Way::ALL {
            ask(&service, way, &path, &[]).await;
        }
    }
    let (bearer, cookie) = (format!("Bearer {token}"), format!("rh_auth=Bearer_{token}x"));
    ask(&service, Way::Sse, &path, &[("authorization", &bearer)]).await;
    ask(&service, Way::Sse, &path, &[("cookie", &cookie)]).await;
    ask(&service, Way::Sse, &path, &[("authorization", &basic("ann", "hush-hush"))]).await;
    let headers = [("sec-websocket-protocol", token.as_str())];
    ask(&service, Way::WebSocket, &path, &headers).await;
    serve.kill().await.unwrap();
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "everything is logged: {log:.500}");
    for line in log.lines() {
        for secret in [&ticket, &token, "hush-hush", secret] {
            assert!(!line.contains(secret), "URL-01: {line}");
        }
    }
}

/// A credential in the subprotocol is none, and is not given back.
#[tokio::test]
async fn subprotocols_carry_no_credential() {
    let app = started().await;
    let token = super::tokens::signed(&claims("ann", &["user"]));
    for offered in
        [format!("tailwater.v1, {token}"), format!("{token}, tailwater.v1"), token.clone()]
    {
        let headers = [("sec-websocket-protocol", offered.as_str())];
        let answer = ask(&app, Way::WebSocket, &app.path("c/all"), &headers).await;
        assert_eq!(answer.status, 401, "URL-04 {offered}");
        let bearer = format!("Bearer {token}");
        let headers = [("sec-websocket-protocol", offered.as_str()), ("authorization", &bearer)];
        let answer = ask(&app, Way::WebSocket, &app.path("c/all"), &headers).await;
        assert_eq!(answer.status, 200, "URL-04 {offered}");
        let chosen = answer.headers.get("sec-websocket-protocol").map(|it| it.to_str().unwrap());
        let expected = offered.contains("tailwater.v1").then_some("tailwater.v1");
        assert_eq!(chosen, expected, "URL-04 {offered}");
    }
    let head = http::request(app.address, "HEAD", &app.path("c/all"), &[], "").await;
    assert_eq!(head.status, 401, "ACL-06");
}
