//! What is sent to MongoDB. Equal specs share one cursor.

use std::hash::{Hash, Hasher};

use bson::RawDocumentBuf;

use super::Namespace;
use crate::definition::{FullDocument, FullDocumentBeforeChange};

/// The identity of a shared cursor: compared by value, byte for byte, never by a digest.
#[derive(Clone, PartialEq, Debug)]
pub struct CursorSpec {
    /// The watched collection.
    pub namespace: Namespace,
    /// The stages that MongoDB runs, fully resolved.
    pub pipeline: Vec<RawDocumentBuf>,
    /// How updates get their `fullDocument`.
    pub full_document: FullDocument,
    /// Whether pre-images are asked for.
    pub before_change: FullDocumentBeforeChange,
    /// Whether DDL events and disambiguated paths are asked for.
    pub expanded_events: bool,
}

impl Eq for CursorSpec {}

impl CursorSpec {
    /// A cursor over all changes of a collection, without any image.
    pub fn bare(namespace: Namespace) -> Self {
        Self {
            namespace,
            pipeline: Vec::new(),
            full_document: FullDocument::Off,
            before_change: FullDocumentBeforeChange::Off,
            expanded_events: false,
        }
    }

    /// The same changes without stages and images: nothing that could fail on one of them.
    #[must_use]
    pub fn stripped(&self) -> Self {
        Self { expanded_events: self.expanded_events, ..Self::bare(self.namespace.clone()) }
    }
}

impl Hash for CursorSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.namespace.hash(state);
        self.pipeline.iter().for_each(|stage| stage.as_bytes().hash(state));
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    /// What has the same hash, by chance or as its part is not hashed, is another cursor all the same.
    #[test]
    fn equal_hashes_share_no_cursor() {
        let hasher = RandomState::new();
        let one = CursorSpec::bare(Namespace::new("d", "c"));
        let looked_up = CursorSpec { full_document: FullDocument::UpdateLookup, ..one.clone() };
        assert_eq!(hasher.hash_one(&one), hasher.hash_one(&looked_up));
        assert_ne!(one, looked_up);
    }
}
