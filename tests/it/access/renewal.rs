//! A token that ends is announced, and replaced on a socket that stays.

use bson::{Document, doc};
use serde_json::{Value, json};

use tokio_tungstenite::tungstenite::Message;

use super::{
    deployment::{Deployment, everywhere, permission},
    tokens::{basic, bearer, claims, in_seconds, with},
};
use crate::support::{TestApp, all, client::key, sse::Sse, websocket::Socket};

/// Tokens are announced four seconds before they end. A `team` shows its own documents in `c`; all are shown
/// in `d`.
async fn started() -> TestApp {
    let deployment = Deployment::new().await.auth("expiry_notice: 4s");
    let team = doc! { "readFilter": { "team": "@user.team" } };
    let mut open =
        permission("user", &format!("path-prefix('/{}/d')", deployment.db.name()), doc! {});
    open.insert("priority", 9);
    let app = deployment.permissions([everywhere(team), open]).await.start().await;
    app.declare("d", vec![all()]).await;
    app
}

/// A token of Ann's that ends so many seconds from now.
fn token(seconds: i64, team: &str) -> String {
    let ends = json!({ "exp": in_seconds(seconds), "team": team });
    bearer(&with(claims("ann", &["user"]), &ends))
}

async fn socket(app: &TestApp, path: &str, token: &str) -> Socket {
    let mut socket = Socket::as_user(app.address, path, Some("tailwater.v1"), token).await.unwrap();
    if path != "/_/ws" {
        assert_eq!(socket.said().await["event"], "ready");
    }
    socket
}

async fn say(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await;
}

/// The next message, heartbeats and announcements aside.
async fn heard(socket: &mut Socket) -> Value {
    loop {
        let message = socket.said().await;
        if message["event"] != "expiring" {
            return message;
        }
    }
}

async fn authorize(socket: &mut Socket, credential: &str) -> Value {
    say(socket, json!({ "authorize": credential, "ref": "r" })).await;
    heard(socket).await
}

async fn subscribe(app: &TestApp, socket: &mut Socket, stream: &str) {
    say(socket, json!({ "subscribe": { "path": app.path(stream) }, "ref": stream })).await;
    let ready = heard(socket).await;
    assert_eq!((&ready["event"], &ready["ref"]), (&json!("ready"), &json!(stream)));
}

async fn insert(app: &TestApp, coll: &str, id: i32, team: &str) {
    app.coll(coll).insert_one(doc! { "_id": id, "team": team }).await.unwrap();
}

/// Whoever comes with more than the notice is told once, on every transport, before the end.
#[tokio::test]
async fn the_end_of_a_token_is_announced() {
    let app = started().await;
    let ends = in_seconds(6);
    let token = bearer(&with(claims("ann", &["user"]), &json!({ "exp": ends, "team": "red" })));
    let path = app.path("c/all");
    let headers = [("authorization", token.as_str())];
    let mut sse = Sse::open(app.address, &path, &headers).await;
    let both = format!("/_/sse?stream={path}&stream={}", app.path("d/all"));
    let mut many = Sse::open(app.address, &both, &headers).await;
    let mut own = socket(&app, &path, &token).await;
    let mut quiet = socket(&app, "/_/ws", &token).await;
    let expected = {
        let moment = bson::DateTime::from_millis(ends * 1000);
        json!({ "expires": moment.try_to_rfc3339_string().unwrap() })
    };
    assert_eq!(sse.until("expiring").await.json(), expected, "AUTH-05");
    for _ in 0..2 {
        assert_eq!(many.until("expiring").await.json()["data"], expected, "AUTH-05");
    }
    for socket in [&mut own, &mut quiet] {
        let message = socket.said().await;
        assert_eq!(
            (&message["event"], &message["data"]),
            (&json!("expiring"), &expected),
            "AUTH-05"
        );
        let close = socket.said().await;
        assert_eq!((&close["event"], &close["data"]["code"]), (&json!("close"), &json!(4401)));
    }
    let rest = sse.rest().await;
    assert!(rest.iter().all(|block| !block.is("expiring")), "AUTH-05: once");
}

/// Who comes with less is told nothing but the end.
#[tokio::test]
async fn short_tokens_are_not_announced() {
    let app = started().await;
    let mut own = socket(&app, &app.path("c/all"), &token(2, "red")).await;
    assert_eq!(own.json().await["event"], "close");
}

