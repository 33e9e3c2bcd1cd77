//! Conditions and filters: `language: expr`.
//!
//! An expression sees `event` (the declared event's name), `entity`, `operation` (`create`,
//! `update`, `delete`), `data`, `payload` (another name for `data`), `tenant` and `user_id`; what
//! is unknown is `nil`. It is evaluated by the crate `expr-lang`, but read by us first, which is
//! what makes it safe on a path that every write passes: only constructs whose work is bounded are
//! accepted, names and types are checked without any data, and it is known which fields of the
//! document have to be looked at.
//!
//! Accepted are literals, lists, `.field`, `?.field`, `[index]`, `? :`, `??`, the operators `or and
//! not ! == != < <= > >= in contains startsWith endsWith matches + - * / % ** ^`, and the functions
//! in `functions`, whose predicates, such as `any(data.items, #.n > 1)`, do not nest. `let`, ranges,
//! slices, maps, pipes, methods and whatever makes a replay differ, such as `now()`, are refused by
//! name.
//!
//! Values of a document become: integers and doubles numbers; decimal128 the nearest double; dates
//! text in RFC 3339 with milliseconds in UTC, which sorts as instants do; ObjectIds, UUIDs and
//! other binary data text as in an envelope; null and undefined `nil`.

mod check;
mod error;
mod functions;
mod kind;
mod lexer;
mod limits;
mod uses;
mod value;

use std::fmt;

use bson::RawDocument;

use check::Checked;
pub use error::{ExpressionError, Undecided};
use value::Budget;

/// An expression that was read, checked and compiled. Equal texts are equal expressions.
pub struct Expression {
    text: String,
    program: expr::Program,
    checked: Checked,
}

/// What an expression is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The declared name of the event.
    pub event: &'a str,
    /// The name of the entity.
    pub entity: &'a str,
    /// `create`, `update` or `delete`.
    pub operation: &'a str,
    /// The document or its changed fields. `None` is `nil`.
    pub data: Option<&'a RawDocument>,
    /// Whose document it is.
    pub tenant: Option<&'a str>,
    /// Who made the change.
    pub user_id: Option<&'a str>,
}

impl Expression {
    /// Reads an expression and checks it: names, functions, types, and that its result says yes or
    /// no.
    ///
    /// # Errors
    /// Where it is wrong, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let checked = check::check(text)?;
        let program = expr::compile(text).map_err(|error| ExpressionError::of_grammar(&error))?;
        Ok(Self { text: text.to_owned(), program, checked })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it looks at the document, which a delete has only with a pre-image.
    pub fn asks_for_data(&self) -> bool {
        self.checked.uses.asks_for_data()
    }

    /// Whether it holds. `nil`, `false`, zero and whatever is empty do not, everything else does.
    ///
    /// # Errors
    /// It cannot be decided: the event is to be withheld, and counted.
    pub fn holds(&self, facts: &Facts<'_>) -> Result<bool, Undecided> {
        let context = self.context(facts)?;
        let value = expr::run(&self.program, &context).map_err(|error| Undecided::of(&error))?;
        Ok(value::is_truthy(&value))
    }

    fn context(&self, facts: &Facts<'_>) -> Result<expr::Context, Undecided> {
        let uses = &self.checked.uses;
        let mut budget = Budget::for_uses(uses);
        let mut context = expr::Context::default();
        context.insert("event", facts.event.to_owned());
        context.insert("entity", facts.entity.to_owned());
        context.insert("operation", facts.operation.to_owned());
        context.insert("tenant", value::optional(facts.tenant));
        context.insert("user_id", value::optional(facts.user_id));
        context.insert("data", value::document(facts.data, &uses.data, &mut budget)?);
        context.insert("payload", value::document(facts.data, &uses.payload, &mut budget)?);
        Ok(context)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests;
