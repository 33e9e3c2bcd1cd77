//! One declared entity.

use std::collections::BTreeMap;

use super::{EventDef, Field, Operations, Origin, Payload};
use crate::{
    binding::{Cut, Namespace},
    change::ChangeEvent,
    envelope::AvroSchema,
};

/// An entity: a collection, and the events that its changes are. Two equal ones publish the same.
#[derive(Clone, Debug)]
pub struct EntityDef {
    /// The `{entity}` of the route.
    pub name: String,
    /// Where its documents are.
    pub namespace: Namespace,
    /// Where a document says whose it is. `None`: the entity is not divided by tenant.
    pub tenant: Option<Field>,
    /// Where a document says who made the change.
    pub user: Option<Field>,
    /// The `source` of its envelopes, a URI reference.
    pub source: String,
    /// What `data` of an update holds.
    pub payload: Payload,
    /// Named sets of fields, for subscriptions that show no more.
    pub fieldgroups: BTreeMap<String, Cut>,
    /// In declared order. An entity without any has no feed.
    pub events: Vec<EventDef>,
    /// The Avro schema of its envelopes.
    pub schema: AvroSchema,
    /// Where it was declared.
    pub origin: Origin,
}

impl PartialEq for EntityDef {
    /// The place does not count, and the schema follows from the name. Nor do the field groups: a
    /// subscription asks for one, or for none.
    fn eq(&self, other: &Self) -> bool {
        let parts =
            |def: &Self| (def.namespace.clone(), def.tenant.clone(), def.user.clone(), def.payload);
        self.name == other.name
            && self.source == other.source
            && parts(self) == parts(other)
            && self.events == other.events
    }
}

impl EntityDef {
    /// Whether it has a feed at all.
    pub fn has_feed(&self) -> bool {
        !self.events.is_empty()
    }

    /// Operations that some event is declared for.
    pub fn operations(&self) -> Operations {
        self.events.iter().fold(Operations::NONE, |all, event| all.or(event.operations))
    }

    /// Whether a change is one of its collection.
    pub fn is_about(&self, event: &ChangeEvent) -> bool {
        let Ok(ns) = event.raw().get_document("ns") else { return false };
        let is = |name: &str, wanted: &str| ns.get_str(name).is_ok_and(|found| found == wanted);
        is("coll", &self.namespace.coll) && is("db", &self.namespace.db)
    }

    /// Why its collection should record pre-images, if it should.
    pub fn wants_pre_images(&self) -> Vec<&'static str> {
        let deletes = self.operations().contains(super::Operation::Delete);
        let asks = self.events.iter().any(|event| {
            event.operations.contains(super::Operation::Delete)
                && event.condition.as_ref().is_some_and(|condition| condition.asks_for_data())
        });
        let divided = self.tenant.is_some() || self.user.is_some();
        [
            (deletes && divided, "deletes reach nobody who is held to a tenant or a user"),
            (deletes && asks, "deletes whose condition looks at data are withheld"),
            (deletes, "deletes come with null data"),
            (
                divided && self.payload == Payload::Delta,
                "readers who are held to a tenant or a user get whole documents instead of deltas",
            ),
        ]
        .into_iter()
        .filter_map(|(holds, reason)| holds.then_some(reason))
        .collect()
    }
}
