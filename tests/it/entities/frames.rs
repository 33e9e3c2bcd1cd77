//! What is on the wire: heads, frames, envelopes, on every transport.

use bson::{Document, doc};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::shop::{ORDER, Shop, authorization};
use crate::support::http;

/// The response has the four headers, and the first frames are those of the contract.
#[tokio::test]
async fn a_feed_begins_with_who_it_is_and_where_it_stands() {
    let shop = Shop::start(ORDER).await;
    let first = shop.feed("ann", "/api/subscribe/Order?heartbeat=1m30s").await;
    let header = |name: &str| first.sse.headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("connection"), "keep-alive");
    assert_eq!(header("x-accel-buffering"), "no");
    assert_eq!(first.connected, "connected sub=1 heartbeat=1m30s");
    assert!(first.start.id.as_deref().unwrap().starts_with("evt-"), "{:?}", first.start);
    for (heartbeat, effective) in [("", "30s"), ("?heartbeat=0", "1s"), ("?heartbeat=1h", "5m")] {
        let next = shop.feed("ann", &format!("/api/subscribe/Order{heartbeat}")).await;
        let (_, told) = next.connected.split_once(" heartbeat=").unwrap();
        assert_eq!(told, effective, "{heartbeat}");
    }
    let last = shop.feed("ann", "/api/subscribe/Order").await;
    assert!(last.connected.starts_with("connected sub=5 "), "{}", last.connected);
}

/// Create, update, replace and delete are events with the fields of the envelope; the id is that of
/// the frame.
#[tokio::test]
async fn changes_are_envelopes() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Case").await;
    let cases = shop.app.coll("cases");
    let owner = doc! { "tenant": "acme", "user": "amy" };
    let images = doc! { "collMod": "cases", "changeStreamPreAndPostImages": { "enabled": true } };
    cases.insert_one(doc! { "_id": "c1", "owner": owner.clone(), "n": 1 }).await.unwrap();
    cases.update_one(doc! { "_id": "c1" }, doc! { "$set": { "n": 2 } }).await.unwrap();
    let replaced = doc! { "owner": owner, "n": 3 };
    cases.replace_one(doc! { "_id": "c1" }, replaced).await.unwrap();
    for (operation, n) in [("create", 1), ("update", 2), ("update", 3)] {
        let block = reader.event().await;
        let envelope = block.json();
        let kind = format!("entity.{operation}");
        assert_eq!(block.event.as_ref(), Some(&kind));
        assert_eq!(envelope["id"].as_str(), block.id.as_deref());
        assert!(block.id.unwrap().len() < 60);
        let time = envelope["time"].as_str().unwrap();
        assert!(bson::DateTime::parse_rfc3339_str(time).is_ok() && time.ends_with('Z'), "{time}");
        let data = json!({ "_id": "c1", "owner": { "tenant": "acme", "user": "amy" }, "n": 3 });
        let shown = &envelope["data"];
        // An update is looked up: later changes may be in it already.
        assert!(shown["n"].as_i64() >= Some(n) && shown["owner"] == data["owner"], "{envelope}");
        let fields = [
            ("type", json!(kind)),
            ("source", json!("//shop.example/cases")),
            ("subject", json!("c1")),
            ("entity", json!("Case")),
            ("operation", json!(operation)),
            ("tenant", json!("acme")),
            ("user_id", json!("amy")),
        ];
        for (name, value) in fields {
            assert_eq!(envelope[name], value, "{name}");
        }
    }
    // With pre-images a delete tells whose it was; without, it is for nobody who is held.
    shop.app.db.run_command(images).await.unwrap();
    let mut with_images = shop.feed("ann", "/api/subscribe/Case").await;
    cases.delete_one(doc! { "_id": "c1" }).await.unwrap();
    let delete = with_images.envelope().await;
    assert_eq!((&delete["operation"], &delete["data"]["n"]), (&json!("delete"), &json!(3)));
}

/// A delete of a collection without pre-images is an envelope with null data.
#[tokio::test]
async fn a_delete_without_image_has_null_data() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop
        .feed("ann", "/api/subscribe/Order?ops= DELETE ,create".replace(' ', "%20").as_str())
        .await;
    let orders = shop.app.coll("orders");
    orders.insert_one(doc! { "_id": 7 }).await.unwrap();
    orders.update_one(doc! { "_id": 7 }, doc! { "$set": { "a": 1 } }).await.unwrap();
    orders.delete_one(doc! { "_id": 7 }).await.unwrap();
    assert_eq!(reader.envelope().await["operation"], "create");
    let delete = reader.event().await;
    assert!(delete.is("entity.delete"));
    let envelope = delete.json();
    assert_eq!((&envelope["data"], &envelope["subject"]), (&Value::Null, &json!("7")));
    assert!(envelope.as_object().unwrap().contains_key("data"));
}

/// Heartbeats are `: ping` with a fresh id, and nothing overtakes what is undelivered.
#[tokio::test]
async fn heartbeats_carry_an_id_to_come_back_with() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order?heartbeat=1s").await;
    let ping = reader.sse.block().await;
    assert_eq!((ping.comments.as_slice(), &ping.event), (&["ping".to_owned()][..], &None));
    let id = ping.id.unwrap();
    shop.insert("orders", [doc! { "_id": 1 }]).await;
    let mut back = shop.resume("ann", "/api/subscribe/Order", &id).await;
    assert_eq!(back.start.id.as_ref(), Some(&id));
    assert_eq!(back.subjects(1).await, ["1"]);
    assert_eq!(reader.subjects(1).await, ["1"]);
    let last = reader.sse.last_id.clone();
    let ping = reader.sse.block().await;
    assert!(ping.comments == ["ping"] && ping.id.is_some(), "{ping:?}");
    let mut again = shop.resume("ann", "/api/subscribe/Order", &last).await;
    shop.insert("orders", [doc! { "_id": 2 }]).await;
    assert_eq!(again.subjects(1).await, ["2"]);
}

