//! The `readFilter` and `projectResponse` of a permission.
//!
//! A filter is read once. Its variables stay nodes of a tree and are bound as values, so that
//! nothing a caller brings is ever parsed, becomes an operator, or stands for a missing field:
//!
//! * a value in a field's place is wrapped as `{$eq: value}`;
//! * lists are bound where the filter says `$in`, `$nin` or `$all`;
//! * documents with a key that starts with `$` and regular expressions are refused;
//! * a value that is absent or `null` makes its condition impossible: in an `$or` the other branches
//!   stay, under a negation or without another branch the caller is refused.

mod bind;
mod operators;
mod parse;
mod project;
#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "tables read better without borrows")]
mod tests;
mod unescape;

use bson::{Bson, Document};

pub use self::bind::BindError;
pub use self::parse::FilterError;
pub use self::project::{ProjectError, ProjectResponse};
pub(super) use self::unescape::unescaped;
use super::variable::{Scope, Variable};

/// A `readFilter` as written, ready to be bound.
#[derive(Debug, Clone)]
pub(super) struct ReadFilter {
    root: Filter,
    binds: bool,
}

impl ReadFilter {
    /// Reads a filter whose keys are unescaped already.
    ///
    /// # Errors
    /// [`FilterError`] for a filter that is not one, and for variables where no value can stand.
    pub(super) fn parse(filter: &Document) -> Result<Self, FilterError> {
        let (root, binds) = (parse::filter(filter)?, parse::has_variables(filter)?);
        Ok(Self { root, binds })
    }

    /// Whether a variable is in it, so that it is not the same for every caller.
    pub(super) fn binds(&self) -> bool {
        self.binds
    }

    /// The filter for one caller.
    ///
    /// # Errors
    /// [`BindError`] when nothing could match, or when a value could mean more than itself.
    pub(super) fn bind(&self, scope: &Scope<'_>) -> Result<Document, BindError> {
        bind::bind(&self.root, scope)
    }
}

/// All of these must hold.
#[derive(Debug, Clone)]
struct Filter(Vec<Clause>);

#[derive(Debug, Clone)]
enum Clause {
    /// Without variables: goes through as it is.
    Constant(String, Bson),
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Nor(Vec<Filter>),
    /// `$expr`.
    Expression(Template),
    Field(String, Condition),
}

#[derive(Debug, Clone)]
enum Condition {
    Equals(Template),
    Operators(Vec<(String, Operand)>),
}

#[derive(Debug, Clone)]
enum Operand {
    Constant(Bson),
    Value(Template),
    List(ListTemplate),
    /// `$not`.
    Operators(Vec<(String, Operand)>),
    /// `$elemMatch` of documents.
    Filter(Filter),
}

#[derive(Debug, Clone)]
enum ListTemplate {
    Variable(Variable),
    Items(Vec<Template>),
}

/// A value with places for variables.
#[derive(Debug, Clone)]
enum Template {
    Constant(Bson),
    Variable(Variable),
    Document(Vec<(String, Template)>),
    Array(Vec<Template>),
}
