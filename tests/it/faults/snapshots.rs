//! Snapshots that MongoDB does not bring to their end: the client is told whether to come back.

use bson::doc;

use super::Faulty;
use crate::support::{client::Transport, sse::Sse, websocket::Socket};

/// Opens a snapshot over both transports and tells how it ends.
async fn ends(set: &Faulty, stream: &str) -> [(u16, bool); 2] {
    let path = set.app.path(&format!("{stream}?snapshot=true"));
    let mut sse = Sse::open(set.app.address, &path, &[]).await;
    let close = sse.until("close").await.json();
    let mut socket = Socket::open(set.app.address, &path, Some("tailwater.v1")).await;
    let mut message = socket.said().await;
    while message["event"] != "close" {
        message = socket.said().await;
    }
    let told = [&close, &message["data"]].map(|close| {
        let code = u16::try_from(close["code"].as_u64().unwrap()).unwrap();
        (code, close["reconnect"].as_bool().unwrap())
    });
    assert_eq!(socket.closed().await.0, told[1].0);
    told
}

/// A document on which a stage fails: 1011.
#[tokio::test]
async fn a_failing_document_ends_a_snapshot() {
    let divide = doc! { "$divide": [1, "$fullDocument.n"] };
    let div = doc! { "uri": "div", "stages": [{ "_$addFields": { "div": divide } }] };
    let set = Faulty::start(vec![div]).await;
    set.app.coll("c").insert_one(doc! { "_id": 1, "n": 0 }).await.unwrap();
    assert_eq!(ends(&set, "c/div").await, [(1011, true); 2]);
    set.stop().await;
}

/// MongoDB is away while the documents are read: 1013.
#[tokio::test]
async fn an_outage_ends_a_snapshot() {
    let set = Faulty::start(vec![]).await;
    set.insert(1).await;
    // It holds the cursor, so that only the documents are asked for.
    let _open = Transport::Sse.open(set.app.address, &set.app.path("c/all")).await;
    set.faults.always(&["aggregate", "find"], "d.c", doc! { "errorCode": 11602 }).await;
    assert_eq!(ends(&set, "c/all").await, [(1013, true); 2]);
    set.faults.off().await;
    set.stop().await;
}
