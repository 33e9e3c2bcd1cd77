//! Whose streams one connection may carry, and what becomes of them when rights change.

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::doc;
use serde_json::{Value, json};
use tailwater::access::hash_password;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

use crate::support::{TestApp, all, client::key, eventually, http, sse::Sse, websocket::Socket};

/// `ann` reads her own documents of `a` and `b`; `c` is for administrators; `p` is open to anybody.
async fn guarded() -> TestApp {
    let app = TestApp::guarded("streams: { heartbeat: off }").await;
    let users = app.db.collection("users");
    let user =
        doc! { "_id": "ann", "password": hash_password("ann", 4).unwrap(), "roles": ["user"] };
    users.insert_one(user).await.unwrap();
    let permission = |id: &str, coll: &str, role: &str, own: bool| {
        let mongo = if own {
            doc! { "readFilter": { "owner": "@user._id" } }
        } else {
            doc! {}
        };
        let path = format!("path-prefix('{}')", app.coll_path(coll));
        doc! { "_id": id, "roles": [role], "predicate": path, "priority": 1, "mongo": mongo }
    };
    let acl = [
        permission("a", "a", "user", true),
        permission("b", "b", "user", true),
        permission("p", "p", "$unauthenticated", false),
    ];
    app.db.collection("acl").insert_many(acl).await.unwrap();
    for coll in ["a", "b", "c", "p"] {
        app.declare(coll, vec![all()]).await;
    }
    eventually("permissions are seen", async || {
        app.as_user("ann", "GET", &app.coll_path("b")).await.status != 403
            && app.get(&app.coll_path("p")).await.status != 401
    })
    .await;
    app
}

fn basic() -> String {
    format!("Basic {}", STANDARD.encode("ann:ann"))
}

fn sse_path(app: &TestApp, colls: &[&str]) -> String {
    let stream = |coll: &&str| format!("stream={}", app.path(&format!("{coll}/all")));
    format!("/_/sse?{}", colls.iter().map(stream).collect::<Vec<_>>().join("&"))
}

/// A socket opened as `ann`.
async fn socket(app: &TestApp, path: &str) -> Socket {
    let mut request = format!("ws://{}{path}", app.address).into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("authorization", basic().parse().unwrap());
    headers.insert("sec-websocket-protocol", "tailwater.v1".parse().unwrap());
    let connection = tokio::net::TcpStream::connect(app.address).await.unwrap();
    let (stream, _) = tokio_tungstenite::client_async(request, connection).await.unwrap();
    Socket { stream, protocol: None }
}

async fn subscribe(socket: &mut Socket, app: &TestApp, coll: &str) -> Value {
    let path = app.path(&format!("{coll}/all"));
    let message = json!({ "subscribe": { "path": path }, "ref": coll });
    socket.send(Message::text(message.to_string())).await;
    socket.json().await
}

/// Each stream is opened with the rights that its own path has; one that is forbidden refuses all.
#[tokio::test]
async fn each_path_has_its_own_permission() {
    let app = guarded().await;
    let authorization = basic();
    let headers = [("authorization", authorization.as_str()), ("accept", "text/event-stream")];
    let mut sse = Sse::begin(app.address, &sse_path(&app, &["a", "b"]), &headers[..1]).await;
    sse.until("ready").await;
    sse.until("ready").await;
    for coll in ["a", "b"] {
        let coll = app.coll(coll);
        coll.insert_many([doc! { "_id": 1, "owner": "bob" }, doc! { "_id": 2, "owner": "ann" }])
            .await
            .unwrap();
    }
    for _ in 0..2 {
        assert_eq!(key(&sse.until("change").await.json()["data"]), 2);
    }
    let path = sse_path(&app, &["a", "c"]);
    let refused = http::request(app.address, "GET", &path, &headers, "").await;
    assert_eq!(refused.status, 403);
    assert!(refused.message().starts_with(&app.path("c/all")), "{}", refused.body);
    // Nobody in particular opens open streams alone, and not here.
    let stranger =
        http::request(app.address, "GET", &sse_path(&app, &["p"]), &headers[1..], "").await;
    assert_eq!((stranger.status, stranger.body.as_str()), (401, ""));
    assert!(stranger.header("www-authenticate").is_some());
    assert_eq!(Socket::refused(app.address, "/_/ws").await.0, 401);
}

/// What a permission says of parameters holds for variables in a message as for `avars` in the path.
#[tokio::test]
async fn variables_of_a_message_are_judged_as_parameters() {
    let app = guarded().await;
    let by_t =
        doc! { "uri": "t", "stages": [], "notify_when": { "fullDocument::t": { "$var": "t" } } };
    app.declare("d", vec![by_t]).await;
    let predicate = format!(
        "path-prefix('{}') and qparams-whitelist(t) and equals(%{{q,t}}, 'acme')",
        app.coll_path("d")
    );
    let permission = doc! { "_id": "d", "roles": ["user"], "predicate": predicate, "priority": 1 };
    app.db.collection("acl").insert_one(permission).await.unwrap();
    let path = |query: &str| app.path(&format!("d/t{query}"));
    let get = async |query: &str| {
        let headers = [("authorization", basic()), ("accept", "text/event-stream".to_owned())];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        http::begin(app.address, "GET", &path(query), &headers, "").await.status().as_u16()
    };
    eventually("the permission is seen", async || get("?t=acme").await == 200).await;
    assert_eq!(get("?t=other").await, 403);
    assert_eq!(get("?t=acme&avars=%7B%22t%22:%22other%22%7D").await, 403);
    let mut socket = socket(&app, "/_/ws").await;
    for ((query, vars, opens), row) in [
        ("?t=acme", None, true),
        ("?t=other", None, false),
        ("?t=acme", Some(json!({ "t": "other" })), false),
        ("", Some(json!({ "t": "acme" })), false),
    ]
    .into_iter()
    .zip(1..)
    {
        let mut subscribe = json!({ "path": path(query) });
        subscribe.as_object_mut().unwrap().extend(vars.map(|vars| ("vars".to_owned(), vars)));
        let message = json!({ "subscribe": subscribe, "ref": row });
        socket.send(Message::text(message.to_string())).await;
        let answer = socket.json().await;
        match opens {
            true => assert_eq!(answer["event"], "ready", "{message}"),
            false => assert_eq!(answer["data"]["status"], 403, "{message}: {answer}"),
        }
    }
}

