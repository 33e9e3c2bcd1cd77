//! BSON as JSON text in every `jsonMode`, and lenient Extended JSON as BSON.
//!
//! Writing ([`write_document`], [`write_value`]) walks raw bytes and never builds a document: a
//! change is encoded once for each mode it is watched in, so this is the hot path. It trusts
//! nothing: malformed bytes are an error, invalid UTF-8 becomes U+FFFD, and every mode but
//! [`JsonMode::Shell`] yields text that any JSON parser reads.
//!
//! Extended JSON has no escape for user data that looks like a type wrapper, such as a stored
//! document `{"$oid": "zz"}`. It is written as it is; a reader of Extended JSON may refuse it or
//! take it for the type it imitates.
//!
//! Reading ([`parse_document`], [`parse_value`]) accepts what people type into a URL or a shell:
//! strict JSON, Extended JSON (both versions), and the shell's notation.

mod date;
mod error_body;
mod forms;
mod mode;
mod number;
mod reader;
mod regex_literal;
mod text;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use error_body::error_body;
pub use mode::{JsonMode, UnknownMode};
pub use reader::{DuplicateKeys, JsonReadError, Limits, Problem, parse_document, parse_value};
pub use walk::JsonError;
pub use writer::{MAX_DEPTH, write_document, write_value, write_without};
