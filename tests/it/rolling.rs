//! A rolling deploy: two replicas behind haproxy, restarted in turn while everybody writes and reads.

use std::net::SocketAddr;

use bson::doc;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::support::{
    TestApp, all, client::key, clients::Tool, eventually, front::Front, http, listens, mongod,
    sse::Sse, websocket::Socket,
};

const LAST: i64 = -1;
const SETTINGS: &str = "streams: { heartbeat: 200ms, drain: 1s }";

/// What a client went through.
struct Journey {
    keys: Vec<i64>,
    restarts: usize,
}

/// Clients of both kinds come through restarts of every replica without losing or hearing twice of
/// anything; each is told to come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_restarted_in_turn_lose_and_repeat_nothing() {
    let Some(haproxy) = Tool::require("haproxy") else { return };
    let first = TestApp::configured(SETTINGS).await;
    let second = first.replica(SETTINGS).await;
    let db = first.db.clone();
    first.declare("c", vec![all()]).await;
    let front = Front::haproxy(&haproxy, &sections([first.address, second.address])).await;
    let path = first.path("c/all");
    let coll = first.coll("c");
    let mut clients = Vec::new();
    for number in 0..6 {
        clients.push(match number % 2 {
            0 => follow_sse(front.address, path.clone(), opened(front.address, &path).await),
            _ => {
                let mut socket = Socket::open(front.address, &path, Some("tailwater.v1")).await;
                let ready = socket.json().await;
                follow_socket(front.address, path.clone(), socket, ready)
            }
        });
    }
    let stop = CancellationToken::new();
    let writing = {
        let (coll, stop) = (coll.clone(), stop.clone());
        tokio::spawn(async move {
            let mut n = 0_i64;
            while !stop.is_cancelled() {
                coll.insert_one(doc! { "_id": n }).await.unwrap();
                n += 1;
            }
            n
        })
    };
    let mut again = Vec::new();
    for app in [first, second] {
        let address = app.address;
        app.stop().await;
        let listener = TcpListener::bind(address).await.unwrap();
        let uri = mongod::shared_uri().await;
        again.push(TestApp::on(listener, &uri, db.clone(), SETTINGS).await);
        eventually("it is ready again", async || is_ready(address).await).await;
    }
    stop.cancel();
    let count = writing.await.unwrap();
    coll.insert_one(doc! { "_id": LAST }).await.unwrap();
    let expected: Vec<i64> = (0..count).collect();
    let mut restarts = 0;
    for client in clients {
        let journey = client.await.unwrap();
        assert_eq!(journey.keys, expected);
        restarts += journey.restarts;
    }
    assert!(restarts >= 6, "every client was on a replica that was restarted: {restarts}");
}

/// Both replicas take clients; one that drains gets no more.
fn sections(replicas: [SocketAddr; 2]) -> String {
    let [first, second] = replicas;
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  \
         timeout tunnel 60s\n  retries 5\n  option redispatch 1\n\
         frontend f\n  bind 127.0.0.1:PORT\n  default_backend b\n\
         backend b\n  option httpchk GET /_/health/ready\n  \
         default-server check inter 100ms fall 1 rise 1\n  \
         server first {first}\n  server second {second}"
    )
}

async fn is_ready(address: SocketAddr) -> bool {
    listens(address.port()).await
        && http::request(address, "GET", "/_/health/ready", &[], "").await.status == 200
}

async fn opened(front: SocketAddr, path: &str) -> Sse {
    eventually("a replica is ready", async || is_ready(front).await).await;
    Sse::open(front, path, &[]).await
}

fn follow_sse(front: SocketAddr, path: String, mut sse: Sse) -> JoinHandle<Journey> {
    tokio::spawn(async move {
        let mut journey = Journey { keys: Vec::new(), restarts: 0 };
        loop {
            match sse.try_block().await {
                Some(block) if block.is("change") => match key(&block.json()) {
                    LAST => return journey,
                    n => journey.keys.push(n),
                },
                Some(block) if block.is("close") => {
                    assert_eq!(block.json()["code"], 1012);
                    journey.restarts += 1;
                }
                Some(block) => assert!(!block.is("reset"), "{block:?}"),
                None => {
                    let id = sse.last_id.clone();
                    eventually("a replica is ready", async || is_ready(front).await).await;
                    sse = Sse::begin(front, &path, &[("last-event-id", &id)]).await;
                    sse.last_id = id;
                }
            }
        }
    })
}

fn follow_socket(
    front: SocketAddr,
    path: String,
    mut socket: Socket,
    ready: Value,
) -> JoinHandle<Journey> {
    tokio::spawn(async move {
        let mut journey = Journey { keys: Vec::new(), restarts: 0 };
        let mut id = ready["id"].as_str().unwrap().to_owned();
        loop {
            match socket.message().await {
                Message::Text(text) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    assert_ne!(message["event"], "reset");
                    if let Some(newer) = message["id"].as_str() {
                        newer.clone_into(&mut id);
                    }
                    if message["event"] == "change" {
                        match key(&message["data"]) {
                            LAST => return journey,
                            n => journey.keys.push(n),
                        }
                    }
                }
                Message::Close(frame) => {
                    assert_eq!(u16::from(frame.unwrap().code), 1012);
                    journey.restarts += 1;
                    let path = format!("{path}?lastEventId={id}");
                    eventually("a replica is ready", async || is_ready(front).await).await;
                    socket = Socket::open(front, &path, Some("tailwater.v1")).await;
                }
                _ => {}
            }
        }
    })
}
