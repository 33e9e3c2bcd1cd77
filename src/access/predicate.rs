//! The language of a permission's `predicate`: which requests it is about.
//!
//! A text is read once into a tree. Variables stay nodes of that tree and are bound as values when a
//! request is judged: no text of a caller is ever parsed. The words and their meaning are those of
//! RESTHeart and of the handlers it is built on, with these differences, all to the strict side:
//! quoted words are never operators or brackets; a variable that has no value equals nothing, and
//! where one is touched under `not`, the whole permission does not match; what two regular
//! expression engines would read differently is refused.

mod arguments;
mod attribute;
mod call;
mod error;
mod evaluate;
mod grammar;
mod leaf;
mod pattern;
mod spec;
mod template;
#[cfg(test)]
mod tests;
mod token;

pub use self::error::{PredicateError, PredicateProblem};
use self::evaluate::Evaluation;
use self::grammar::Expr;
pub(super) use self::template::PathTemplate;
use super::principal::Caller;
use super::request::RequestHead;

/// A predicate, parsed and ready to judge requests.
#[derive(Debug, Clone)]
pub struct Predicate {
    root: Expr,
}

impl Predicate {
    /// Reads a predicate. Any text is answered in bounded time and stack.
    ///
    /// # Errors
    /// [`PredicateError`] with the place, for anything that is not in the language.
    pub fn parse(text: &str) -> Result<Self, PredicateError> {
        grammar::parse(text).map(|root| Self { root })
    }

    /// Whether the request is one of those that the predicate is about. What cannot be decided is
    /// `false`.
    pub fn matches(&self, head: &RequestHead, caller: &Caller) -> bool {
        Evaluation::new(head, caller).matches(&self.root)
    }
}
