//! Which condition of a filter its subscribers are indexed by.

use super::{Key, Keyer};
use crate::query::compare::Relation;
use crate::query::expr::{Expr, Membership, Predicate};
use crate::query::filter::BoundFilter;
use crate::query::operand::{List, Literal, Operand};
use crate::query::path::Path;
use crate::query::slot::BoundValue;

/// Equalities of which at least one must hold for the filter to match.
#[derive(Debug, Clone)]
pub struct IndexChoice {
    terms: Vec<IndexTerm>,
    /// How many subscribers the choice can tell apart: the best of several wins.
    merit: Merit,
}

/// `path` reaches an element equal to one value.
#[derive(Debug, Clone)]
pub struct IndexTerm {
    path: Path,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Literal(Literal),
    Slot(u16),
    List(u16),
}

/// A slot differs per subscriber; a literal is the same for all of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Merit {
    Union,
    Literals,
    Literal,
    SlotList,
    Slot,
}

impl IndexChoice {
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        choose(expr, None)
    }

    /// The equalities.
    #[must_use]
    pub fn terms(&self) -> &[IndexTerm] {
        &self.terms
    }

    /// The keys of one subscriber; nothing when a bound value has no key, so that this subscriber
    /// must be evaluated on every event.
    #[must_use]
    pub fn keys(&self, bound: &BoundFilter, keyer: &Keyer) -> Option<Vec<(Path, Key)>> {
        let mut keys = Vec::new();
        for term in &self.terms {
            let mut add = |literal: &Literal| {
                keys.push((term.path.clone(), digest(literal, keyer)?));
                Some(())
            };
            match &term.source {
                Source::Literal(literal) => add(literal)?,
                Source::Slot(slot) => match bound.values().get(usize::from(*slot))? {
                    BoundValue::One(literal) => add(literal)?,
                    BoundValue::List(_) => return None,
                },
                Source::List(slot) => match bound.values().get(usize::from(*slot))? {
                    BoundValue::List(list) if !list.has_null() => {
                        list.items().iter().try_for_each(add)?;
                    }
                    _ => return None,
                },
            }
        }
        Some(keys)
    }
}

impl IndexTerm {
    /// The path whose elements are looked up.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// `around` is the path of the `$elemMatch` in which `expr` stands: what its fields equal, the
/// joined path reaches too, as long as no component can be a position.
fn choose(expr: &Expr, around: Option<&Path>) -> Option<IndexChoice> {
    match expr {
        Expr::All(parts) => {
            let choices = parts.iter().filter_map(|part| choose(part, around));
            choices.reduce(|best, next| if next.merit > best.merit { next } else { best })
        }
        Expr::Any(parts) => {
            let choices: Option<Vec<_>> = parts.iter().map(|part| choose(part, around)).collect();
            let terms = choices?.into_iter().flat_map(|choice| choice.terms).collect();
            Some(IndexChoice { terms, merit: Merit::Union })
        }
        Expr::Not(_) => None,
        // An element of an element: no path reaches it.
        Expr::Leaf(path, Predicate::ElementItself(_) | Predicate::ElementDocument(_))
            if path.is_itself() =>
        {
            None
        }
        Expr::Leaf(path, predicate) => of_leaf(&joined(around, path)?, predicate),
    }
}

fn of_leaf(path: &Path, predicate: &Predicate) -> Option<IndexChoice> {
    let one = |source, merit| {
        let terms = vec![IndexTerm { path: path.clone(), source }];
        Some(IndexChoice { terms, merit })
    };
    match predicate {
        Predicate::Compare(Relation::Equal, Operand::Slot(slot)) => {
            one(Source::Slot(*slot), Merit::Slot)
        }
        Predicate::Compare(Relation::Equal, Operand::Literal(literal)) if has_key(literal) => {
            one(Source::Literal(literal.clone()), Merit::Literal)
        }
        Predicate::In(Membership { list: Some(slot), .. }) => {
            one(Source::List(*slot), Merit::SlotList)
        }
        Predicate::In(members) => of_members(path, members),
        Predicate::ElementItself(expr) | Predicate::ElementDocument(expr)
            if !path.has_numeric() =>
        {
            choose(expr, Some(path))
        }
        _ => None,
    }
}

fn of_members(path: &Path, members: &Membership) -> Option<IndexChoice> {
    let keyed = |list: &List| !list.has_null() && list.items().iter().all(has_key);
    if !members.patterns.is_empty() || !keyed(&members.literals) {
        return None;
    }
    let literals = members.literals.items().iter().cloned().map(Source::Literal);
    let slots = members.slots.iter().copied().map(Source::Slot);
    let term = |source| IndexTerm { path: path.clone(), source };
    let merit = if members.slots.is_empty() { Merit::Literals } else { Merit::SlotList };
    Some(IndexChoice { terms: literals.chain(slots).map(term).collect(), merit })
}

fn joined(around: Option<&Path>, path: &Path) -> Option<Path> {
    match around {
        None => Some(path.clone()),
        Some(_) if path.has_numeric() => None,
        Some(around) => around.join(path).ok(),
    }
}

/// Whether a key can stand for the value at all, under any keyer.
fn has_key(literal: &Literal) -> bool {
    digest(literal, &Keyer::new(ahash::RandomState::with_seeds(0, 0, 0, 0))).is_some()
}

fn digest(literal: &Literal, keyer: &Keyer) -> Option<Key> {
    literal.value().ok().and_then(|value| keyer.digest_value(&value))
}
