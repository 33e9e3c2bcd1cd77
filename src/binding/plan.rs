//! From a definition and its variables to a shared cursor and what is decided in process.

use bson::RawDocumentBuf;

use super::{CursorSpec, Namespace, Selection};
use crate::definition::{BindError, ResolvedStage, StreamDef, Variables};

/// A stream with every variable bound. Exists only when the definition allows it.
#[derive(Debug)]
pub struct Binding {
    /// What MongoDB is asked for; equal for every client with equal stages.
    pub cursor: CursorSpec,
    /// What this client receives of it.
    pub selection: Selection,
}

impl Binding {
    /// Resolves a definition for one client.
    ///
    /// # Errors
    /// An unbound variable, a value that makes no stage, or a stage that is not allowed.
    pub fn plan(
        namespace: &Namespace,
        definition: &StreamDef,
        variables: &Variables,
    ) -> Result<Self, BindError> {
        let stages = definition.bind_stages(variables)?;
        let notify_when = definition.bind_notify_when(variables)?;
        let cursor = CursorSpec {
            namespace: namespace.clone(),
            pipeline: stages.iter().enumerate().map(raw).collect::<Result<_, _>>()?,
            full_document: definition.full_document,
            before_change: definition.full_document_before_change,
            expanded_events: definition.show_expanded_events,
        };
        Ok(Self { cursor, selection: Selection::new(notify_when.as_ref())? })
    }
}

fn raw((index, stage): (usize, &ResolvedStage)) -> Result<RawDocumentBuf, BindError> {
    RawDocumentBuf::try_from(&stage.stage).map_err(|error| BindError::Invalid {
        location: format!("pipeline[{index}]"),
        reason: error.to_string(),
    })
}
