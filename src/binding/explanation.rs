//! A plan in words, for operators and for callers who wonder why nothing comes.

use bson::Document;

use super::{Scope, Selection};
use crate::definition::{FullDocument, FullDocumentBeforeChange, ResolvedStage, StreamDef};

/// What was decided, and why.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// Whether every caller and every client of the stream is on this cursor.
    pub shared: bool,
    /// The stages that MongoDB runs.
    pub pipeline: Vec<Document>,
    /// What is decided in process, in order.
    pub in_process: Vec<String>,
    /// What the permission restricts.
    pub scope: Vec<String>,
    /// What may surprise.
    pub warnings: Vec<String>,
}

impl Explanation {
    pub(super) fn shared(pipeline: &[Document], steps: &[ResolvedStage], notifies: bool) -> Self {
        let mut in_process: Vec<_> =
            steps.iter().map(|step| format!("stage {}", step.stage)).collect();
        in_process.extend(notifies.then(|| "notify_when".to_owned()));
        Self { shared: true, pipeline: pipeline.to_vec(), in_process, ..Self::default() }
    }

    pub(super) fn own(pipeline: &[Document], why: &str, notifies: bool) -> Self {
        Self {
            shared: false,
            pipeline: pipeline.to_vec(),
            in_process: notifies.then(|| "notify_when".to_owned()).into_iter().collect(),
            warnings: vec![format!(
                "only equal bindings share this cursor: failed to {why} in process"
            )],
            ..Self::default()
        }
    }

    pub(super) fn about(
        mut self,
        definition: &StreamDef,
        scope: &Scope,
        selection: &Selection,
    ) -> Self {
        if let Some(filter) = &scope.read_filter {
            self.scope.push(format!("readFilter {filter}"));
            if self.shared {
                self.in_process.insert(0, "readFilter, on the raw event".to_owned());
            }
        }
        if let Some(projection) = &scope.project_response {
            self.scope.push(format!("projectResponse {projection}"));
            self.in_process.push("projectResponse".to_owned());
        }
        self.warnings.extend(definition.warnings.iter().cloned());
        self.warn_of_images(definition, scope);
        if selection.leave && !selection.pre_images {
            self.warnings.push(
                "leave needs full_document_before_change: without pre-images nothing is signalled"
                    .to_owned(),
            );
        }
        self
    }

    fn warn_of_images(&mut self, definition: &StreamDef, scope: &Scope) {
        if scope.read_filter.is_none() {
            return;
        }
        if definition.full_document_before_change == FullDocumentBeforeChange::Off {
            self.warnings.push("deletes will be withheld: no pre-images".to_owned());
        }
        match definition.full_document {
            FullDocument::UpdateLookup => self.warnings.push(
                "updates come without updateDescription: a looked-up document may be newer than the \
                 change; use post-images (full_document: whenAvailable)"
                    .to_owned(),
            ),
            FullDocument::Off => self.warnings.push(
                "updates will be withheld: full_document is off".to_owned(),
            ),
            FullDocument::WhenAvailable | FullDocument::Required => {}
        }
    }
}
