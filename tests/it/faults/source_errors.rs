//! Errors of MongoDB on a shared cursor, one by one.

use bson::doc;

use super::Faulty;
use crate::support::{client::Transport, sse::Sse};

/// What clients hear before the next change.
async fn heard(sse: &mut Sse, n: i64) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        let block = sse.event().await;
        match block.event.as_deref().unwrap() {
            "change" => {
                assert_eq!(block.json()["documentKey"]["_id"], n, "after {heard:?}");
                return heard;
            }
            "status" => heard.push(block.json()["state"].as_str().unwrap().to_owned()),
            other => heard.push(other.to_owned()),
        }
    }
}

/// Every error that a `getMore` can end with keeps the connections; nothing is lost where the position
/// is still good; a few commands, no loop.
#[tokio::test]
async fn an_error_on_get_more_keeps_every_connection() {
    let set = Faulty::start(vec![]).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(set.app.sse("c/all").await);
    }
    let mut socket = Transport::Plain.open(set.app.address, &set.app.path("c/all")).await;
    let rows = [
        // Of the network and of a failover.
        doc! { "closeConnection": true },
        doc! { "errorCode": 10107, "errorLabels": ["ResumableChangeStreamError"] },
        doc! { "errorCode": 10107 },
        doc! { "errorCode": 11600 },
        // The cursor is gone, the position is not.
        doc! { "errorCode": 43 },
        doc! { "errorCode": 237 },
        doc! { "errorCode": 136 },
        // A stage failed, and there is no event to blame.
        doc! { "errorCode": 2 },
        doc! { "errorCode": 8000 },
    ];
    for (n, row) in rows.into_iter().enumerate() {
        let n = n as i64;
        let before = set.faults.count("aggregate").await;
        set.faults.hit(1, &["getMore"], "d.c", row.clone()).await;
        set.insert(n).await;
        // Read first: only a socket that is read answers pings.
        assert_eq!(socket.keys(1).await, [n], "{row}");
        for client in &mut clients {
            let mut heard = heard(client, n).await;
            // Said anew in place of each heartbeat.
            heard.dedup();
            assert!(heard.is_empty() || heard == ["degraded", "recovered"], "{row}: {heard:?}");
        }
        let opened = set.faults.count("aggregate").await - before;
        assert!(opened <= 3, "{row}: {opened} aggregates");
    }
    set.stop().await;
}

/// Errors in a row, on reading and on opening, are told once and mended.
#[tokio::test]
async fn errors_in_a_row_are_told_once() {
    let set = Faulty::start(vec![]).await;
    let mut client = set.app.sse("c/all").await;
    let row = doc! { "errorCode": 10107 };
    set.faults.hit(6, &["getMore", "aggregate"], "d.c", row).await;
    set.insert(1).await;
    assert_eq!(heard(&mut client, 1).await, ["degraded", "recovered"]);
    set.stop().await;
}

/// While MongoDB refuses, heartbeats give way to `degraded`; a client that comes meanwhile is told at once.
#[tokio::test]
async fn no_heartbeat_is_sent_while_the_cursor_is_down() {
    let set = Faulty::start(vec![]).await;
    let mut client = set.app.sse("c/all").await;
    let row = doc! { "errorCode": 10107 };
    let before = set.faults.always(&["getMore", "aggregate"], "d.c", row).await;
    let told = client.until("status").await;
    assert_eq!(told.json()["state"], "degraded");
    let since = told.json()["since"].clone();
    for _ in 0..3 {
        let block = client.block().await;
        assert_eq!(block.json()["state"], "degraded", "{block:?}");
        assert_eq!(block.json()["since"], since);
        assert_eq!(block.id, None, "a position is no better than before");
    }
    let mut late = set.app.sse("c/all").await;
    assert_eq!(late.event().await.json()["state"], "degraded");
    set.insert(1).await;
    // About three seconds, with growing waits; the driver itself tries each opening twice.
    let failed = set.faults.off().await - before;
    assert!((3..=20).contains(&failed), "{failed} commands");
    for client in [&mut client, &mut late] {
        let heard = heard(client, 1).await;
        assert_eq!(heard.last().map(String::as_str), Some("recovered"));
    }
    set.stop().await;
}

/// An error while a stream is opened is its answer: `503` for MongoDB's state, `400` for the pipeline.
#[tokio::test]
async fn an_error_on_opening_is_the_answer() {
    let set = Faulty::start(vec![]).await;
    // The watch on the definitions is another namespace and is not hit.
    for (code, status) in [(10107, 503), (13, 503), (286, 503), (2, 400), (166, 422), (40573, 503)]
    {
        set.faults.always(&["aggregate"], "d.c", doc! { "errorCode": code }).await;
        let answer = set.app.refused("c/all").await;
        assert_eq!(answer.status, status, "{code}: {}", answer.body);
        let retry = answer.header("retry-after").is_some();
        assert_eq!(retry, status == 503, "{code}");
    }
    set.faults.off().await;
    let mut client = set.app.sse("c/all").await;
    set.insert(1).await;
    assert_eq!(heard(&mut client, 1).await, [""; 0]);
    set.stop().await;
}
