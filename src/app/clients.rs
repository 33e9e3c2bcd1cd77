//! The two connection pools: cursors hold connections, so they must not compete with requests.

use std::time::Duration;

use anyhow::Context;
use mongodb::{Client, options::ClientOptions};

use crate::config::{MongodbConfig, StreamsConfig};

/// How long the driver looks for a server before an operation fails.
const SELECTION: Duration = Duration::from_secs(5);

/// Connections beyond one per cursor: for openings, probes and greetings.
const SPARE: u32 = 16;

/// Clients of one deployment.
pub(super) struct Clients {
    /// For cursors only. Its pool is the cursor cap.
    pub(super) streams: Client,
    /// For everything else.
    pub(super) requests: Client,
}

impl Clients {
    pub(super) async fn connect(
        mongodb: &MongodbConfig,
        streams: &StreamsConfig,
    ) -> anyhow::Result<Self> {
        let uri = mongodb.uri.expose();
        let options =
            ClientOptions::parse(uri).await.context("the MongoDB connection string is unusable")?;
        let cursors = u32::try_from(streams.cursors + 2 * streams.catch_up + streams.snapshots)
            .unwrap_or(u32::MAX - SPARE);
        let mut for_streams = base(&options);
        for_streams.max_pool_size = Some(cursors + SPARE);
        Ok(Self {
            streams: Client::with_options(for_streams)?,
            requests: Client::with_options(base(&options))?,
        })
    }

    /// Waits until the server has been told of every ended cursor.
    pub(super) async fn shutdown(self) {
        self.streams.shutdown().await;
        self.requests.shutdown().await;
    }
}

fn base(options: &ClientOptions) -> ClientOptions {
    let mut options = options.clone();
    options.app_name.get_or_insert_with(|| "tailwater".to_owned());
    options.server_selection_timeout.get_or_insert(SELECTION);
    options
}
