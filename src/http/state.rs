//! What every handler may use.

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    caps::Caps, documents::Documents, error::ApiError, gate::SharedGate, lifetime::Tempo,
    refusals::Refusals, rights::Rights, surface::Feeds, target::Target,
};
use crate::{binding::Namespace, catalog::Catalog, change::Dialect, config::Mounts, hub::Hub};

/// Shared by all requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AppState(pub(super) Arc<Shared>);

/// Built once by the application.
#[derive(Debug)]
pub struct Shared {
    /// The shared cursors.
    pub hub: Hub,
    /// The declared streams.
    pub catalog: Catalog,
    /// Who may do what.
    pub gate: SharedGate,
    /// How many may be connected.
    pub caps: Caps,
    /// Who was refused lately.
    pub refusals: Refusals,
    /// Open sessions, whose rights are looked at again when something changes.
    pub rights: Rights,
    /// The entity feeds, where any are declared.
    pub feeds: Option<Feeds>,
    /// The documents of collections.
    pub documents: Documents,
    /// From paths to collections.
    pub mounts: Mounts,
    /// Whose frames are sent.
    pub dialect: Dialect,
    /// Time between heartbeats.
    pub heartbeat: Option<Duration>,
    /// Time in which sessions end at shutdown.
    pub drain: Duration,
    /// Age at which a connection is closed.
    pub max_age: Option<Duration>,
    /// How long before its credential ends a connection says so.
    pub expiry_notice: Option<Duration>,
    /// Time that one write to a client may take.
    pub write_timeout: Duration,
    /// Most streams on one connection that carries several.
    pub streams_per_connection: usize,
    /// Largest message of a client, bytes.
    pub inbound_message: usize,
    /// Largest request body, bytes.
    pub request_body: usize,
    /// The collection that no route may touch.
    pub settings: Namespace,
    /// Cancelled when the drain begins.
    pub draining: CancellationToken,
    /// Upgraded connections, so that shutdown can wait for them.
    pub tasks: TaskTracker,
}

impl AppState {
    /// Wraps what the application built.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// How many may be connected.
    pub fn caps(&self) -> &Caps {
        &self.0.caps
    }

    /// The collection that holds the key of event ids is out of reach, whatever it is called.
    pub(super) fn guard_settings(&self, target: &Target) -> Result<(), ApiError> {
        if target.namespace() == Some(&self.0.settings) {
            return Err(ApiError::Forbidden("reserved resource".to_owned()));
        }
        Ok(())
    }

    pub(super) fn tempo(&self) -> Tempo {
        Tempo {
            heartbeat: self.0.heartbeat,
            draining: self.0.draining.clone(),
            drain: self.0.drain,
            max_age: self.0.max_age,
            expiry_notice: self.0.expiry_notice,
        }
    }
}
