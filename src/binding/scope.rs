//! What a permission says of a caller's view, with the caller's values in place.

use bson::{Document, doc};

use super::Secrets;

/// The caller's scope on one collection. The default restricts nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    /// A MongoDB filter over documents; only what it matches may be read.
    pub read_filter: Option<Document>,
    /// The fields that may be read, see [`Cut`](super::Cut).
    pub project_response: Option<Document>,
    /// Fields that nobody may read, whatever the permission says.
    pub secrets: Secrets,
}

impl Scope {
    /// The filter that no document passes.
    pub fn nothing() -> Document {
        doc! { "_id": { "$in": [] } }
    }

    /// Whether no document is shown.
    pub fn shows_nothing(&self) -> bool {
        self.read_filter.as_ref() == Some(&Self::nothing())
    }
}