/// On a WebSocket the envelope is the message; with the subprotocol it is the data of one.
#[tokio::test]
async fn sockets_carry_bare_envelopes_or_messages() {
    let shop = Shop::start(ORDER).await;
    let path = "/api/subscribe/Order?heartbeat=1s";
    let mut bare = shop.socket("ann", path, None).await;
    let mut enveloped = shop.socket("ann", path, Some("tailwater.v1")).await;
    assert_eq!(enveloped.protocol.as_deref(), Some("tailwater.v1"));
    let ready = enveloped.json().await;
    assert_eq!((&ready["event"], &ready["data"]["sub"]), (&json!("ready"), &json!(2)));
    assert!(ready["id"].as_str().unwrap().starts_with("evt-"));
    let beat = enveloped.json().await;
    assert_eq!(beat["event"], "heartbeat");
    assert!(beat["id"].as_str().unwrap().starts_with("evt-"));
    shop.insert("orders", [doc! { "_id": 1, "t": "a\nb\r\u{2028}" }]).await;
    let envelope = bare.json().await;
    let message = enveloped.said().await;
    assert_eq!(message["event"], "entity.create");
    assert_eq!(message["data"], envelope);
    assert_eq!(message["id"], envelope["id"]);
    assert_eq!(envelope["data"]["t"], "a\nb\r\u{2028}");
    let Message::Text(_) = next_text(&mut bare, &shop).await else { panic!("text") };
}

async fn next_text(socket: &mut crate::support::websocket::Socket, shop: &Shop) -> Message {
    shop.insert("orders", [doc! { "_id": 2 }]).await;
    loop {
        match socket.message().await {
            Message::Ping(_) => {}
            other => return other,
        }
    }
}

/// At the end: `close`, the comment, the end of the body; on a socket the code.
#[tokio::test]
async fn a_drain_says_that_the_server_shuts_down() {
    let mut shop = Shop::with(ORDER, super::shop::everything(), "streams: { drain: 1s }").await;
    let reader = shop.feed("ann", "/api/subscribe/Order").await;
    let mut socket = shop.socket("ann", "/api/subscribe/Order", None).await;
    shop.app.begin_drain();
    let rest = reader.sse.rest().await;
    let [close, comment] = rest.as_slice() else { panic!("{rest:?}") };
    assert!(close.is("close") && close.json()["code"] == 1012, "{close:?}");
    assert_eq!(comment.comments, ["server shutting down"]);
    assert_eq!(socket.closed().await, (1012, "service restart".to_owned()));
}

/// HTTP/1.0-style heads, odd names and foreign letters are answered, and never with a 5xx.
#[tokio::test]
async fn odd_names_are_not_found() {
    let shop = Shop::start(ORDER).await;
    for name in ["a%0Ab", "a%0D", "a%00b", "order", "Order%20", "%C3%A9", "..%2Forders", "~1"] {
        let answer = shop.refused("ann", &format!("/api/subscribe/{name}")).await;
        assert!(matches!(answer.status, 400 | 404), "{name}: {}", answer.status);
    }
    let authorization = authorization("ann");
    let headers = [("authorization", authorization.as_str())];
    let posted =
        http::request(shop.app.address, "POST", "/api/subscribe/Order", &headers, "").await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")));
    let path = "/api/subscribe/Order";
    for (accept, status) in [("application/json", 400), ("*/*", 200), ("text/html, */*;q=0.8", 200)]
    {
        let headers = [headers[0], ("accept", accept)];
        let answer = http::begin(shop.app.address, "GET", path, &headers, "").await;
        assert_eq!(answer.status(), status, "{accept}");
    }
    let silent = http::begin(shop.app.address, "GET", path, &headers, "").await;
    assert_eq!(silent.headers()["content-type"], "text/event-stream");
}

/// A bulk insert of ten thousand documents arrives complete and in order, on every transport.
#[tokio::test]
async fn a_bulk_insert_arrives_complete() {
    let shop = Shop::start(ORDER).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    let mut socket = shop.socket("ann", "/api/subscribe/Order", None).await;
    let documents = (0..10_000).map(|n| doc! { "_id": n, "padding": "x".repeat(100) });
    let documents: Vec<Document> = documents.collect();
    let writing = async { shop.insert("orders", documents).await };
    let reading = async {
        for n in 0..10_000 {
            assert_eq!(reader.envelope().await["subject"], n.to_string());
        }
    };
    let listening = async {
        for n in 0..10_000 {
            assert_eq!(socket.json().await["subject"], n.to_string());
        }
    };
    tokio::join!(writing, reading, listening);
}

/// A transaction that is rolled back has never happened; a committed one is told whole.
#[tokio::test]
async fn a_rolled_back_transaction_yields_nothing() {
    let shop = Shop::start(ORDER).await;
    shop.insert("orders", [doc! { "_id": "first" }]).await;
    let mut reader = shop.feed("ann", "/api/subscribe/Order").await;
    let orders = shop.app.db.collection::<Document>("orders");
    for (name, commits) in [("rolled", false), ("kept", true)] {
        let mut session = shop.app.db.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        for n in 1..=3 {
            let document = doc! { "_id": format!("{name}{n}") };
            orders.insert_one(document).session(&mut session).await.unwrap();
        }
        match commits {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
    }
    assert_eq!(reader.subjects(3).await, ["kept1", "kept2", "kept3"]);
}
