//! The client module in a real browser, with a network that fails.

use std::collections::BTreeMap;

use bson::{Document, doc};
use futures_util::TryStreamExt;
use mongodb::Collection;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::{
    TestApp, all,
    browser::{Browser, BrowserRun},
    proxy::{Flow, Proxy},
};

/// What a network does to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The connection ends in good order.
    Cut,
    Reset,
    /// The connection ends, and no new one comes about for a while.
    Away,
    /// Nothing arrives any more, and nobody is told.
    HalfOpen,
}

/// A page that loses its network mid-stream, in whatever way, ends with exactly the documents in the
/// collection, having heard of each change once.
#[tokio::test]
async fn a_page_ends_with_the_documents_of_the_collection() {
    check("sse").await;
}

/// The same where proxies let nothing but WebSockets through.
#[tokio::test]
async fn so_does_a_page_with_a_websocket() {
    check("websocket").await;
}

/// A page that begins with the documents, is cut amid them and later, ends with exactly those of the
/// collection: a snapshot that was cut begins anew, one that was whole does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_a_snapshot_ends_with_the_documents_of_the_collection() {
    let Some(browser) = Browser::require() else { return };
    for transport in ["sse", "websocket"] {
        let app = TestApp::with_streams("heartbeat: 1s").await;
        app.declare("c", vec![all()]).await;
        let stored_before =
            (10_000..12_000).map(|n| doc! { "_id": n, "n": 7, "text": "x".repeat(500) });
        app.coll("c").insert_many(stored_before).await.unwrap();
        let proxy = Proxy::start(app.address).await;
        // Slow enough that the cut is amid the documents.
        proxy.set_bandwidth(Some(400_000));
        let mut page = open(&browser, &app, &proxy, "c/all?snapshot=true", transport);
        assert_eq!(page.next_of("snapshot").await["count"], 100);
        let writer = Writer::start(app.coll("c"));
        proxy.reset_all();
        lost(&mut page).await;
        page.send("online").await;
        until(&mut page, "live").await;
        proxy.set_bandwidth(None);
        // From nothing again.
        assert_eq!(page.next_of("snapshot").await["count"], 100);
        page.next_of("whole").await;
        for fault in [Fault::Cut, Fault::Away, Fault::HalfOpen] {
            strike(fault, &proxy, &mut page).await;
            until(&mut page, "resumed").await;
        }
        writer.stop().await;
        app.coll("c").insert_one(doc! { "_id": "end", "n": 0 }).await.unwrap();
        let end = page.next_of("end").await;
        assert_eq!(end["documents"], stored(&app.coll("c")).await);
        assert_eq!((&end["repeated"], &end["resets"]), (&json!(0), &json!(0)));
        page.finish().await;
    }
}

async fn check(transport: &str) {
    let Some(browser) = Browser::require() else { return };
    let app = TestApp::with_streams("heartbeat: 1s").await;
    app.declare("c", vec![all()]).await;
    let proxy = Proxy::start(app.address).await;
    let mut page = open(&browser, &app, &proxy, "c/all", transport);
    until(&mut page, "live").await;
    let writer = Writer::start(app.coll("c"));
    for fault in [Fault::Cut, Fault::Reset, Fault::Away, Fault::HalfOpen] {
        strike(fault, &proxy, &mut page).await;
        until(&mut page, "resumed").await;
    }
    let writes = writer.stop().await;
    app.coll("c").insert_one(doc! { "_id": "end", "n": 0 }).await.unwrap();
    let end = page.next_of("end").await;
    assert_eq!(end["documents"], stored(&app.coll("c")).await);
    assert_eq!(end["changes"], writes + 1, "each write and the end");
    assert_eq!((&end["repeated"], &end["resets"]), (&json!(0), &json!(0)));
    page.finish().await;
}

fn open(
    browser: &Browser,
    app: &TestApp,
    proxy: &Proxy,
    stream: &str,
    transport: &str,
) -> BrowserRun {
    let at = |path: &str| format!("http://{}{path}", proxy.address());
    let (page, url) = (at("/_/health/live"), at(&app.path(stream)));
    let options = json!({ "transport": transport, "readyTimeout": 5000 });
    browser.watch(json!({ "page": page, "url": url, "options": options }))
}

async fn strike(fault: Fault, proxy: &Proxy, page: &mut BrowserRun) {
    match fault {
        Fault::Cut => proxy.cut_all(),
        Fault::Reset => proxy.reset_all(),
        Fault::Away => {
            proxy.set_refuse(true);
            proxy.cut_all();
            lost(page).await;
            page.send("online").await;
            lost(page).await;
            proxy.set_refuse(false);
            page.send("online").await;
        }
        Fault::HalfOpen => {
            proxy.set_both(Flow::Swallow);
            assert_eq!(lost(page).await["code"], 408, "the page notices by itself");
            proxy.set_both(Flow::Pass);
            // The attempt that the page made meanwhile has come to nothing.
            proxy.cut_all();
        }
    }
}

/// Waits until the page has lost its connection.
async fn lost(page: &mut BrowserRun) -> Value {
    loop {
        let report = page.next_of("state").await;
        if report.get("retryIn").is_some() {
            return report;
        }
    }
}

/// Waits for a state; each time the page waits, it hears that it is online again.
async fn until(page: &mut BrowserRun, state: &str) {
    loop {
        let report = page.next_of("state").await;
        if report["state"] == state {
            return;
        }
        if report.get("retryIn").is_some() {
            page.send("online").await;
        }
    }
}

/// Inserts, updates and deletes until told to stop.
struct Writer {
    stop: CancellationToken,
    writing: JoinHandle<u64>,
}

impl Writer {
    fn start(coll: Collection<Document>) -> Self {
        let stop = CancellationToken::new();
        let writing = tokio::spawn(write(coll, stop.clone()));
        Self { stop, writing }
    }

    /// How many changes there were.
    async fn stop(self) -> u64 {
        self.stop.cancel();
        self.writing.await.unwrap()
    }
}

async fn write(coll: Collection<Document>, stop: CancellationToken) -> u64 {
    let (mut number, mut writes) = (0_i32, 0);
    while !stop.is_cancelled() {
        coll.insert_one(doc! { "_id": number, "n": 0 }).await.unwrap();
        writes += 1;
        if number % 2 == 1 {
            let update = doc! { "$inc": { "n": 1 } };
            writes +=
                coll.update_one(doc! { "_id": number / 2 }, update).await.unwrap().modified_count;
        }
        if number % 3 == 2 {
            writes += coll.delete_one(doc! { "_id": number / 3 }).await.unwrap().deleted_count;
        }
        number += 1;
    }
    writes
}

/// Each document's `n` by its `_id`, as the page keeps them.
async fn stored(coll: &Collection<Document>) -> Value {
    let found: Vec<Document> = coll.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    let entry = |document: &Document| {
        let id = document.get("_id").unwrap();
        let key = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        (key, document.get_i32("n").unwrap())
    };
    json!(found.iter().map(entry).collect::<BTreeMap<_, _>>())
}
