//! Counts what happens to an entity, whoever its events are for.

use std::sync::Arc;

use crate::{
    change::ChangeEvent,
    entity::{EntityDef, Publication},
    hub::Observer,
    telemetry::Telemetry,
};

/// Sees the changes of one entity's collection.
#[derive(Debug)]
pub(super) struct Noticing {
    entity: Arc<EntityDef>,
    telemetry: Telemetry,
}

impl Noticing {
    pub(super) fn of(entity: &Arc<EntityDef>, telemetry: &Telemetry) -> Arc<Self> {
        Arc::new(Self { entity: entity.clone(), telemetry: telemetry.clone() })
    }
}

impl Observer for Noticing {
    fn observe(&self, event: &ChangeEvent) {
        Publication::notice(&self.entity, event, &self.telemetry);
    }
}