/// A newer token carries everything on the socket over the end of the first, and the end is then its own.
#[tokio::test]
async fn a_newer_token_carries_the_socket_on() {
    let app = started().await;
    for path in [app.path("c/all"), "/_/ws".to_owned()] {
        let mut socket = socket(&app, &path, &token(5, "red")).await;
        subscribe(&app, &mut socket, "d/all").await;
        insert(&app, "d", 1, "red").await;
        assert_eq!(key(&heard(&mut socket).await["data"]), 1);
        let ends = in_seconds(10);
        let newer = json!({ "exp": ends, "team": "red", "jti": "another" });
        let answer = authorize(&mut socket, &bearer(&with(claims("ann", &["user"]), &newer))).await;
        let moment = bson::DateTime::from_millis(ends * 1000).try_to_rfc3339_string().unwrap();
        let expected = json!({ "event": "authorized", "data": { "expires": moment }, "ref": "r" });
        assert_eq!(answer, expected, "AUTH-05 {path}");
        assert_eq!(socket.said().await["event"], "expiring", "AUTH-05 {path}: the newer one's end");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        // The first token is over, and rights that change are looked at by the newer one.
        let users = app.db.collection::<Document>("users");
        users.update_one(doc! { "_id": "bob" }, doc! { "$set": { "seen": 1 } }).await.unwrap();
        insert(&app, "d", 2, "red").await;
        assert_eq!(key(&socket.said().await["data"]), 2, "AUTH-05 {path}");
        subscribe(&app, &mut socket, "c/all").await;
        let close = socket.said().await;
        assert_eq!((&close["event"], &close["data"]["code"]), (&json!("close"), &json!(4401)));
        app.coll("d").delete_many(doc! {}).await.unwrap();
    }
}

/// Streams that the newer token shows something else are closed, with the way back; the others stay.
#[tokio::test]
async fn streams_that_show_something_else_are_closed() {
    let app = started().await;
    let mut socket = socket(&app, "/_/ws", &token(60, "red")).await;
    subscribe(&app, &mut socket, "c/all").await;
    subscribe(&app, &mut socket, "d/all").await;
    say(&mut socket, json!({ "authorize": token(60, "blue"), "ref": "r" })).await;
    let mut answers = [socket.said().await, socket.said().await];
    answers.sort_by_key(|answer| answer["event"].to_string());
    assert_eq!(answers[0]["event"], "authorized", "AUTH-05");
    let close = &answers[1];
    assert_eq!(
        (&close["event"], &close["data"]["code"], &close["ref"]),
        (&json!("close"), &json!(4403), &json!("c/all")),
        "AUTH-05"
    );
    insert(&app, "d", 1, "blue").await;
    let change = socket.said().await;
    assert_eq!((&change["ref"], key(&change["data"])), (&json!("d/all"), 1), "AUTH-05");
    subscribe(&app, &mut socket, "c/all").await;
    insert(&app, "c", 2, "red").await;
    insert(&app, "c", 3, "blue").await;
    assert_eq!(key(&socket.said().await["data"]), 3, "AUTH-05: the newer token counts");
}

/// What does not hold, or is somebody else's, changes nothing.
#[tokio::test]
async fn refused_credentials_leave_the_socket_as_it_is() {
    let app = started().await;
    let mut socket = socket(&app, &app.path("c/all"), &token(60, "red")).await;
    let bob = bearer(&claims("bob", &["user"]));
    let forged = format!("{}x", token(60, "blue"));
    for (credential, status) in [
        (forged.as_str(), 401),
        (token(-1, "blue").as_str(), 401),
        ("", 401),
        ("Bearer", 401),
        ("Basic YW5uOndyb25n", 401),
        (bob.as_str(), 403),
    ] {
        let answer = authorize(&mut socket, credential).await;
        assert_eq!(
            (&answer["event"], &answer["data"]["status"]),
            (&json!("error"), &json!(status)),
            "{credential}"
        );
    }
    insert(&app, "c", 1, "red").await;
    assert_eq!(key(&socket.said().await["data"]), 1);
    let token = token(60, "red");
    say(&mut socket, json!({ "authorize": token, "ref": 1 })).await;
    say(&mut socket, json!({ "authorize": token, "ref": 2 })).await;
    for (reference, expected) in [(1, [json!(null), json!(null)]), (2, [json!(null), json!(409)])] {
        let answer = socket.said().await;
        assert_eq!(answer["ref"], reference);
        assert!(expected.contains(&answer["data"]["status"]), "{answer}");
    }
}

/// A socket without a stream ends, too, when its user is gone.
#[tokio::test]
async fn sockets_without_a_stream_end_with_their_user() {
    let app = started().await;
    let mut quiet = socket(&app, "/_/ws", &basic("ann", "ann")).await;
    let mut other = socket(&app, "/_/ws", &basic("bob", "bob")).await;
    app.db.collection::<Document>("users").delete_one(doc! { "_id": "ann" }).await.unwrap();
    let close = quiet.said().await;
    assert_eq!(
        (&close["event"], &close["data"]["code"]),
        (&json!("close"), &json!(4401)),
        "AUTH-03"
    );
    assert_eq!(quiet.closed().await.0, 4401, "AUTH-03");
    let closed = app.as_user("root", "DELETE", "/_/sessions?user=bob").await;
    assert_eq!(closed.json(), json!({ "closed": 1 }));
    assert_eq!(other.said().await["data"]["code"], 4403, "AUTH-03");
}
