//! Readers that do not keep up.

use bson::doc;

use super::shop::{ORDER, Shop, everything};

/// As many kilobytes as loopback's buffers hold, several times over.
const KILOBYTES: i32 = 24 * 1024;

/// A reader that falls behind what is held is told to come back with the last id, and then gets
/// everything; it delays nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_never_left_with_a_gap() {
    let bounds =
        "streams: { history: { events: 20, bytes: 4MiB }, mailbox: { events: 5, bytes: 1MiB } }";
    let shop = Shop::with(ORDER, everything(), bounds).await;
    let path = "/api/subscribe/Order";
    let mut slow = shop.feed("ann", path).await;
    let mut socket = shop.socket("ann", path, None).await;
    let mut quick = shop.feed("ann", path).await;
    let text = "x".repeat(256 * 1024);
    let count = KILOBYTES / 256;
    let all: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    for n in 0..count {
        shop.insert("orders", [doc! { "_id": n, "text": &text }]).await;
        // In step, so that it keeps up on any machine.
        assert_eq!(quick.subjects(1).await, all[n as usize..=n as usize]);
    }
    let mut got = Vec::new();
    let close = loop {
        let block = slow.sse.event().await;
        match block.is("close") {
            true => break block.json(),
            false => got.push(block.json()["subject"].as_str().unwrap().to_owned()),
        }
    };
    assert_eq!((&close["code"], &close["reconnect"]), (&4408.into(), &true.into()));
    assert_eq!(got, all[..got.len()]);
    let mut back = shop.resume("ann", path, &slow.sse.last_id).await;
    assert_eq!(back.subjects(all.len() - got.len()).await, all[got.len()..]);
    assert_eq!(socket.closed().await, (4408, "slow consumer".to_owned()));
}