/// Rights are evaluated for each subscription as they are then; when they change, only the streams that
/// they concern end.
#[tokio::test]
async fn changed_rights_end_the_streams_that_they_concern() {
    let app = guarded().await;
    let mut socket = socket(&app, "/_/ws").await;
    assert_eq!(subscribe(&mut socket, &app, "a").await["event"], "ready");
    assert_eq!(subscribe(&mut socket, &app, "b").await["event"], "ready");
    let refused = subscribe(&mut socket, &app, "c").await;
    assert_eq!((&refused["data"]["status"], &refused["ref"]), (&json!(403), &json!("c")));
    let acl = app.db.collection::<bson::Document>("acl");
    acl.delete_one(doc! { "_id": "b" }).await.unwrap();
    let close = socket.json().await;
    assert_eq!((&close["event"], &close["ref"]), (&json!("close"), &json!("b")));
    assert_eq!(close["data"]["code"], 4403);
    assert_eq!(subscribe(&mut socket, &app, "b").await["data"]["status"], 403);
    app.coll("a").insert_one(doc! { "_id": 1, "owner": "ann" }).await.unwrap();
    let change = socket.json().await;
    assert_eq!((key(&change["data"]), &change["ref"]), (1, &json!("a")));
    // Whoever is gone has no socket.
    app.db.collection::<bson::Document>("users").delete_one(doc! { "_id": "ann" }).await.unwrap();
    assert_eq!(socket.closed().await, (4401, "credentials expired".to_owned()));
}

/// A ticket for one stream opens no other one; a ticket for the connection opens what its caller may.
#[tokio::test]
async fn a_ticket_opens_what_it_was_made_for() {
    let app = guarded().await;
    let ticket = async |path: &str| {
        let body = json!({ "path": path }).to_string();
        let answer = app.as_user_with("ann", "POST", "/_/tickets", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["ticket"].as_str().unwrap().to_owned()
    };
    let own = format!("{}?ticket={}", app.path("a/all"), ticket(&app.path("a/all")).await);
    let mut bound = Socket::open(app.address, &own, Some("tailwater.v1")).await;
    assert_eq!(bound.json().await["event"], "ready");
    assert_eq!(subscribe(&mut bound, &app, "a").await["event"], "ready");
    assert_eq!(subscribe(&mut bound, &app, "b").await["data"]["status"], 403);
    let bare = format!("/_/ws?ticket={}", ticket("/_/ws").await);
    let mut bare = Socket::open(app.address, &bare, Some("tailwater.v1")).await;
    assert_eq!(subscribe(&mut bare, &app, "a").await["event"], "ready");
    assert_eq!(subscribe(&mut bare, &app, "b").await["event"], "ready");
    assert_eq!(subscribe(&mut bare, &app, "c").await["data"]["status"], 403);
    let many = format!("{}&ticket={}", sse_path(&app, &["a", "b"]), ticket("/_/sse").await);
    let mut sse = Sse::begin(app.address, &many, &[]).await;
    sse.until("ready").await;
}

/// A snapshot holds what its caller may read, cut to what it may see.
#[tokio::test]
async fn a_snapshot_holds_what_its_caller_may_read() {
    let app = guarded().await;
    let acl = app.db.collection::<bson::Document>("acl");
    let mongo = doc! { "readFilter": { "owner": "@user._id" }, "projectResponse": { "secret": 0 } };
    acl.update_one(doc! { "_id": "a" }, doc! { "$set": { "mongo": mongo } }).await.unwrap();
    app.coll("a")
        .insert_many([
            doc! { "_id": 1, "owner": "bob", "secret": 1 },
            doc! { "_id": 2, "owner": "ann", "secret": 2 },
            doc! { "_id": 3, "owner": ["x", "ann"], "secret": 3 },
        ])
        .await
        .unwrap();
    eventually("the permission is seen", async || {
        !app.as_user("ann", "GET", &app.coll_path("a")).await.body.contains("secret")
    })
    .await;
    let authorization = basic();
    let headers = [("authorization", authorization.as_str())];
    let path = app.path("a/all?snapshot=true");
    let mut sse = Sse::begin(app.address, &path, &headers).await;
    let mut documents = Vec::new();
    let mut block = sse.until("snapshot").await;
    while block.is("snapshot") {
        documents.push(block.json()["document"].clone());
        block = sse.event().await;
    }
    assert!(block.is("snapshot-end"));
    documents.sort_by_key(|document| document["_id"].as_i64());
    let expected =
        [json!({ "_id": 2, "owner": "ann" }), json!({ "_id": 3, "owner": ["x", "ann"] })];
    assert_eq!(documents, expected);
}
