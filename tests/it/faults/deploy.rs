//! A rolling deploy: replicas are restarted in turn behind a balancer, and nobody notices more than a reconnect.

use std::net::SocketAddr;

use bson::doc;
use tokio::net::TcpListener;

use crate::support::{TestApp, all, client::key, mongod, proxy::Proxy, sse::Sse};

const SETTINGS: &str = "streams: { drain: 500ms, heartbeat: 1s }";

/// Writes of the run.
const LAST: i64 = 3000;

async fn replica(address: SocketAddr, like: &TestApp) -> TestApp {
    let listener = TcpListener::bind(address).await.unwrap();
    TestApp::on(listener, &mongod::shared_uri().await, like.db.clone(), SETTINGS).await
}

/// Reads through every end of a connection; gives how many there were.
async fn follow(balancer: [SocketAddr; 2], path: String, until: i64) -> usize {
    let (mut turns, mut last_id, mut last) = (0, None::<String>, 0);
    loop {
        let at = balancer[turns % 2];
        turns += 1;
        let path = match &last_id {
            Some(id) => format!("{path}?lastEventId={id}"),
            None => path.clone(),
        };
        // A replica that is away refuses: the balancer's other one does not.
        let Some(mut sse) = Sse::try_begin(at, &path).await else {
            tokio::task::yield_now().await;
            continue;
        };
        while let Some(block) = sse.try_block().await {
            if block.is("change") {
                last += 1;
                assert_eq!(key(&block.json()), last, "after {turns} connections");
                if last == until {
                    return turns;
                }
            }
            if block.is("close") {
                assert_eq!(block.json()["code"], 1012);
            }
            last_id = block.id.or(last_id);
        }
    }
}

/// Two replicas behind a balancer are restarted in turn, twice, while writes go on: every client has
/// every event once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_deploy_loses_and_repeats_nothing() {
    let first = TestApp::configured(SETTINGS).await;
    first.declare("c", vec![all()]).await;
    let second = first.replica(SETTINGS).await;
    let addresses = [first.address, second.address];
    let proxies = [Proxy::start(addresses[0]).await, Proxy::start(addresses[1]).await];
    let balancer = [proxies[0].address(), proxies[1].address()];
    let (db, coll, path) = (first.db.clone(), first.coll("c"), first.path("c/all"));
    let following: Vec<_> = (0..6)
        .map(|n| {
            let order = [balancer[n % 2], balancer[(n + 1) % 2]];
            tokio::spawn(follow(order, path.clone(), LAST))
        })
        .collect();
    let like = TestApp::of(addresses[0], db);
    // Everyone is connected before the first write: only then is it due.
    crate::support::eventually("all are connected", async || {
        proxies.iter().map(Proxy::connections).sum::<usize>() == 6 && like.cursors("c").await == 2
    })
    .await;
    let deploying = async {
        let mut running = [Some(first), Some(second)];
        for n in 0..4 {
            if let Some(app) = running[n % 2].take() {
                app.stop().await;
            }
            running[n % 2] = Some(replica(addresses[n % 2], &like).await);
        }
        running
    };
    let writing = async {
        for n in 1..=LAST {
            coll.insert_one(doc! { "_id": n }).await.unwrap();
        }
    };
    let (_running, ()) = tokio::join!(deploying, writing);
    for client in following {
        assert!(client.await.unwrap() > 1, "it was sent away at least once");
    }
}
