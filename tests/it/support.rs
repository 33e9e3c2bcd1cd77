//! What the tests share: a MongoDB, clients, faults on the wire, a browser.

pub(crate) mod mongod;

use std::{future::Future, time::Duration};

use tokio::time::{interval, timeout};

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
