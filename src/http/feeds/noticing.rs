//! Counts what happens to an entity, whoever its events are for.

use std::sync::Arc;

use crate::{
    change::ChangeEvent,
    entity::{EntityDef, Subscribers},
    hub::Observer,
};

/// Sees the changes of one entity's collection.
#[derive(Debug)]
pub(super) struct Noticing {
    entity: Arc<EntityDef>,
    subscribers: Subscribers,
}

impl Noticing {
    pub(super) fn of(entity: &Arc<EntityDef>, subscribers: &Subscribers) -> Arc<Self> {
        Arc::new(Self { entity: entity.clone(), subscribers: subscribers.clone() })
    }
}

impl Observer for Noticing {
    fn observe(&self, event: &ChangeEvent) {
        self.subscribers.notice(&self.entity, event);
    }
}
