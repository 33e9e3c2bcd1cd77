//! The service without a listener: for hosts that have one.

use std::time::Duration;

use mongodb::Client;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{App, Clients, feeds};
use crate::{
    config::Config,
    http::{gate::Identify, router},
};

/// How long the start waits for MongoDB.
const PATIENCE: Duration = Duration::from_secs(5);

/// What runs behind the routes.
pub(crate) struct Embedded {
    app: App,
    stop: CancellationToken,
    tasks: TaskTracker,
    drain: Duration,
}

impl Embedded {
    /// Starts it, and gives its routes. Permissions are read before, if MongoDB answers soon.
    pub(crate) async fn start(
        config: &Config,
        requests: Client,
        cursors: Client,
        identity: Option<Identify>,
    ) -> anyhow::Result<(Self, axum::Router)> {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let known = identity.is_some();
        let feeds = feeds::feeds(config, stop.clone(), known)?;
        let clients = Clients { streams: cursors, requests };
        let app = App::over(config, clients, feeds, identity)?;
        if let Ok(Err(error)) = timeout(PATIENCE, app.load_permissions(config)).await {
            tracing::warn!(%error, "streams open once they can be");
        }
        let state = app.state(config, stop.clone(), tasks.clone());
        app.watch(config, stop.clone());
        let drain = config.streams.drain;
        Ok((Self { app, stop, tasks, drain }, router(state)))
    }

    /// Sessions first, then cursors. The clients are the host's and stay open.
    pub(crate) async fn close(self) {
        self.stop.cancel();
        self.app.end(self.drain, &self.tasks).await;
    }
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedded").field("drain", &self.drain).finish_non_exhaustive()
    }
}
