//! What the tests share: a MongoDB, a service, clients, faults on the wire, a browser.

pub(crate) mod app;
pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod clients;
pub(crate) mod fail_point;
pub(crate) mod front;
pub(crate) mod http;
pub(crate) mod mongod;
pub(crate) mod program;
pub(crate) mod proxy;
pub(crate) mod sse;
pub(crate) mod tailwater;
pub(crate) mod websocket;

use std::{fmt::Debug, future::Future, str::FromStr, time::Duration};

use tokio::{
    net::TcpStream,
    time::{interval, timeout},
};

pub(crate) use app::{TestApp, add_user, all};

/// Longer than anything that a test waits for; a test that gets here has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Asks until the answer is yes: for the state of another process, of which no signal is sent.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    let mut ticks = interval(Duration::from_millis(20));
    let asked = timeout(PATIENCE, async {
        while !ask().await {
            ticks.tick().await;
        }
    });
    asked.await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain until {what}"));
}

/// What an environment variable says of the length or the seed of a test.
pub(crate) fn setting<T: FromStr<Err: Debug>>(variable: &str, default: T) -> T {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Whether anything accepts connections on `port` of the loopback interface.
pub(crate) async fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}

/// A port of the loopback interface that was free a moment ago.
pub(crate) fn unused_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
