//! What is known of a value before there is any data.

use std::fmt;

/// The kind of a value. Fields of documents are of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Nil,
    Bool,
    Number,
    Text,
    List,
    Map,
}

impl Kind {
    /// Whether a value of this kind can be one of the other.
    pub(super) fn fits(self, other: Self) -> bool {
        self == Self::Any || other == Self::Any || self == other
    }

    /// Whether the two can be equal. Everything can be `nil`.
    pub(super) fn can_equal(self, other: Self) -> bool {
        self == Self::Nil || other == Self::Nil || self.fits(other)
    }

    /// The kind of a value that is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Any }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "a value",
            Self::Nil => "nil",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "text",
            Self::List => "a list",
            Self::Map => "a document",
        })
    }
}
