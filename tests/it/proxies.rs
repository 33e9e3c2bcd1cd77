//! Behind Debian's nginx and haproxy, in the configurations of `docs/proxies.md`.

use std::{net::SocketAddr, time::Duration};

use bson::doc;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    PATIENCE, TestApp, all,
    browser::Browser,
    client::{Transport, key},
    clients::{Program, Tool},
    front::{Certificate, Front},
    sse::Sse,
    websocket::Socket,
};

/// What nginx needs to be told for WebSockets: the one addition to a plain `proxy_pass`.
const UPGRADE: &str = "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; \
                       proxy_set_header Connection $connection_upgrade;";
const MAP: &str = "map $http_upgrade $connection_upgrade { default upgrade; '' ''; }";

async fn started(streams: &str) -> TestApp {
    let app = TestApp::with_streams(streams).await;
    app.declare("c", vec![all()]).await;
    app
}

/// haproxy before a service: `bind` and `server` follow their addresses.
fn sections(upstream: SocketAddr, idle: &str, bind: &str, server: &str) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client {idle}\n  \
         timeout server {idle}\n  timeout tunnel {idle}\n\
         frontend f\n  bind 127.0.0.1:PORT {bind}\n  default_backend b\n\
         backend b\n  server s {upstream} {server}"
    )
}

async fn insert(app: &TestApp, n: i64) {
    app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
}

/// A plain `proxy_pass` delivers each event at once, also with compression switched on for event
/// streams: nothing waits in a buffer.
#[tokio::test]
async fn nginx_as_it_comes_delivers_at_once() {
    let Some(nginx) = Tool::require("nginx") else { return };
    let Some(curl) = Tool::require("curl") else { return };
    let app = started("heartbeat: off").await;
    let gzip = "gzip on; gzip_min_length 0; gzip_proxied any; gzip_types text/event-stream;";
    for settings in ["", gzip] {
        let front = Front::nginx(&nginx, app.address, "", settings, "").await;
        let start = Instant::now();
        let url = format!("http://{}{}", front.address, app.path("c/all"));
        let more = ["--compressed", "--include", "--header", "accept: text/event-stream"];
        let mut client = Program::curl(&curl, &url, &more);
        let head = client.block().await;
        assert!(head[0].contains(" 200"), "{head:?}");
        let ready = client.block().await;
        assert_eq!(ready[2], "event: ready", "{ready:?}");
        assert!(start.elapsed().as_secs() < 5, "the head was held back: {:?}", start.elapsed());
        for n in 0..3 {
            let written = Instant::now();
            app.coll("c").insert_one(doc! { "gzip": !settings.is_empty(), "n": n }).await.unwrap();
            let change = client.block().await;
            assert_eq!(change[1], "event: change", "{change:?}");
            assert!(written.elapsed().as_secs() < 1, "{:?}", written.elapsed());
        }
        client.kill().await;
    }
}

/// Over both proxies and every transport: changes arrive, an idle connection outlives the proxy's idle
/// timeout by its heartbeats, and one without heartbeats does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_outlive_idle_timeouts() {
    let (Some(nginx), Some(haproxy)) = (Tool::require("nginx"), Tool::require("haproxy")) else {
        return;
    };
    let beating = started("heartbeat: 300ms").await;
    let silent = beating.replica("streams: { heartbeat: off }").await;
    let mut n = 0;
    for (app, lives) in [(&beating, true), (&silent, false)] {
        let location = format!("{UPGRADE} proxy_read_timeout 1s;");
        let fronts = [
            Front::nginx(&nginx, app.address, "", MAP, &location).await,
            Front::haproxy(&haproxy, &sections(app.address, "1s", "", "")).await,
        ];
        for front in &fronts {
            let path = app.path("c/all");
            let mut sse = Sse::open(front.address, &path, &[]).await;
            let mut socket = Socket::open(front.address, &path, Some("tailwater.v1")).await;
            assert_eq!(socket.json().await["event"], "ready");
            if !lives {
                while sse.try_block().await.is_some() {}
                continue;
            }
            // More than two idle timeouts.
            for _ in 0..9 {
                assert!(sse.block().await.event.is_none());
                while !matches!(socket.message().await, Message::Ping(_)) {}
            }
            n += 1;
            insert(app, n).await;
            assert_eq!(key(&sse.until("change").await.json()), n);
            let change = loop {
                let message = socket.json().await;
                if message["event"] == "change" {
                    break message;
                }
            };
            assert_eq!(key(&change["data"]), n);
        }
        assert!(!fronts[0].complaints().contains("[emerg]"), "{}", fronts[0].complaints());
    }
}

/// All transports work through both, and a drain ends them in order there, too: no broken body.
#[tokio::test]
async fn a_drain_is_heard_through_proxies() {
    let (Some(nginx), Some(haproxy)) = (Tool::require("nginx"), Tool::require("haproxy")) else {
        return;
    };
    let mut app = started("heartbeat: off\ndrain: 2s").await;
    let path = app.path("c/all");
    let fronts = [
        Front::nginx(&nginx, app.address, "", MAP, UPGRADE).await,
        Front::haproxy(&haproxy, &sections(app.address, "60s", "", "")).await,
    ];
    let (mut events, mut sockets) = (Vec::new(), Vec::new());
    for front in &fronts {
        events.push(Sse::open(front.address, &path, &[]).await);
        sockets.push(Socket::open(front.address, &path, None).await);
        let mut all = Transport::Enveloped.open(front.address, &path).await;
        insert(&app, i64::try_from(events.len()).unwrap()).await;
        all.change().await;
    }
    app.begin_drain();
    for sse in events {
        let last = sse.rest().await.pop().unwrap();
        assert_eq!(last.json()["code"], 1012);
    }
    for mut socket in sockets {
        assert_eq!(socket.closed().await, (1012, "service restart".to_owned()));
    }
    app.stop().await;
}

