//! One entity as one reader receives it: a definition like any stream's, and a shape.

use std::sync::Arc;

use bson::{Bson, Document, Uuid, doc, oid::ObjectId};

use super::{
    Audience, AudienceError, Caller, EntityDef, EventDef, Expression, Field, Operations, Rendition,
    SubscriptionDef,
};
use crate::{
    binding::{Binding, Cut, Namespace, PlanError, Scope},
    change::Reshaping,
    definition::{DefinitionError, StreamDef, Variables},
};

/// An entity and those of its events that a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The entity.
    pub entity: Arc<EntityDef>,
    /// Positions in the entity's events, in order; at least one.
    pub events: Vec<usize>,
}

/// A part, as one reader receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    entity: Arc<EntityDef>,
    events: Vec<usize>,
    operations: Operations,
    audience: Audience,
    fieldgroup: Option<Cut>,
    filter: Option<Arc<Expression>>,
    among_others: bool,
}

/// Why a feed cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The permission cannot be applied, or asks too much.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The entity makes no definition; a fault of ours.
    #[error("the entity makes no stream: {0}")]
    Definition(#[from] DefinitionError),
}

impl Part {
    pub(super) fn of(entity: &Arc<EntityDef>, wanted: impl Fn(&EventDef) -> bool) -> Option<Self> {
        let events = entity.events.iter().enumerate();
        let events: Vec<_> = events.filter(|(_, event)| wanted(event)).map(|(at, _)| at).collect();
        (!events.is_empty()).then(|| Self { entity: entity.clone(), events })
    }

    /// The declared events.
    pub fn events(&self) -> impl Iterator<Item = &EventDef> {
        self.events.iter().filter_map(|at| self.entity.events.get(*at))
    }

    /// Operations that some of them are declared for.
    pub fn operations(&self) -> Operations {
        self.events().fold(Operations::NONE, |all, event| all.or(event.operations))
    }
}

impl Feed {
    /// The part as a caller asks for it by entity or topic.
    ///
    /// # Errors
    /// The caller lacks a tenant that the entity is divided by.
    pub fn of_part(part: Part, ops: Operations, caller: &Caller) -> Result<Self, AudienceError> {
        let audience = Audience::of(&part.entity, None, caller)?;
        Ok(Self::new(part, ops, audience))
    }

    /// The part as a declared subscription brings it.
    ///
    /// # Errors
    /// The caller lacks what the subscription's scope asks for.
    pub fn of_subscription(
        part: Part,
        subscription: &SubscriptionDef,
        ops: Operations,
        caller: &Caller,
    ) -> Result<Self, AudienceError> {
        let audience = Audience::of(&part.entity, subscription.scope, caller)?;
        let fieldgroup = subscription.fieldgroup.as_ref();
        let fieldgroup = fieldgroup.and_then(|group| part.entity.fieldgroups.get(group).cloned());
        let feed = Self::new(part, ops.and(subscription.operations), audience);
        Ok(Self { fieldgroup, filter: subscription.filter.clone(), ..feed })
    }

    fn new(part: Part, ops: Operations, audience: Audience) -> Self {
        let operations = part.operations().and(ops);
        let Part { entity, events } = part;
        Self {
            entity,
            events,
            operations,
            audience,
            fieldgroup: None,
            filter: None,
            among_others: false,
        }
    }

    /// The feed on a cursor that brings other collections too.
    #[must_use]
    pub fn among_others(self) -> Self {
        Self { among_others: true, ..self }
    }

    /// The entity.
    pub fn entity(&self) -> &Arc<EntityDef> {
        &self.entity
    }

    /// Operations that can be met. None of them: nothing would ever come.
    pub fn operations(&self) -> Operations {
        self.operations
    }

    /// What the reader is held to.
    pub fn audience(&self) -> &Audience {
        &self.audience
    }

