//! Declarations that change while they are served.

use bson::doc;

use super::shop::{ORDER, Shop};
use crate::support::eventually;

/// Sessions of a changed entity are told to come back, those of a removed one that it is gone, and
/// the others notice nothing; a new one is served.
#[tokio::test]
async fn only_sessions_that_are_concerned_are_closed() {
    let more = format!(
        "{ORDER}  - {{ name: Gone, collection: DB.gone, source: /g, events: [{{ name: g }}] }}\n"
    );
    let shop = Shop::start(&more).await;
    let mut order = shop.feed("ann", "/api/subscribe/Order").await;
    let mut case = shop.feed("ann", "/api/subscribe/Case").await;
    let mut gone = shop.feed("ann", "/api/subscribe/Gone").await;
    let mut socket = shop.socket("ann", "/api/subscribe/Gone", None).await;
    let changed = ORDER.replace("case.changed }", "case.changed, exclude: [secret] }");
    shop.redeclare(&format!(
        "{changed}  - {{ name: New, collection: DB.new, source: /n, events: [{{ name: n }}] }}\n"
    ));
    let close = case.sse.until("close").await.json();
    assert_eq!((&close["code"], &close["reconnect"]), (&4409.into(), &true.into()));
    let close = gone.sse.until("close").await.json();
    assert_eq!((&close["code"], &close["reconnect"]), (&4404.into(), &false.into()));
    assert_eq!(socket.closed().await, (4404, "stream gone".to_owned()));
    let mut new = shop.feed("ann", "/api/subscribe/New").await;
    shop.insert("new", [doc! { "_id": 1 }]).await;
    assert_eq!(new.subjects(1).await, ["1"]);
    shop.insert("orders", [doc! { "_id": "still here" }]).await;
    assert_eq!(order.subjects(1).await, ["still here"]);
    assert_eq!(shop.refused("ann", "/api/subscribe/Gone").await.status, 404);
}

/// A folder that becomes invalid keeps the last valid declarations, readiness included; mended, it is
/// read again.
#[tokio::test]
async fn an_invalid_folder_keeps_what_was_valid() {
    let shop = Shop::start(ORDER).await;
    let mut order = shop.feed("ann", "/api/subscribe/Order").await;
    shop.redeclare("entities: [{ name: Order, colection: x }]\n");
    // A second file that is valid alone would be served if the folder were.
    let extra = "entities: [{ name: Extra, collection: x.y, source: /x, events: [{ name: e }] }]\n";
    std::fs::write(shop.folder.0.join("extra.yaml"), extra).unwrap();
    let mended = ORDER.replace("//shop.example/orders", "/mended");
    shop.insert("orders", [doc! { "_id": 1 }]).await;
    assert_eq!(order.subjects(1).await, ["1"]);
    assert_eq!(shop.app.get("/_/health/ready").await.status, 200);
    let declarations =
        async || shop.app.as_user("root", "GET", "/_/status").await.json()["declarations"].clone();
    eventually("the status says so", async || declarations().await["state"] == "invalid").await;
    let error = declarations().await["errors"][0].as_str().unwrap().to_owned();
    assert!(error.contains("shop.yaml:1:") && error.contains("colection"), "{error}");
    assert_eq!(shop.refused("ann", "/api/subscribe/Extra").await.status, 404);
    shop.redeclare(&mended);
    assert_eq!(order.sse.until("close").await.json()["code"], 4409);
    eventually("the status says so", async || declarations().await["state"] == "valid").await;
    eventually("the second file is served", async || {
        shop.status("ann", "/api/subscribe/Extra").await == 200
    })
    .await;
}
