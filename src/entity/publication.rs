//! What a change means for an entity, whoever reads: decided once, from the whole change.

use std::sync::Arc;

use bson::{DateTime, RawDocument};

use super::{EntityDef, EventDef, Facts, Field, Operation, Undecided, Withheld, WithheldReason};
use crate::{
    change::{ChangeEvent, View},
    envelope::plain,
    telemetry::Telemetry,
};

/// A change as events of an entity.
#[derive(Clone, Debug)]
pub struct Publication {
    /// What happened.
    pub operation: Operation,
    /// Whose document it is, from the document after the change, for a delete from the pre-image.
    /// `None`: unknown.
    pub tenant: Option<String>,
    /// Who made the change, as the document says. `None`: unknown.
    pub user: Option<String>,
    /// The document's key as text.
    pub subject: Option<String>,
    /// When it was committed.
    pub time: DateTime,
    /// The declared events that it is, in declared order.
    pub published: Vec<Published>,
    /// Those whose condition could not be decided. To be counted and logged once.
    pub withheld: Vec<Withheld>,
    /// Whether the document is known to have been the same tenant's and user's before.
    pub(super) stayed: bool,
}

/// One event of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its position among the entity's events.
    pub event: usize,
    /// Its position among the events of this change.
    pub ordinal: u32,
}

impl Publication {
    /// What a change is. `None`: it does not concern a document.
    pub fn of(entity: &EntityDef, event: &ChangeEvent) -> Option<Self> {
        let raw = event.raw();
        let operation = Operation::of(raw)?;
        let name =
            |image: Option<&RawDocument>, field: &Option<Field>| field.as_ref()?.name(image?);
        let owners = |image| (name(image, &entity.tenant), name(image, &entity.user));
        let (tenant, user) = owners(image(raw, operation));
        let before = raw.get_document("fullDocumentBeforeChange").ok();
        let stayed = before.is_some() && owners(before) == (tenant.clone(), user.clone());
        let mut publication = Self {
            operation,
            tenant,
            user,
            subject: subject(raw),
            time: time(event),
            published: Vec::new(),
            withheld: Vec::new(),
            stayed,
        };
        publication.decide(entity, raw);
        Some(publication)
    }

    /// What a change is for an entity, decided once for all readers and kept with the change. Its
    /// events are numbered from `first`: those before them are another entity's.
    pub(super) fn shared(
        entity: &Arc<EntityDef>,
        event: &ChangeEvent,
        first: u32,
        telemetry: &Telemetry,
    ) -> Option<Arc<Self>> {
        type Decided = (Arc<EntityDef>, u32, Option<Arc<Publication>>);
        let same = |(known, from, _): &Decided| {
            *from == first && (Arc::ptr_eq(known, entity) || known == entity)
        };
        let decided = event.memo().recall(same, || {
            let publication = Self::of(entity, event);
            // Numbered otherwise, they are the same events.
            if let Some(publication) = publication.as_ref().filter(|_| first == 0) {
                telemetry.entity_published(publication.published.len());
                publication.log_withheld(entity);
            }
            let publication = publication.map(|it| Arc::new(it.numbered_from(first)));
            (entity.clone(), first, publication)
        });
        decided.2.clone()
    }

    /// Notices a change of an entity, once for all its readers.
    pub fn notice(entity: &Arc<EntityDef>, event: &ChangeEvent, telemetry: &Telemetry) {
        if !entity.is_about(event) {
            return;
        }
        let publication = Self::shared(entity, event, 0, telemetry);
        if publication.is_some_and(|publication| publication.is_unowned(entity)) {
            tracing::debug!(entity = %entity.name, "it cannot be told whose a change is");
            telemetry.entity_unowned();
        }
    }

    fn log_withheld(&self, entity: &EntityDef) {
        for withheld in &self.withheld {
            tracing::warn!(
                entity = %entity.name, event = %withheld.event, reason = %withheld.reason,
                "an event is withheld"
            );
        }
    }

    /// Whether the entity is divided by tenant and the change does not tell whose it is: then
    /// nobody receives it who is held to a tenant. To be counted once per change.
    pub(super) fn is_unowned(&self, entity: &EntityDef) -> bool {
        entity.tenant.is_some() && self.tenant.is_none() && !self.published.is_empty()
    }

    fn numbered_from(mut self, first: u32) -> Self {
        self.published.iter_mut().for_each(|published| published.ordinal += first);
        self
    }

    fn decide(&mut self, entity: &EntityDef, raw: &RawDocument) {
        let payload = entity.payload.of(self.operation, raw, View::Whole);
        let mut ordinal = 0;
        for (at, declared) in entity.events.iter().enumerate() {
            if !declared.operations.contains(self.operation) {
                continue;
            }
            match self.is_met(entity, declared, payload.as_deref()) {
                Ok(true) => {
                    self.published.push(Published { event: at, ordinal });
                    ordinal += 1;
                }
                Ok(false) => {}
                Err(undecided) => self.withheld.push(Withheld {
                    event: declared.name.clone(),
                    ordinal: None,
                    reason: WithheldReason::Condition(undecided),
                }),
            }
        }
    }

    fn is_met(
        &self,
        entity: &EntityDef,
        declared: &EventDef,
        data: Option<&RawDocument>,
    ) -> Result<bool, Undecided> {
        let Some(condition) = &declared.condition else { return Ok(true) };
        condition.holds(&Facts {
            event: &declared.name,
            entity: &entity.name,
            operation: self.operation.as_str(),
            data,
            tenant: self.tenant.as_deref(),
            user_id: self.user.as_deref(),
        })
    }
}

/// The document that says whose a change is.
pub(super) fn image(event: &RawDocument, operation: Operation) -> Option<&RawDocument> {
    let name = match operation {
        Operation::Create | Operation::Update => "fullDocument",
        Operation::Delete => "fullDocumentBeforeChange",
    };
    event.get_document(name).ok()
}

fn subject(event: &RawDocument) -> Option<String> {
    let key = event.get_document("documentKey").ok()?;
    plain::text(key.get("_id").ok()??)
}

fn time(event: &ChangeEvent) -> DateTime {
    let seconds = i64::from(event.cluster_time().seconds());
    let committed = event.raw().get_datetime("wallTime").ok();
    committed.unwrap_or_else(|| DateTime::from_millis(seconds * 1000))
}
