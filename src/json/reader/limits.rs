//! How much a text may ask of the reader.

use super::super::writer::MAX_DEPTH;

/// Bounds and choices for [`parse_document`](super::parse_document). What is beyond a bound is an
/// error, never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in bytes.
    pub bytes: usize,
    /// How deep objects, arrays and constructor calls may nest; at most [`MAX_DEPTH`] counts.
    pub depth: usize,
    /// How many values, those inside others included.
    pub nodes: usize,
    /// What a key that is given twice means.
    pub duplicate_keys: DuplicateKeys,
    /// Whether exactly `{"$regex": "…", "$options": "…"}` is a regular expression, as in
    /// Extended JSON version 1, and not the query operator.
    pub legacy_regex: bool,
}

/// What to do with a key that is given twice in one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// An error: in a filter, one of two conditions would vanish.
    Refuse,
    /// The last one counts, in the first one's place.
    KeepLast,
}

impl Default for Limits {
    /// 1 MiB, 100 levels, 100,000 values, no duplicate keys, `$regex` is the operator.
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            depth: 100,
            nodes: 100_000,
            duplicate_keys: DuplicateKeys::Refuse,
            legacy_regex: false,
        }
    }
}

impl Limits {
    /// The reader is recursive, so the bound holds whatever was configured.
    pub(super) fn levels(&self) -> usize {
        self.depth.min(MAX_DEPTH)
    }
}
