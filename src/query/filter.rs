//! A filter: parsed once, shared by all who use it, bound to each one's values.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bson::RawDocument;

use super::check::Checked;
use super::error::MatchError;
use super::evaluate::Evaluation;
use super::expand::Root;
use super::expr::Expr;
use super::index::IndexChoice;
use super::options::{ParseOptions, UndefinedRule};
use super::parse;
use super::path::Path;
use super::refusal::Refusal;
use super::slot::{BindError, BoundValue, SlotUse, SlotValue};

/// A parsed filter, cheap to clone.
///
/// Its slots are filled by [`Filter::bind`]. Subscribers of one shape thus share one tree and hold
/// only their own values: 100,000 of them cost 100,000 small slices, and what is parsed is the
/// definition, never text that a caller had a hand in.
#[derive(Debug, Clone)]
pub struct Filter(Arc<Plan>);

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) root: Expr,
    pub(crate) slots: Box<[Option<SlotUse>]>,
    pub(crate) undefined: UndefinedRule,
}

/// A filter with a value in every slot.
#[derive(Debug, Clone)]
pub struct BoundFilter {
    plan: Arc<Plan>,
    values: Arc<[BoundValue]>,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// Whatever is not proven to answer as MongoDB does, by name.
    pub fn parse(filter: &RawDocument, options: &ParseOptions<'_>) -> Result<Self, Refusal> {
        parse::parse(filter, options).map(|plan| Self(Arc::new(plan)))
    }

    /// Whether the document matches, as MongoDB would answer.
    ///
    /// # Errors
    /// The document is malformed, or the filter has slots.
    pub fn matches(&self, document: &RawDocument) -> Result<bool, MatchError> {
        self.matches_checked(&Checked::new(document)?)
    }

    /// [`Filter::matches`], for a document that many filters look at.
    ///
    /// # Errors
    /// The filter has slots, or *undefined* met `null` under [`UndefinedRule::Fail`].
    pub fn matches_checked(&self, document: &Checked<'_>) -> Result<bool, MatchError> {
        self.0.holds(document, &[])
    }

    /// How many values [`Filter::bind`] expects.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.0.slots.len()
    }

    /// Fills the slots, in order.
    ///
    /// # Errors
    /// The number of values differs from [`Filter::slots`], or one of them may not be compared.
    pub fn bind(&self, values: &[SlotValue]) -> Result<BoundFilter, BindError> {
        let (expected, given) = (self.slots(), values.len());
        if expected != given {
            return Err(BindError::Count { expected, given });
        }
        let pairs = values.iter().zip(&self.0.slots).enumerate();
        let values = pairs.map(|(slot, (value, usage))| {
            // A slot that the filter skips is still checked, as a single value.
            value.bind(slot, usage.unwrap_or(SlotUse::One))
        });
        Ok(BoundFilter { plan: Arc::clone(&self.0), values: values.collect::<Result<_, _>>()? })
    }

    /// The condition by which an index can find this filter's subscribers, if it has one.
    #[must_use]
    pub fn index_choice(&self) -> Option<IndexChoice> {
        IndexChoice::of(&self.0.root)
    }

    /// The paths the filter looks at, prefix included, once for each mention; not those inside
    /// `$elemMatch`.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.0.root.each_path(&mut |path| paths.push(path.clone()));
        paths
    }
}

impl BoundFilter {
    /// Whether the document matches, as MongoDB would answer.
    ///
    /// # Errors
    /// The document is malformed.
    pub fn matches(&self, document: &RawDocument) -> Result<bool, MatchError> {
        self.matches_checked(&Checked::new(document)?)
    }

    /// [`BoundFilter::matches`], for a document that many filters look at.
    ///
    /// # Errors
    /// *Undefined* met `null` under [`UndefinedRule::Fail`].
    pub fn matches_checked(&self, document: &Checked<'_>) -> Result<bool, MatchError> {
        self.plan.holds(document, &self.values)
    }

    pub(crate) fn values(&self) -> &[BoundValue] {
        &self.values
    }
}

impl Plan {
    fn holds(&self, document: &Checked<'_>, values: &[BoundValue]) -> Result<bool, MatchError> {
        let evaluation = Evaluation { values, undefined: self.undefined };
        evaluation.holds(&self.root, Root::Document(*document))
    }
}
