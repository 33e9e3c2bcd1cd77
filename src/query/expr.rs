//! A parsed filter as a tree.

use super::compare::Relation;
use super::expand::Leaf;
use super::operand::{List, Operand};
use super::path::Path;
use super::pattern::Pattern;
use super::types::TypeSet;

/// A condition. `$ne`, `$nin`, `$not`, `$nor` and `$exists: false` are the negation of the whole
/// positive condition, so a tree needs no negative predicates.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    /// All hold; true when empty.
    All(Box<[Expr]>),
    /// At least one holds; false when empty.
    Any(Box<[Expr]>),
    Not(Box<Expr>),
    /// The predicate holds for at least one element the path reaches.
    Leaf(Path, Predicate),
}

/// What is asked of one element.
#[derive(Debug, Clone)]
pub(crate) enum Predicate {
    Compare(Relation, Operand),
    In(Membership),
    Pattern(Pattern),
    Exists,
    Type(TypeSet),
    Size(usize),
    Mod {
        divisor: i64,
        remainder: i64,
    },
    /// `$elemMatch` with operators: some element of the array, itself.
    ElementItself(Box<Expr>),
    /// `$elemMatch` with fields: some object or array in the array, as a document.
    ElementDocument(Box<Expr>),
}

/// The list of an `$in`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Membership {
    pub(crate) literals: List,
    pub(crate) patterns: Box<[Pattern]>,
    /// Slots that stand as single elements of the list.
    pub(crate) slots: Box<[u16]>,
    /// The slot that stands for the whole list.
    pub(crate) list: Option<u16>,
}

impl Expr {
    pub(crate) fn all(mut parts: Vec<Self>) -> Self {
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => Self::All(parts.into_iter().chain(last).collect()),
        }
    }

    pub(crate) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    pub(crate) fn equal(path: Path, operand: Operand) -> Self {
        Self::Leaf(path, Predicate::Compare(Relation::Equal, operand))
    }

    /// Visits the paths from the top, not those inside `$elemMatch`.
    pub(crate) fn each_path<'e>(&'e self, visit: &mut impl FnMut(&'e Path)) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.each_path(visit));
            }
            Self::Not(inner) => inner.each_path(visit),
            Self::Leaf(path, _) => visit(path),
        }
    }
}

impl Predicate {
    pub(crate) fn leaf(&self) -> Leaf {
        match self {
            Self::Exists | Self::Size(_) | Self::ElementItself(_) | Self::ElementDocument(_) => {
                Leaf::Whole
            }
            _ => Leaf::Traverse,
        }
    }
}
