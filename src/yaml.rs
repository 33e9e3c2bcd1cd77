//! Declarations in YAML files: a tree that remembers where everything stands, the files of a folder,
//! and notes about a place in them.

mod folder;
mod kind;
mod node;
mod note;
#[cfg(test)]
mod tests;

pub(crate) use folder::read;
pub(crate) use kind::Kind;
pub(crate) use node::{Entry, Mark, Node, parse};
pub use note::{Note, Origin};
