//! Wires the parts together, and owns the order in which they start and drain.

mod access;
mod clients;
mod embedded;
mod feeds;
mod first_user;
mod positions;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::clients::Clients;
pub(crate) use self::embedded::Embedded;
use crate::{
    access::StandIn,
    binding::Namespace,
    catalog::Catalog,
    change::Dialect,
    config::{
        CompatMode, Config, DocumentsConfig, LimitsConfig, OwnCursors, StreamsConfig,
        TrustedProxies,
    },
    http::{
        AppState, ServerLimits,
        caps::Caps,
        documents::Documents,
        gate::{Gate, Identify},
        operator_router, plan,
        refusals::Refusals,
        rights::Rights,
        router, serve,
        state::Shared,
        surface::Feeds,
    },
    hub::{HistoryLimits, Hub, HubLimits, KeyReceiver, MailboxLimits, OwnLimits},
    source::MongoSource,
};

/// Serves until `shutdown` resolves and everything has been ended in order.
///
/// # Errors
/// When the connection string cannot be used. MongoDB need not be there.
pub async fn run(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let operators = listen_for_operators(&config).await?;
    let stop = CancellationToken::new();
    let app = App::start(&config, stop.clone()).await?;
    let tasks = TaskTracker::new();
    let state = app.state(&config, stop.clone(), tasks.clone());
    app.watch(&config, stop.clone());
    let limits = server_limits(&config);
    let caps = state.caps().clone();
    // Operators look at the drain too, and connections of theirs do not delay it.
    let drained = CancellationToken::new();
    let _drained = drained.clone().drop_guard();
    if let Some(listener) = operators {
        let (router, caps) = (operator_router(state.clone()), app.operator_caps());
        tokio::spawn(serve(listener, router, limits, caps, drained, TaskTracker::new()));
    }
    let accepting =
        tokio::spawn(serve(listener, router(state), limits, caps, stop.clone(), tasks.clone()));
    shutdown.await;
    tracing::info!("draining");
    stop.cancel();
    accepting.await.context("the listener failed")?;
    app.drain(config.streams.drain, &tasks).await;
    Ok(())
}

/// The plan of a stream for somebody, from what MongoDB holds; no service has to run.
///
/// # Errors
/// MongoDB cannot be read, or there is no such stream or user.
pub async fn explain(config: &Config, path: &str, asked: &StandIn) -> anyhow::Result<Value> {
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    let clients = Clients::connect(&config.mongodb, &config.streams).await?;
    // No stream is opened, so no key of event ids is read or made: nothing is written.
    let (_key, none) = watch::channel(None);
    let app = App::of(config, clients, none, None, None)?;
    app.load_permissions(config).await?;
    let state = app.state(config, stop, TaskTracker::new());
    let plan = plan(&state, path, asked).await.map_err(anyhow::Error::msg);
    app.drain(Duration::ZERO, &TaskTracker::new()).await;
    plan
}

/// Binds the operators' own listener, where there is one.
async fn listen_for_operators(config: &Config) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = config.listen.admin else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.with_context(|| format!("cannot listen on {address} (admin_listen)"))?;
    tracing::info!(address = %listener.local_addr()?, "operators are served");
    Ok(Some(listener))
}

struct App {
    clients: Clients,
    hub: Hub,
    catalog: Catalog,
    gate: Arc<Gate>,
    rights: Rights,
    feeds: Option<Feeds>,
}

impl App {
    async fn start(config: &Config, stop: CancellationToken) -> anyhow::Result<Self> {
        let feeds = feeds::feeds(config, stop, false)?;
        let clients = Clients::connect(&config.mongodb, &config.streams).await?;
        Self::over(config, clients, feeds, None)
    }

    /// Over clients that are there.
    fn over(
        config: &Config,
        clients: Clients,
        feeds: Option<Feeds>,
        identity: Option<Identify>,
    ) -> anyhow::Result<Self> {
        let key = positions::load(clients.requests.clone(), config);
        Self::of(config, clients, key, feeds, identity)
    }

    fn of(
        config: &Config,
        clients: Clients,
        key: KeyReceiver,
        feeds: Option<Feeds>,
        identity: Option<Identify>,
    ) -> anyhow::Result<Self> {
        let source = MongoSource::new(clients.streams.clone(), config.streams.await_time);
        let hub = Hub::new(Arc::new(source), key, hub_limits(&config.streams));
        let catalog = Catalog::new(clients.requests.clone(), hub.clone());
        let gate = Arc::new(access::gate(config, &clients.requests)?.identified_by(identity));
        Ok(Self { clients, hub, catalog, gate, rights: Rights::default(), feeds })
    }

