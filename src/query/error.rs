//! Why a document could not be judged.

/// A document that cannot be judged is not delivered: this is never the same as "does not match",
/// so it must reach the caller through every negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The bytes are not BSON, or text in them is not UTF-8.
    #[error("read malformed bson: {0}; the document must be written again by its owner")]
    Malformed(&'static str),
    /// Nesting beyond what MongoDB stores; bounds the recursion.
    #[error("read a document nested deeper than {limit} levels")]
    TooDeep {
        /// The deepest level that is read.
        limit: usize,
    },
    /// A stage would write more than any document may hold.
    #[error("write a document of more than {limit} bytes")]
    TooLarge {
        /// The largest size in bytes.
        limit: usize,
    },
    /// The value *undefined* met a test for `null`, whose answer depends on the server's version.
    #[error("compare the deprecated value undefined with null; store null instead")]
    UndefinedMeetsNull,
    /// The filter has slots and was evaluated without values.
    #[error("evaluate slot {slot} without a value; bind the filter first")]
    Unbound {
        /// The slot that has no value.
        slot: u16,
    },
}