/// Streams of one HTTP/2 connection.
async fn over_h2(address: SocketAddr, path: &str, count: usize) -> Vec<Incoming> {
    let socket = TcpStream::connect(address).await.unwrap();
    let io = TokioIo::new(socket);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut bodies = Vec::new();
    for _ in 0..count {
        let request = hyper::Request::get(format!("http://{address}{path}"))
            .header("accept", "text/event-stream")
            .body(String::new());
        let response = sender.send_request(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        bodies.push(response.into_body());
    }
    bodies
}

async fn until(body: &mut Incoming, wanted: &str) {
    let mut text = String::new();
    while !text.contains(wanted) {
        let frame = timeout(PATIENCE, body.frame()).await.expect("a frame in time");
        let data = frame.unwrap().unwrap().into_data().unwrap_or_default();
        text.push_str(std::str::from_utf8(&data).unwrap());
    }
}

/// A page opens more than six streams where a proxy speaks HTTP/2 with it, whatever the proxy speaks
/// with the service.
#[tokio::test]
async fn http_2_lifts_the_limit_of_six() {
    let (Some(nginx), Some(haproxy)) = (Tool::require("nginx"), Tool::require("haproxy")) else {
        return;
    };
    let app = started("heartbeat: off").await;
    let fronts = [
        Front::nginx(&nginx, app.address, "http2", "", "").await,
        Front::haproxy(&haproxy, &sections(app.address, "60s", "proto h2", "")).await,
        Front::haproxy(&haproxy, &sections(app.address, "60s", "proto h2", "proto h2")).await,
    ];
    for (number, front) in fronts.iter().enumerate() {
        let mut bodies = over_h2(front.address, &app.path("c/all"), 20).await;
        let text = format!("change {number}");
        app.coll("c").insert_one(doc! { "_id": &text }).await.unwrap();
        for body in &mut bodies {
            until(body, &text).await;
        }
    }
}

/// A page's seventh stream hangs over plain HTTP, and none does where a proxy speaks HTTP/2 with TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_open_more_than_six_streams_over_tls() {
    let Some(browser) = Browser::require() else { return };
    let (Some(nginx), Some(haproxy)) = (Tool::require("nginx"), Tool::require("haproxy")) else {
        return;
    };
    let Some(openssl) = Tool::require("openssl") else { return };
    let app = started("").await;
    let certificate = Certificate::new(&openssl).await;
    let pem = certificate.path();
    let settings = format!("ssl_certificate {pem}; ssl_certificate_key {pem};");
    let bind = format!("ssl crt {pem} alpn h2,http/1.1");
    let fronts = [
        Front::nginx(&nginx, app.address, "ssl http2", &settings, "").await,
        Front::haproxy(&haproxy, &sections(app.address, "60s", &bind, "proto h2")).await,
    ];
    let open = |origin: String| {
        let at = |path: &str| format!("{origin}{path}");
        browser.event_sources(json!({
            "page": at("/_/health/live"), "url": at(&app.path("c/all")),
            "count": 12, "anyCertificate": true,
        }))
    };
    let mut plain = open(format!("http://{}", app.address));
    let mut pages = fronts.each_ref().map(|front| open(format!("https://{}", front.address)));
    for _ in 0..6 {
        plain.next_of("open").await;
    }
    for page in &mut pages {
        for _ in 0..12 {
            page.next_of("open").await;
        }
    }
    insert(&app, 1).await;
    for page in &mut pages {
        let mut numbers = Vec::new();
        for _ in 0..12 {
            numbers.push(page.next_of("change").await["number"].as_i64().unwrap());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..12).collect::<Vec<_>>(), "H2-01");
    }
    for _ in 0..6 {
        plain.next_of("change").await;
    }
    let more = timeout(Duration::from_secs(1), plain.next()).await;
    assert!(more.is_err(), "H2-01: plain HTTP keeps the limit: {more:?}");
    for page in pages.into_iter().chain([plain]) {
        page.finish().await;
    }
}

/// A proxy that holds events back: the client module notices that nothing comes and goes on over
/// WebSocket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_behind_a_buffering_proxy_falls_back_to_websocket() {
    let Some(browser) = Browser::require() else { return };
    let Some(nginx) = Tool::require("nginx") else { return };
    let app = started("heartbeat: 1s").await;
    // Compression fills its own buffer before it passes anything on, unless it is told not to wait.
    let settings = format!("{MAP} gzip on; gzip_proxied any; gzip_types text/event-stream;");
    let location = format!("{UPGRADE} proxy_ignore_headers X-Accel-Buffering; proxy_buffering on;");
    let front = Front::nginx(&nginx, app.address, "", &settings, &location).await;
    let at = |path: &str| format!("http://{}{path}", front.address);
    let options = json!({ "readyTimeout": 1500 });
    let (page, url) = (at("/_/health/live"), at(&app.path("c/all")));
    let mut page = browser.watch(json!({ "page": page, "url": url, "options": options }));
    let live = loop {
        let report = page.next_of("state").await;
        if report["state"] == "live" || report["state"] == "resumed" {
            break report;
        }
    };
    assert_eq!(live["transport"], "websocket");
    app.coll("c").insert_one(doc! { "_id": "end", "n": 0 }).await.unwrap();
    assert_eq!(page.next_of("end").await["documents"], json!({ "end": 0 }));
    page.finish().await;
}
