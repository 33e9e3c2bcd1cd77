//! Stages that run in process, in their declared order.

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    query::{
        BoundFilter, Checked, Filter, IndexChoice, MatchError, ParseOptions, Projection, Refusal,
    },
    telemetry::Sieve,
};

/// One stage.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Match(Condition),
    Reshape(Projection),
}

/// A filter and how an index finds those whom it lets pass.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) filter: BoundFilter,
    pub(super) index: Option<IndexChoice>,
}

/// The stages of a stream that are not sent to MongoDB.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps(Vec<Step>);

impl Condition {
    /// Reads a filter whose values are all in place.
    pub(super) fn parse(filter: &RawDocument, options: &ParseOptions<'_>) -> Result<Self, Refusal> {
        Self::of(&Filter::parse(filter, options)?)
    }

    pub(super) fn of(filter: &Filter) -> Result<Self, Refusal> {
        let index = filter.index_choice();
        // A filter without slots binds nothing, so binding cannot fail.
        let filter = filter.bind(&[]).map_err(|_| Refusal::Malformed)?;
        Ok(Self { filter, index })
    }

    /// What cannot be decided does not hold.
    pub(super) fn holds(&self, event: &Checked<'_>) -> bool {
        self.filter.matches_checked(event).unwrap_or(false)
    }
}

impl Step {
    /// Reads a stage, or says why it cannot run in process.
    pub(super) fn parse(stage: &RawDocument) -> Result<Self, Refusal> {
        match stage.get_document("$match") {
            Ok(filter) if stage.iter().count() == 1 => {
                Condition::parse(filter, &ParseOptions::event()).map(Self::Match)
            }
            _ => Projection::parse(stage).map(Self::Reshape),
        }
    }
}

impl Steps {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    /// Whether every event passes.
    pub(super) fn pass_everything(&self) -> bool {
        !self.0.iter().any(|step| matches!(step, Step::Match(_)))
    }

    /// Lets an event pass the stages and then a last condition, each seeing what the stages before it
    /// made of the event; or says which of the two does not.
    pub(super) fn pass(
        &self,
        event: &Checked<'_>,
        raw: &RawDocument,
        last: Option<&Condition>,
    ) -> Result<(), Sieve> {
        let reshapes = self.0.iter().any(|step| matches!(step, Step::Reshape(_)));
        if reshapes {
            let current = self.walk(raw).ok().flatten().ok_or(Sieve::Stage)?;
            let chosen = last.is_none_or(|last| last.filter.matches(&current).unwrap_or(false));
            return if chosen { Ok(()) } else { Err(Sieve::NotifyWhen) };
        }
        if !self.conditions().all(|condition| condition.holds(event)) {
            return Err(Sieve::Stage);
        }
        let chosen = last.is_none_or(|last| last.holds(event));
        if chosen { Ok(()) } else { Err(Sieve::NotifyWhen) }
    }

    /// What the stages make of an event; `None`: one of them does not let it pass.
    fn walk(&self, raw: &RawDocument) -> Result<Option<RawDocumentBuf>, MatchError> {
        let mut current = raw.to_owned();
        for step in &self.0 {
            match step {
                Step::Match(condition) if !condition.filter.matches(&current)? => return Ok(None),
                Step::Match(_) => {}
                Step::Reshape(projection) => current = projection.apply(&current)?,
            }
        }
        Ok(Some(current))
    }

    /// The event as the stages leave it.
    pub(super) fn reshape(&self, event: &RawDocument) -> Result<RawDocumentBuf, MatchError> {
        let projections = self.0.iter().filter_map(|step| match step {
            Step::Reshape(projection) => Some(projection),
            Step::Match(_) => None,
        });
        let mut current = event.to_owned();
        for projection in projections {
            current = projection.apply(&current)?;
        }
        Ok(current)
    }

    /// Conditions that see the event as it came.
    pub(super) fn leading(&self) -> impl Iterator<Item = &Condition> {
        let untouched = self.0.iter().take_while(|step| matches!(step, Step::Match(_)));
        untouched.filter_map(|step| match step {
            Step::Match(condition) => Some(condition),
            Step::Reshape(_) => None,
        })
    }

    /// Whether a last condition would see the event as it came.
    pub(super) fn leave_untouched(&self) -> bool {
        !self.0.iter().any(|step| matches!(step, Step::Reshape(_)))
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter().filter_map(|step| match step {
            Step::Match(condition) => Some(condition),
            Step::Reshape(_) => None,
        })
    }
}
