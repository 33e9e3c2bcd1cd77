//! The full name of a collection.

use std::fmt;

/// A database and a collection in it. What is watched may be wider: an empty collection stands for
/// the whole database, with an empty database for the whole deployment. Neither is a valid name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Namespace {
    /// The database.
    pub db: String,
    /// The collection.
    pub coll: String,
}

impl Namespace {
    /// Names a collection.
    pub fn new(db: impl Into<String>, coll: impl Into<String>) -> Self {
        Self { db: db.into(), coll: coll.into() }
    }

    /// What holds all of them: their one collection, else their one database, else everything.
    /// `None`: there are none.
    pub fn around<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut around = all.next()?.clone();
        for other in all {
            if around.db != other.db {
                return Some(Self::new("", ""));
            }
            if around.coll != other.coll {
                around.coll.clear();
            }
        }
        Some(around)
    }

    /// Whether it names one collection.
    pub fn is_collection(&self) -> bool {
        !self.coll.is_empty()
    }

    /// Whether it stands for the whole deployment.
    pub fn is_everything(&self) -> bool {
        self.db.is_empty()
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.db, self.coll)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_all_is_no_wider_than_needed() {
        let (orders, carts) = (Namespace::new("shop", "orders"), Namespace::new("shop", "carts"));
        let logs = Namespace::new("logs", "orders");
        for (all, expected) in [
            (vec![], None),
            (vec![&orders], Some(orders.clone())),
            (vec![&orders, &orders], Some(orders.clone())),
            (vec![&orders, &carts], Some(Namespace::new("shop", ""))),
            (vec![&orders, &logs], Some(Namespace::new("", ""))),
            (vec![&logs, &orders, &carts], Some(Namespace::new("", ""))),
        ] {
            assert_eq!(Namespace::around(all.clone()), expected, "{all:?}");
        }
    }
}