    /// The feed as a stream's definition. `records_images` says whether the collection records pre-
    /// and post-images; without, documents of updates are looked up when they are read.
    ///
    /// # Errors
    /// Never for a feed whose entity was loaded.
    pub fn definition(&self, records_images: bool) -> Result<StreamDef, DefinitionError> {
        let full_document = if records_images { "whenAvailable" } else { "updateLookup" };
        StreamDef::parse(&Bson::Document(doc! {
            "uri": &self.entity.name,
            "stages": self.stages(),
            "full_document": full_document,
            // Asked for in any case: with it, stages run in process, and all feeds of the entity
            // share one cursor.
            "full_document_before_change": "whenAvailable",
        }))
    }

    /// Plans the feed under the scopes of the caller's permissions, all of which apply: that of the
    /// route, and with `rls` that of the collection.
    ///
    /// # Errors
    /// A permission cannot be applied.
    pub fn plan(
        &self,
        scopes: &[Scope],
        records_images: bool,
    ) -> Result<(Binding, Rendition), FeedError> {
        let definition = self.definition(records_images)?;
        let plan = |scope: &Scope| {
            Binding::plan(&self.entity.namespace, &definition, &Variables::default(), scope)
        };
        let mut binding = plan(&all_of(scopes))?;
        if self.audience.is_held() {
            binding.selection = binding.selection.held(self.holding().count());
        }
        let cuts = scopes.iter().map(|scope| plan(&cut_of(scope)).map(|binding| binding.reshaping));
        let cuts: Vec<Reshaping> =
            cuts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        Ok((binding, self.rendition(cuts)))
    }

    /// The feed's shape. `cuts` are what the caller's permissions make of an event.
    pub fn rendition(&self, cuts: Vec<Reshaping>) -> Rendition {
        Rendition {
            entity: self.entity.clone(),
            events: self.events.clone(),
            audience: self.audience.clone(),
            fieldgroup: self.fieldgroup.clone(),
            filter: self.filter.clone(),
            cuts,
        }
    }

    /// What the reader is held to, and where the document says it.
    fn holding(&self) -> impl Iterator<Item = (&Field, &str)> {
        let user = self.entity.user.as_ref().zip(self.audience.user.as_deref());
        let tenant = self.entity.tenant.as_ref().zip(self.audience.tenant.as_deref());
        user.into_iter().chain(tenant)
    }

    /// What tells most readers apart comes first: the hub finds readers by the first condition that
    /// an index can answer.
    fn stages(&self) -> Vec<Document> {
        let holding = self.holding().map(|(field, name)| {
            let path = format!("fullDocument.{field}");
            doc! { "$match": { path: { "$in": readings(name) } } }
        });
        let mut stages: Vec<_> = holding.collect();
        if self.among_others {
            let Namespace { db, coll } = &self.entity.namespace;
            stages.push(doc! { "$match": { "ns.coll": coll, "ns.db": db } });
        }
        let types = self.operations.iter().flat_map(|operation| operation.operation_types());
        let types: Vec<&str> = types.copied().collect();
        stages.push(doc! { "$match": { "operationType": { "$in": types } } });
        stages
    }
}

/// Every value that names somebody by this text, see [`Field::name`](super::Field::name).
fn readings(name: &str) -> Vec<Bson> {
    let mut readings = vec![Bson::String(name.to_owned())];
    readings.extend(ObjectId::parse_str(name).map(Bson::ObjectId));
    readings.extend(name.parse().map(Bson::Int64));
    readings.extend(Uuid::parse_str(name).map(Bson::from));
    readings
}

fn all_of(scopes: &[Scope]) -> Scope {
    let mut filters: Vec<_> = scopes.iter().filter_map(|scope| scope.read_filter.clone()).collect();
    let read_filter = match filters.len() {
        0 | 1 => filters.pop(),
        _ => Some(doc! { "$and": filters }),
    };
    Scope { read_filter, ..Scope::default() }
}

fn cut_of(scope: &Scope) -> Scope {
    Scope { read_filter: None, ..scope.clone() }
}

#[cfg(test)]
mod tests;
