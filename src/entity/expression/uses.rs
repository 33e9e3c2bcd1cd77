//! What an expression looks at.

use std::collections::BTreeSet;

/// Which fields of the document are looked at under one of its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Fields {
    #[default]
    None,
    /// These top-level fields.
    Named(BTreeSet<String>),
    /// The document as a whole.
    All,
}

/// Mentions of variables, which is what evaluation spends its time on.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub(super) data: Fields,
    pub(super) payload: Fields,
    /// Outside predicates, or of a predicate's own element.
    pub(super) mentions: usize,
    /// Of the document inside predicates: once per element.
    pub(super) repeated: usize,
}

impl Fields {
    pub(super) fn add(&mut self, field: Option<&str>) {
        match (&mut *self, field) {
            (Self::All, _) => {}
            (_, None) => *self = Self::All,
            (Self::Named(names), Some(field)) => drop(names.insert(field.to_owned())),
            (Self::None, Some(field)) => *self = Self::Named([field.to_owned()].into()),
        }
    }

    pub(super) fn wants(&self, field: &str) -> bool {
        match self {
            Self::None => false,
            Self::Named(names) => names.contains(field),
            Self::All => true,
        }
    }
}

impl Uses {
    pub(super) fn asks_for_data(&self) -> bool {
        self.data != Fields::None || self.payload != Fields::None
    }
}
