//! Tailwater inside another axum application: the same streams, with callers that the host knows.

use std::{path::PathBuf, sync::Arc};

use axum::http::request::Parts;
use mongodb::{Client, Database};

use crate::{
    access::Identity,
    app::Embedded,
    config::{Config, Mounts, prefix},
    http::gate::Identify,
};

/// Streams of one database, to be mounted in an axum application. Closing or dropping it ends them,
/// each with its last frame.
#[derive(Debug)]
#[must_use = "streams end when this is dropped"]
pub struct Router {
    routes: axum::Router,
    running: Option<Embedded>,
}

/// What a [`Router`] is made of.
#[must_use = "nothing runs before it is built"]
pub struct RouterBuilder {
    database: Database,
    cursors: Option<Client>,
    config: Option<Config>,
    prefix: Option<String>,
    entities: Option<PathBuf>,
    identity: Option<Identify>,
}

impl Router {
    /// Streams of this database, and of no other, at `/<db>/<coll>/_streams/<uri>`.
    pub fn builder(database: Database) -> RouterBuilder {
        RouterBuilder {
            database,
            cursors: None,
            config: None,
            prefix: None,
            entities: None,
            identity: None,
        }
    }

    /// The routes, to be nested in or merged into the host's.
    pub fn routes(&self) -> axum::Router {
        self.routes.clone()
    }

    /// Ends every stream with its last frame, then the cursors. Takes up to the time that `streams.drain`
    /// gives.
    pub async fn close(mut self) {
        if let Some(running) = self.running.take() {
            running.close().await;
        }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(running), Ok(runtime)) = (self.running.take(), runtime) {
            runtime.spawn(running.close());
        }
    }
}

impl RouterBuilder {
    /// Waiting cursors each hold a connection: gives them a client of their own, whose pool is as large
    /// as `streams.cursors`. Without it they share the database's client, and its pool.
    pub fn cursors(mut self, client: Client) -> Self {
        self.cursors = Some(client);
        self
    }

    /// Who is calling. Then nobody is known by a credential of Tailwater's own, except by a ticket.
    pub fn identity(
        mut self,
        identity: impl Fn(&Parts) -> Option<Identity> + Send + Sync + 'static,
    ) -> Self {
        self.identity = Some(Arc::new(identity));
        self
    }

    /// Limits, timing and permissions, as [`Config::from_yaml`] reads them. What it says of listeners,
    /// the connection string and mounts is not used.
    pub fn configuration(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Where entity feeds are mounted; `/api` unless given.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// The folder of entity and subscription declarations.
    pub fn entities(mut self, folder: impl Into<PathBuf>) -> Self {
        self.entities = Some(folder.into());
        self
    }

    /// Starts to watch users, permissions and definitions. MongoDB need not be there yet.
    ///
    /// # Errors
    /// A file or a key that the configuration names and that cannot be used; a prefix that is no path.
    pub async fn build(self) -> anyhow::Result<Router> {
        let requests = self.database.client().clone();
        let cursors = self.cursors.clone().unwrap_or_else(|| requests.clone());
        let config = self.config()?;
        let (running, routes) = Embedded::start(&config, requests, cursors, self.identity).await?;
        Ok(Router { routes, running: Some(running) })
    }

    fn config(&self) -> anyhow::Result<Config> {
        let mut config = self.config.clone().map_or_else(Config::defaults, Ok)?;
        let name = self.database.name();
        config.mounts = Mounts::of_database(name);
        config.mongodb.settings.database = name.to_owned();
        config.mongodb.settings.collection = SETTINGS.to_owned();
        config.entities = self.entities.clone().or(config.entities);
        if let Some(prefix) = &self.prefix {
            let prefix = prefix::parse(prefix);
            config.prefix = prefix.map_err(|reason| anyhow::anyhow!("the prefix {reason}"))?;
        }
        Ok(config)
    }
}

/// The collection of the host's database that keeps the key of event ids. No route reaches it.
const SETTINGS: &str = "tailwater_settings";

impl std::fmt::Debug for RouterBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouterBuilder")
            .field("database", &self.database.name())
            .finish_non_exhaustive()
    }
}