    /// Reads the permissions once.
    async fn load_permissions(&self, config: &Config) -> anyhow::Result<()> {
        let read = access::read_permissions(&self.gate, &self.clients.requests, config).await;
        read.context("the permissions cannot be read")
    }

    /// Notices changes of users and permissions until `stop`.
    fn watch(&self, config: &Config, stop: CancellationToken) {
        let watch = access::Watch {
            gate: self.gate.clone(),
            rights: self.rights.clone(),
            client: self.clients.requests.clone(),
            hub: self.hub.clone(),
            stop,
            administrators: access::Administrators::of(config),
            poll: access::poll(config),
        };
        Arc::new(watch).start(config);
    }

    fn state(&self, config: &Config, draining: CancellationToken, tasks: TaskTracker) -> AppState {
        let settings = &config.mongodb.settings;
        AppState::new(Shared {
            hub: self.hub.clone(),
            catalog: self.catalog.clone(),
            gate: self.gate.clone(),
            caps: Caps::new(
                &config.limits,
                config.listen.trusted_proxies.clone(),
                self.hub.telemetry().clone(),
            ),
            refusals: Refusals::new(config.limits.refusals, config.listen.trusted_proxies.clone()),
            rights: self.rights.clone(),
            feeds: self.feeds.clone(),
            documents: self.documents(&config.documents),
            mounts: config.mounts.clone(),
            dialect: match config.compat {
                CompatMode::Off => Dialect::Tailwater,
                CompatMode::Restheart => Dialect::RestHeart,
            },
            heartbeat: config.streams.heartbeat,
            drain: config.streams.drain,
            max_age: config.streams.max_connection_age,
            expiry_notice: config.auth.expiry_notice,
            write_timeout: config.streams.write_timeout,
            streams_per_connection: config.limits.streams_per_connection,
            inbound_message: config.limits.inbound_message,
            request_body: config.limits.request_body,
            settings: Namespace::new(&settings.database, &settings.collection),
            draining,
            tasks,
        })
    }

    /// Clients do not keep operators out.
    fn operator_caps(&self) -> Caps {
        let limits = LimitsConfig { per_address: None, ..LimitsConfig::default() };
        Caps::new(&limits, TrustedProxies::default(), self.hub.telemetry().clone())
    }

    fn documents(&self, limits: &DocumentsConfig) -> Documents {
        let DocumentsConfig { pagesize, max_pagesize, time_limit } = *limits;
        Documents::new(self.clients.requests.clone(), pagesize, max_pagesize, time_limit)
    }

    /// Sessions first, then cursors, then the connections to MongoDB.
    async fn drain(self, within: Duration, tasks: &TaskTracker) {
        self.end(within, tasks).await;
        if tokio::time::timeout(CURSORS_END, self.clients.shutdown()).await.is_err() {
            tracing::warn!("MongoDB was not told of the end of every cursor in time");
        }
    }

    /// Sessions, then cursors.
    async fn end(&self, within: Duration, tasks: &TaskTracker) {
        tasks.close();
        if tokio::time::timeout(within, tasks.wait()).await.is_err() {
            tracing::warn!("connections that did not end in time are cut");
        }
        // Reading a cursor ends with its await time; then it is killed on the server.
        if tokio::time::timeout(CURSORS_END, self.hub.shutdown()).await.is_err() {
            tracing::warn!("not every cursor ended in time");
        }
    }
}

/// How long the ending of cursors may take after the drain.
const CURSORS_END: Duration = Duration::from_secs(5);

fn hub_limits(streams: &StreamsConfig) -> HubLimits {
    HubLimits {
        cursors: streams.cursors,
        own: own_limits(streams.own_cursors),
        catch_ups: streams.catch_up,
        snapshots: streams.snapshots,
        linger: streams.linger,
        open_timeout: streams.open_timeout,
        event: streams.max_event,
        history: HistoryLimits { events: streams.history.events, bytes: streams.history.bytes },
        mailbox: MailboxLimits { events: streams.mailbox.events, bytes: streams.mailbox.bytes },
    }
}

fn own_limits(caps: OwnCursors) -> OwnLimits {
    let OwnCursors { total, per_stream, per_principal } = caps;
    OwnLimits { total, per_stream, per_principal }
}

fn server_limits(config: &Config) -> ServerLimits {
    let heartbeat = config.streams.heartbeat.unwrap_or(Duration::from_secs(20));
    ServerLimits {
        connections: config.limits.connections,
        header_timeout: config.limits.header_timeout,
        write_timeout: config.streams.write_timeout,
        // The kernel counts a full window as dead too: a slow reader has the time of a write.
        dead_after: (heartbeat * 2).max(config.streams.write_timeout),
    }
}
