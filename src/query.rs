//! (query)
