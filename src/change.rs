//! (change)
