//! One declared event of an entity.

use std::sync::Arc;

use super::{Expression, Operations, Origin};
use crate::{binding::Cut, envelope::Format};

/// What makes a change an event, and how the event looks.
#[derive(Clone, Debug)]
pub struct EventDef {
    /// What expressions see as `event`, and logs name.
    pub name: String,
    /// Changes of other kinds are no such event.
    pub operations: Operations,
    /// The publisher's choice: sees the whole payload, before [`cut`](Self::cut).
    pub condition: Option<Arc<Expression>>,
    /// What it is published under.
    pub topic: String,
    /// How its envelope is written.
    pub format: Format,
    /// The fields of `data` that are kept (`include`) or left out (`exclude`).
    pub cut: Option<Cut>,
    /// Where it was declared.
    pub origin: Origin,
}

impl PartialEq for EventDef {
    /// The place does not count.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operations == other.operations
            && self.condition == other.condition
            && self.topic == other.topic
            && self.format == other.format
            && self.cut == other.cut
    }
}
