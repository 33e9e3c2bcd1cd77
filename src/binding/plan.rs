//! From a definition, its variables and the caller's scope to a shared cursor and what is decided in
//! process.
//!
//! The boundary comes logically first, on the raw event. Let k be the first stage that depends on a
//! variable or the caller; a boundary makes k zero. Stages before k go to MongoDB in the shared cursor,
//! k and after run in process, if every one of them can. Otherwise everything goes into a cursor that
//! only equal bindings share.

use std::sync::Arc;

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::{
    CursorSpec, Cut, Namespace, Scope, Selection,
    boundary::Boundary,
    documents,
    explanation::Explanation,
    hiding, oracle,
    outfit::Outfit,
    server_filter,
    steps::{Condition, Step, Steps},
};
use crate::{
    change::Reshaping,
    definition::{
        BindError, Bound, FullDocument, FullDocumentBeforeChange, NotifyEntry, NotifyWhen,
        ResolvedStage, StreamDef, Variables,
    },
    query::{ParseOptions, Projection, Refusal},
};

/// A stream with every variable bound. Exists only when the definition and the permission allow it.
#[derive(Debug)]
pub struct Binding {
    /// What MongoDB is asked for; equal specs share a cursor.
    pub cursor: CursorSpec,
    /// What this client receives of it.
    pub selection: Selection,
    /// A filter on documents that all fulfil which the client would receive, for those who begin with
    /// the documents that are there.
    pub documents: Document,
    /// What is cut out of what it receives.
    pub reshaping: Option<Reshaping>,
    /// Whether the cursor depends on the client or the caller, and so counts against their caps.
    pub own: bool,
    /// The plan in words.
    pub explanation: Explanation,
}

/// Why a stream cannot be opened for this client.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A variable, or a stage that became invalid.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The permission cannot be applied, so nothing is shown.
    #[error("the permission cannot be applied to this stream: {0}")]
    Scope(String),
    /// The client asks a condition of a field that it may not see.
    #[error("conditions on {0} are not allowed: the field is hidden from you")]
    Hidden(String),
}

/// Everything a plan is made from.
struct Planner<'a> {
    namespace: &'a Namespace,
    definition: &'a StreamDef,
    scope: &'a Scope,
    stages: Vec<ResolvedStage>,
    notify_when: Option<NotifyWhen>,
    cut: Option<Cut>,
}

impl Binding {
    /// Plans a stream for one client.
    ///
    /// # Errors
    /// What cannot be bound, decided or shown.
    pub fn plan(
        namespace: &Namespace,
        definition: &StreamDef,
        variables: &Variables,
        scope: &Scope,
    ) -> Result<Self, PlanError> {
        let cut = scope.project_response.as_ref().map(Cut::parse).transpose();
        let planner = Planner {
            namespace,
            definition,
            scope,
            stages: definition.bind_stages(variables)?,
            notify_when: definition.bind_notify_when(variables)?,
            cut: cut.map_err(|error| PlanError::Scope(error.to_string()))?,
        };
        oracle::check(
            definition,
            &planner.stages,
            planner.notify_when.as_ref(),
            planner.cut.as_ref(),
            scope,
        )?;
        planner.plan()
    }
}

