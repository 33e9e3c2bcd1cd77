//! A plan in words, for operators and for callers who wonder why nothing comes.

use bson::Document;

use super::{Scope, Selection};
use crate::definition::{Bound, FullDocument, FullDocumentBeforeChange, ResolvedStage, StreamDef};

/// What was decided, and why.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// Whether every caller and every client of the stream is on this cursor.
    pub shared: bool,
    /// Who else is on it.
    pub shared_with: &'static str,
    /// The stages that MongoDB runs.
    pub pipeline: Vec<Document>,
    /// What is decided in process, in order, and why it is.
    pub in_process: Vec<String>,
    /// What the permission restricts.
    pub scope: Vec<String>,
    /// What the permission shows, as declared.
    pub projection: Option<Document>,
    /// What may surprise.
    pub warnings: Vec<String>,
}

const EVERYBODY: &str = "every client of every stream on this collection that starts with the same \
    constant stages and asks for the same images, whatever its variables and permission";
const EQUALS: &str =
    "only clients whose definition, variables and permission make the same pipeline";

impl Explanation {
    pub(super) fn shared(pipeline: &[Document], steps: &[ResolvedStage], notifies: bool) -> Self {
        let mut in_process: Vec<_> = steps.iter().map(reasoned).collect();
        in_process.extend(notifies.then(notify_when));
        let pipeline = pipeline.to_vec();
        Self { shared: true, shared_with: EVERYBODY, pipeline, in_process, ..Self::default() }
    }

    pub(super) fn own(pipeline: &[Document], why: &str, notifies: bool) -> Self {
        Self {
            shared: false,
            shared_with: EQUALS,
            pipeline: pipeline.to_vec(),
            in_process: notifies.then(notify_when).into_iter().collect(),
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
                let text = "readFilter, on the event as it came: it differs from caller to caller";
                self.in_process.insert(0, text.to_owned());
            }
        }
        if let Some(projection) = &scope.project_response {
            self.scope.push(format!("projectResponse {projection}"));
            self.in_process
                .push("projectResponse, last: nothing can bring back what it hides".to_owned());
            self.projection = Some(projection.clone());
        }
        if !scope.secrets.is_empty() {
            self.in_process.push("secrets of users, last: nobody is shown them".to_owned());
        }
        let hides = scope.project_response.is_some() || !scope.secrets.is_empty();
        if hides && !self.shared {
            self.warnings.push(
                "updates come without updateDescription: a stage that computes could copy what is hidden"
                    .to_owned(),
            );
        }
        self.warnings.extend(definition.warnings.iter().cloned());
        if scope.shows_nothing() {
            self.warnings.push(
                "nothing is shown: the permission's readFilter asks for a value that the caller has not"
                    .to_owned(),
            );
        }
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

    /// The plan as sentences, one a line.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![match self.pipeline.as_slice() {
            [] => "MongoDB sends every change of the collection".to_owned(),
            stages => {
                let stages: Vec<_> = stages.iter().map(ToString::to_string).collect();
                format!("MongoDB sends what passes {}", stages.join(", "))
            }
        }];
        words.push(format!("its cursor is shared with {}", self.shared_with));
        words.extend(self.in_process.iter().map(|part| format!("decided in process: {part}")));
        if self.in_process.is_empty() {
            words.push("nothing is decided in process".to_owned());
        }
        words.extend(self.scope.iter().map(|part| format!("restricted by {part}")));
        words.extend(self.warnings.iter().map(|warning| format!("mind: {warning}")));
        words
    }
}

fn reasoned(step: &ResolvedStage) -> String {
    let why = match step.bound_by {
        Bound::Caller => "it holds values of the caller",
        Bound::Client => "it holds variables of the client",
        Bound::Nothing => "it follows what is decided in process, or needs both images",
    };
    format!("stage {}: {why}", step.stage)
}

fn notify_when() -> String {
    "notify_when: it is each client's own choice".to_owned()
}
