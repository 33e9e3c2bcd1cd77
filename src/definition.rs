//! (definition)
