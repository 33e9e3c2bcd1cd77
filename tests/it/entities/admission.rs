//! Who is let in, what is asked wrongly, and what a permission shows.

use bson::doc;
use serde_json::json;

use super::shop::{ORDER, Shop, everything, permission};
use crate::support::{TestApp, tailwater::Folder};

/// Each wrong request has its status, and a wrong `ops` names the right ones.
#[tokio::test]
async fn each_refusal_has_its_status() {
    let shop = Shop::start(ORDER).await;
    for (path, status, word) in [
        ("/api/subscribe/Nothing", 404, "no such entity"),
        ("/api/subscribe?topic=nothing", 404, "no such topic"),
        ("/api/subscribe", 400, "?topic=orders"),
        ("/api/subscribe?topic=", 400, "?topic=orders"),
        ("/api/subscribe?topic=a%20b", 400, "letters"),
        ("/api/subscriptions/nothing", 404, "no such subscription"),
        ("/api/subscribe/Order?ops=", 400, "create, update, delete"),
        ("/api/subscribe/Order?ops=upsert", 400, "create, update, delete"),
        ("/api/subscribe/Order?ops=create,,delete", 400, "create, update, delete"),
        ("/api/subscribe/Order?ops=read", 400, "reads"),
        ("/api/subscribe/Order?ops=replace", 400, "update"),
        ("/api/subscribe/Order?ops=create&ops=delete", 400, "twice"),
        ("/api/subscribe/Order?heartbeat=soon", 400, "45s"),
        ("/api/subscribe/Order?heartbeat=", 400, "45s"),
        ("/api/subscribe/Order?heartbeat=named", 400, "45s"),
        ("/api/subscribe/Order?op=create", 400, "did you mean `ops`"),
        ("/api/subscribe/Order?OPS=create", 400, "did you mean `ops`"),
        ("/api/subscribe/Order?topic=x", 400, "topic"),
        ("/api/subscribe/Order?snapshot=true", 400, "snapshot"),
        ("/api/subscribe/Order?fields=status", 400, "fields"),
    ] {
        let answer = shop.refused("ann", path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        let message = answer.message();
        let named = message.contains(word) || (word == "reads" && message.contains("no events"));
        assert!(named, "{path}: {message}");
    }
    for query in ["ops=create", "ops=CREATE,%20Update", "ops=delete,delete", "shift=night", "_=17"]
    {
        assert_eq!(shop.status("ann", &format!("/api/subscribe/Order?{query}")).await, 200);
    }
}

/// A browser that asks before it opens a feed is told that it may.
#[tokio::test]
async fn a_preflight_allows_a_feed() {
    let shop = Shop::start(ORDER).await;
    for path in ["/api/subscribe/Order", "/api/subscribe?topic=*", "/api/subscriptions/x"] {
        let headers = [("origin", "https://a.test"), ("access-control-request-method", "GET")];
        let answer = shop.app.with("OPTIONS", path, &headers).await;
        let methods = answer.header("access-control-allow-methods");
        assert_eq!((answer.status, methods), (200, Some("GET")), "{path}");
    }
}

/// Strangers get 401 whatever they ask for, callers without a permission 403, before anything is
/// looked up.
#[tokio::test]
async fn nobody_learns_what_exists_before_being_let_in() {
    let only_order = vec![permission("path('/api/subscribe/Order')", doc! {})];
    let shop = Shop::with(ORDER, only_order, "").await;
    for path in ["/api/subscribe/Order", "/api/subscribe/Nothing", "/api/subscribe?topic=x&ops=y"] {
        let stranger = shop.app.with("GET", path, &[("accept", "text/event-stream")]).await;
        assert_eq!((stranger.status, stranger.body.as_str()), (401, ""), "{path}");
    }
    for (method, path, known) in [
        ("GET", "/api/subscriptions", 404),
        ("GET", "/api/subscribe/Order/x", 404),
        ("GET", "/api/subscribe/a/b/c", 404),
        ("POST", "/api/subscribe/Order", 405),
        ("DELETE", "/api/subscriptions/x", 405),
    ] {
        assert_eq!(shop.app.with(method, path, &[]).await.status, 401, "{method} {path}");
        let ann = shop.app.as_user("ann", method, path).await;
        assert_eq!(ann.status, known, "{method} {path}");
    }
    for path in
        ["/api/subscribe/Case", "/api/subscribe/Nothing", "/api/subscribe?topic=entity.Order"]
    {
        let denied = shop.refused("ann", path).await;
        assert_eq!((denied.status, denied.body.as_str()), (403, ""), "{path}");
    }
    assert_eq!(shop.status("ann", "/api/subscribe/Order").await, 200);
    assert_eq!(shop.refused("root", "/api/subscribe/Nothing").await.status, 404);
}

/// Where callers cannot be told apart no feed is opened.
#[tokio::test]
async fn without_authentication_there_are_no_feeds() {
    let folder = Folder::new().with("shop.yaml", &ORDER.replace("DB", "shop"));
    for yaml in ["", "prefix: /v1"] {
        let app = TestApp::configured(&format!("entities: {}\n{yaml}", folder.path())).await;
        let prefix = if yaml.is_empty() { "/api" } else { "/v1" };
        for path in ["subscribe/Order", "subscribe/Nothing", "subscribe?topic=*"] {
            let answer = app.with("GET", &format!("{prefix}/{path}"), &[]).await;
            assert_eq!(answer.status, 503, "{path}");
            assert_eq!(answer.message(), "subscriptions require an identity");
        }
    }
}

/// Of an event that cannot be read it cannot be told whose it is: only those are told who are held to
/// nothing.
#[tokio::test]
async fn a_notice_is_for_those_who_are_held_to_nothing() {
    let shop = Shop::start(ORDER).await;
    let mut held = shop.feed("ann", "/api/subscribe/Case").await;
    let mut root = shop.feed("root", "/api/subscribe/Case").await;
    shop.app.insert_malformed("cases", 1).await;
    shop.insert("cases", [doc! { "_id": 2, "owner": { "tenant": "acme" } }]).await;
    assert!(root.sse.event().await.is("skipped"));
    assert_eq!(root.subjects(1).await, ["2"]);
    assert_eq!(held.subjects(1).await, ["2"]);
}

/// The permission of the route filters and cuts what is shown, in every part of the envelope.
#[tokio::test]
async fn a_permission_filters_and_cuts() {
    let mongo = doc! { "mongo": {
        "readFilter": { "status": "open" },
        "projectResponse": { "secret": 0, "owner.user": 0 },
    } };
    let shop = Shop::with(ORDER, vec![permission("path-prefix('/api')", mongo)], "").await;
    let mut reader = shop.feed("ann", "/api/subscribe/Case").await;
    let case = |n: i32, status: &str| {
        let owner = doc! { "tenant": "acme", "user": "amy" };
        doc! { "_id": n, "status": status, "secret": "hush", "owner": owner }
    };
    shop.insert("cases", [case(1, "draft"), case(2, "open")]).await;
    let envelope = reader.envelope().await;
    assert_eq!(envelope["subject"], "2");
    assert_eq!(envelope["tenant"], "acme");
    assert_eq!(envelope["user_id"], json!(null), "{envelope}");
    assert!(!envelope.to_string().contains("hush") && !envelope.to_string().contains("amy"));
}

/// A session whose rights change is closed with the contract's code; so is one whose tenant does.
#[tokio::test]
async fn a_change_of_rights_ends_the_feed() {
    let shop = Shop::start(ORDER).await;
    let users = shop.app.db.collection::<bson::Document>("users");
    let mut reader = shop.feed("ann", "/api/subscribe/Case").await;
    let mut other = shop.feed("bob", "/api/subscribe/Case").await;
    let moved = doc! { "$set": { "tenant": "globex" } };
    users.update_one(doc! { "_id": "ann" }, moved).await.unwrap();
    let close = reader.sse.until("close").await.json();
    assert_eq!((&close["code"], &close["reconnect"]), (&json!(4403), &json!(true)));
    let acl = shop.app.db.collection::<bson::Document>("acl");
    let narrower = doc! { "$set": { "mongo": { "readFilter": { "x": 1 } } } };
    acl.update_one(doc! { "predicate": "path-prefix('/api')" }, narrower).await.unwrap();
    assert_eq!(other.sse.until("close").await.json()["code"], 4403);
    let mut gone = shop.feed("bob", "/api/subscribe/Case").await;
    users.delete_one(doc! { "_id": "bob" }).await.unwrap();
    assert_eq!(gone.sse.until("close").await.json()["code"], 4401);
}

/// A ticket opens the feed that it was made for, where no header can be set.
#[tokio::test]
async fn a_ticket_opens_a_feed() {
    // No mount leads to the prefix.
    let mounts = "mounts: [{ what: \"*\", where: /db }, { what: /seen, where: /seen }]";
    let shop = Shop::with(ORDER, everything(), mounts).await;
    let body = json!({ "path": "/api/subscribe/Case" }).to_string();
    let issued = shop.app.as_user_with("ann", "POST", "/_/tickets", &body).await;
    assert_eq!(issued.status, 201, "{}", issued.body);
    let url = issued.json()["url"].as_str().unwrap().to_owned();
    let mut socket = crate::support::websocket::Socket::open(shop.app.address, &url, None).await;
    let owner = |tenant: &str| doc! { "owner": { "tenant": tenant } };
    shop.insert("cases", [owner("globex"), owner("acme")]).await;
    assert_eq!(socket.json().await["tenant"], "acme");
}
