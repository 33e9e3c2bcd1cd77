//! How much of an event a subscriber is shown.

/// What one subscriber may see of one event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum View {
    /// All of it.
    Whole,
    /// The document as it is now, without what it was: the caller could not read it before.
    Current,
    /// Only that a document it could read is gone.
    Gone,
    /// Only that a document no longer belongs to what it watches.
    Leave,
}
