//! Programs that people use: curl, websocat, a browser.

use bson::{Document, doc};
use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::support::{
    TestApp, all,
    browser::{Browser, BrowserRun},
    client::key,
    clients::{Program, Tool},
    eventually,
    proxy::Proxy,
};

async fn started(streams: &str) -> TestApp {
    let app = TestApp::with_streams(streams).await;
    app.declare("c", vec![all()]).await;
    app
}

fn url(app: &TestApp, scheme: &str, stream: &str) -> String {
    format!("{scheme}://{}{}", app.address, app.path(stream))
}

async fn insert(app: &TestApp, n: i64) {
    app.db.collection::<Document>("c").insert_one(doc! { "_id": n }).await.unwrap();
}

/// `curl -N` prints each block as it is sent.
#[tokio::test]
async fn curl_sees_events_as_they_happen() {
    let Some(curl) = Tool::require("curl") else { return };
    let app = started("heartbeat: 100ms").await;
    let url = url(&app, "http", "c/all");
    let accept = ["--header", "accept: text/event-stream"];
    let mut client = Program::curl(&curl, &url, &accept);
    let ready = client.block().await;
    assert!(ready[0].starts_with("retry: ") && ready[2] == "event: ready", "{ready:?}");
    insert(&app, 1).await;
    let mut change = client.block().await;
    while change[0].starts_with(':') {
        change = client.block().await;
    }
    assert!(change[0].starts_with("id: ") && change[1] == "event: change", "{change:?}");
    let data: Value = serde_json::from_str(change[2].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(key(&data), 1);
    // Coming back with the id of that block, as a script would.
    let header = format!("last-event-id: {}", change[0].strip_prefix("id: ").unwrap());
    client.kill().await;
    insert(&app, 2).await;
    let mut back = Program::curl(&curl, &url, &[&accept[..], &["--header", &header]].concat());
    back.block().await;
    let mut change = back.block().await;
    while change[0].starts_with(':') {
        change = back.block().await;
    }
    let data: Value = serde_json::from_str(change[2].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(key(&data), 2);
    back.kill().await;
}

/// `websocat` prints one line a change, and envelopes with the subprotocol.
#[tokio::test]
async fn websocat_sees_one_line_a_change() {
    let Some(websocat) = Tool::require("websocat") else { return };
    let app = started("heartbeat: off\nlinger: 1h").await;
    let url = url(&app, "ws", "c/all");
    let mut enveloped = Program::websocat(&websocat, &url, &["--protocol=tailwater.v1"]);
    let ready: Value = serde_json::from_str(&enveloped.line().await.unwrap()).unwrap();
    assert_eq!(ready["event"], "ready");
    // A plain client is told nothing at the beginning: its first line tells that it is there.
    let mut plain = Program::websocat(&websocat, &url, &[]);
    let mut n = 0;
    let first = loop {
        n += 1;
        insert(&app, n).await;
        let envelope: Value = serde_json::from_str(&enveloped.line().await.unwrap()).unwrap();
        assert_eq!((&envelope["event"], key(&envelope["data"])), (&json!("change"), n));
        if let Some(line) = plain.line().now_or_never() {
            break line.unwrap();
        }
    };
    let first: Value = serde_json::from_str(&first).unwrap();
    let seen = key(&first);
    assert!((1..=n).contains(&seen));
    insert(&app, n + 1).await;
    for expected in seen + 1..=n + 1 {
        let change: Value = serde_json::from_str(&plain.line().await.unwrap()).unwrap();
        assert_eq!(key(&change), expected);
        assert!(change.get("event").is_none(), "nothing but the change: {change}");
    }
    assert!(plain.finish().await.success());
}

/// A page of the service's own origin, so that no cross-origin rule plays a part.
fn page(proxy: &Proxy) -> String {
    format!("http://{}/_/health/live", proxy.address())
}

/// The next change that the page reports, passing over its errors and openings.
async fn next_change(run: &mut BrowserRun) -> i64 {
    loop {
        let report = run.next().await.expect("the page runs");
        if report["type"] == "event" && report["event"] == "change" {
            return key(&serde_json::from_str(report["data"].as_str().unwrap()).unwrap());
        }
    }
}

/// A browser whose connection is dropped comes back by itself, without loss or repeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_source_that_is_cut_resumes_by_itself() {
    let Some(browser) = Browser::require() else { return };
    let app = started("heartbeat: 200ms").await;
    let proxy = Proxy::start(app.address).await;
    let url = format!("http://{}{}", proxy.address(), app.path("c/all"));
    let events = ["ready", "change", "reset", "close"];
    let args = json!({ "page": page(&proxy), "url": url, "events": events });
    let mut run = browser.event_source(args);
    run.next_of("open").await;
    run.next_of("event").await;
    let mut expected = 0;
    for cut in 0..3 {
        for n in cut * 20..cut * 20 + 10 {
            insert(&app, n).await;
        }
        assert_eq!(next_change(&mut run).await, expected);
        expected += 1;
        match cut {
            0 => proxy.reset_all(),
            1 => proxy.cut_all(),
            _ => {}
        }
        // Written while the browser is away or about to leave.
        for n in cut * 20 + 10..cut * 20 + 20 {
            insert(&app, n).await;
        }
        while expected < (cut + 1) * 20 {
            assert_eq!(next_change(&mut run).await, expected, "after cut {cut}");
            expected += 1;
        }
    }
    run.finish().await;
    eventually("the browser has left", async || proxy.connections() == 0).await;
}

/// A browser's WebSocket: the bare change, and the envelopes of the subprotocol.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browsers_websocket_gets_changes() {
    let Some(browser) = Browser::require() else { return };
    let app = started("heartbeat: 1s").await;
    let proxy = Proxy::start(app.address).await;
    let url = format!("ws://{}{}", proxy.address(), app.path("c/all"));
    let mut plain = browser.websocket(json!({ "page": page(&proxy), "url": url }));
    assert_eq!(plain.next_of("open").await["protocol"], "");
    let protocols = ["other", "tailwater.v1"];
    let args = json!({ "page": page(&proxy), "url": url, "protocols": protocols });
    let mut enveloped = browser.websocket(args);
    assert_eq!(enveloped.next_of("open").await["protocol"], "tailwater.v1");
    insert(&app, 1).await;
    let change = plain.next_of("message").await;
    assert_eq!(key(&serde_json::from_str(change["data"].as_str().unwrap()).unwrap()), 1);
    let id = loop {
        let message = enveloped.next_of("message").await;
        let message: Value = serde_json::from_str(message["data"].as_str().unwrap()).unwrap();
        if message["event"] == "change" {
            assert_eq!(key(&message["data"]), 1);
            break message["id"].as_str().unwrap().to_owned();
        }
    };
    proxy.reset_all();
    assert_eq!(plain.next_of("close").await["code"], 1006);
    insert(&app, 2).await;
    // A page resumes a WebSocket by asking for the place itself.
    let url = format!("{url}?lastEventId={id}");
    let args = json!({ "page": page(&proxy), "url": url, "count": 1 });
    let mut back = browser.websocket(args);
    let change = back.next_of("message").await;
    assert_eq!(key(&serde_json::from_str(change["data"].as_str().unwrap()).unwrap()), 2);
    back.finish().await;
}