impl Planner<'_> {
    fn plan(&self) -> Result<Binding, PlanError> {
        match self.in_process()? {
            Ok((boundary, steps, split)) => self.shared(boundary, steps, split),
            Err(refusal) => self.own(&refusal),
        }
    }

    /// Where the pipeline is split: stages from here on run in process.
    fn split(&self) -> usize {
        let bound = self.stages.iter().position(|stage| stage.bound_by != Bound::Nothing);
        let bound = bound.unwrap_or(self.stages.len());
        if self.scope.read_filter.is_some() {
            return 0;
        }
        // A deleted document can be judged by its pre-image only in process.
        let wants_images =
            self.definition.full_document_before_change != FullDocumentBeforeChange::Off;
        let early = wants_images && self.parse_steps(0).is_ok();
        if early { 0 } else { bound }
    }

    /// The parts that run in process, or why they cannot.
    #[expect(
        clippy::type_complexity,
        reason = "the outer error ends the planning, the inner one chooses the other plan"
    )]
    fn in_process(&self) -> Result<Result<(Option<Boundary>, Steps, usize), Refusal>, PlanError> {
        let split = self.split();
        let boundary = match &self.scope.read_filter {
            None => None,
            Some(filter) => match Boundary::parse(&raw(filter)?, self.looked_up()) {
                Ok(boundary) => Some(boundary),
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        if let Some(refusal) = self.copies(&self.stages[..split]) {
            return Ok(Err(refusal));
        }
        Ok(self.parse_steps(split).map(|steps| (boundary, steps, split)))
    }

    fn parse_steps(&self, from: usize) -> Result<Steps, Refusal> {
        let stages = self.stages[from..].iter().map(|stage| {
            let stage = raw(&stage.stage).map_err(|_| Refusal::Malformed)?;
            Step::parse(&stage)
        });
        stages.collect::<Result<Vec<_>, _>>().map(Steps::new)
    }

    /// A stage that computes could copy a hidden field to where nothing looks for it: then what is
    /// hidden is taken out on the server, before that stage.
    fn copies(&self, stages: &[ResolvedStage]) -> Option<Refusal> {
        if self.cut.is_none() && self.scope.secrets.is_empty() {
            return None;
        }
        let computing = stages.iter().filter(|stage| !stage.stage.contains_key("$match"));
        computing
            .filter_map(|stage| RawDocumentBuf::try_from(&stage.stage).ok())
            .find_map(|stage| Projection::parse(&stage).err())
    }

    fn looked_up(&self) -> bool {
        self.definition.full_document == FullDocument::UpdateLookup
    }

    fn shared(
        &self,
        boundary: Option<Boundary>,
        steps: Steps,
        split: usize,
    ) -> Result<Binding, PlanError> {
        let pipeline: Vec<_> =
            self.stages[..split].iter().map(|stage| stage.stage.clone()).collect();
        let explanation =
            Explanation::shared(&pipeline, &self.stages[split..], self.notify_when.is_some());
        let reshaping = self.outfit(&steps, &self.stages[split..]);
        let selection = self.selection(boundary, steps)?;
        self.binding(&pipeline, selection, reshaping, false, explanation)
    }

    /// Everything in the pipeline; only the last cut and the client's own choice stay in process.
    fn own(&self, refusal: &Refusal) -> Result<Binding, PlanError> {
        let mut pipeline = Vec::new();
        if let Some(filter) = &self.scope.read_filter {
            pipeline.push(server_filter::stage(filter).map_err(PlanError::Scope)?);
        }
        pipeline.extend(hiding::stages(self.scope, self.cut.as_ref()));
        pipeline.extend(self.stages.iter().map(|stage| stage.stage.clone()));
        let depends = self.scope.read_filter.is_some()
            || self.stages.iter().any(|stage| stage.bound_by != Bound::Nothing);
        let explanation =
            Explanation::own(&pipeline, &refusal.to_string(), self.notify_when.is_some());
        let reshaping = self.outfit(&Steps::default(), &[]);
        let selection = self.selection(None, Steps::default())?;
        self.binding(&pipeline, selection, reshaping, depends, explanation)
    }

    fn selection(&self, boundary: Option<Boundary>, steps: Steps) -> Result<Selection, PlanError> {
        Ok(Selection {
            boundary,
            steps,
            notify_when: self.notify_when.as_ref().map(condition).transpose()?,
            leave: self.definition.leave,
            pre_images: self.definition.full_document_before_change
                != FullDocumentBeforeChange::Off,
            scoped: self.scope.read_filter.is_some(),
            held: 0,
            any_of: Vec::new(),
        })
    }

    fn outfit(&self, steps: &Steps, stages: &[ResolvedStage]) -> Option<Reshaping> {
        let outfit = Outfit {
            steps: steps.clone(),
            cut: self.cut.clone(),
            secrets: self.scope.secrets.cut(),
        };
        if outfit.changes_nothing() {
            return None;
        }
        let stages: Vec<_> = stages.iter().map(|stage| stage.stage.clone()).collect();
        let identity = doc! {
            "stages": stages,
            "projection": self.scope.project_response.clone(),
            "secrets": self.scope.secrets.identity(),
        };
        let identity = RawDocumentBuf::try_from(&identity).ok()?.into_bytes();
        Some(Reshaping::new(identity, Arc::new(outfit)))
    }

    fn binding(
        &self,
        pipeline: &[Document],
        selection: Selection,
        reshaping: Option<Reshaping>,
        own: bool,
        explanation: Explanation,
    ) -> Result<Binding, PlanError> {
        let cursor = CursorSpec {
            namespace: self.namespace.clone(),
            pipeline: pipeline.iter().map(raw).collect::<Result<_, _>>()?,
            full_document: self.definition.full_document,
            before_change: self.definition.full_document_before_change,
            expanded_events: self.definition.show_expanded_events,
        };
        let explanation = explanation.about(self.definition, self.scope, &selection);
        let documents = documents::filter(self.scope, &self.stages, self.notify_when.as_ref());
        Ok(Binding { cursor, selection, documents, reshaping, own, explanation })
    }
}

fn raw(document: &Document) -> Result<RawDocumentBuf, BindError> {
    RawDocumentBuf::try_from(document).map_err(|error| BindError::Invalid {
        location: "pipeline".to_owned(),
        reason: error.to_string(),
    })
}

/// `notify_when` as a filter. Its fields have to be documents: else an absent image would equal null,
/// and a delete would reach whoever binds that.
fn condition(notify_when: &NotifyWhen) -> Result<Condition, PlanError> {
    let mut conditions = Vec::new();
    for entry in &notify_when.entries {
        conditions.push(doc! { &entry.top: { "$type": "object" } });
        conditions.push(equals_any(entry));
    }
    let filter = raw(&doc! { "$and": conditions })?;
    Condition::parse(&filter, &ParseOptions::event()).map_err(|refusal| {
        let name = "of notify_when".to_owned();
        BindError::NotData { name, reason: refusal.to_string() }.into()
    })
}

fn equals_any(entry: &NotifyEntry) -> Document {
    match entry.any_of.as_slice() {
        [value] => doc! { &entry.path: { "$eq": value } },
        values => doc! { &entry.path: { "$in": Bson::Array(values.to_vec()) } },
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests;
