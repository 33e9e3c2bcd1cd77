//! One declared subscription: a feed with a name.

use std::sync::Arc;

use super::{Expression, Operations, Origin};

/// A feed that is declared instead of asked for, from the `subscriptions` of an entity or of a
/// file.
#[derive(Clone, Debug)]
pub struct SubscriptionDef {
    /// The last segment of its route.
    pub name: String,
    /// Set when an entity declares it: only that entity has a part in it.
    pub entity: Option<String>,
    /// The topic. `None`: every event of its entity.
    pub source: Option<String>,
    /// Which operations it brings.
    pub operations: Operations,
    /// Whose events a reader receives. `None`: the tenant's, where the entity has tenants.
    pub scope: Option<Scope>,
    /// Whether the permission for reading the collection applies as well.
    pub rls: bool,
    /// The group of fields that `data` is cut to.
    pub fieldgroup: Option<String>,
    /// How it can be opened.
    pub transports: Transports,
    /// The reader's choice: sees only what the reader is shown.
    pub filter: Option<Arc<Expression>>,
    /// Where it was declared.
    pub origin: Origin,
}

/// Whose events a subscription brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everybody's.
    Global,
    /// Those of the reader's tenant.
    Tenant,
    /// Those of the reader, in its tenant where the entity has tenants.
    User,
}

/// A way to open a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Server-sent events.
    Sse,
    /// WebSocket.
    WebSocket,
}

/// Some of the transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transports {
    /// Server-sent events.
    pub sse: bool,
    /// WebSocket.
    pub websocket: bool,
}

impl SubscriptionDef {
    /// Whether an event of an entity, published under a topic, belongs to it.
    pub fn covers(&self, entity: &str, topic: &str) -> bool {
        self.entity.as_deref().is_none_or(|own| own == entity)
            && self.source.as_deref().is_none_or(|source| source == topic)
    }
}

impl PartialEq for SubscriptionDef {
    /// The place does not count.
    fn eq(&self, other: &Self) -> bool {
        let flags = |def: &Self| (def.operations, def.scope, def.rls, def.transports);
        let names = |def: &Self| (def.name.clone(), def.entity.clone(), def.source.clone());
        names(self) == names(other)
            && flags(self) == flags(other)
            && self.fieldgroup == other.fieldgroup
            && self.filter == other.filter
    }
}

impl Transports {
    /// Every transport.
    pub const ALL: Self = Self { sse: true, websocket: true };

    /// Whether it can be opened this way.
    pub fn allow(self, transport: Transport) -> bool {
        match transport {
            Transport::Sse => self.sse,
            Transport::WebSocket => self.websocket,
        }
    }
}
