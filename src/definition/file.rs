//! Stream definitions in files, for `tailwater apply` and `tailwater check`.
//!
//! A file is YAML or JSON and holds one declaration, or a list of them:
//!
//! ```yaml
//! db: shop
//! coll: orders
//! streams:
//!   - uri: all
//!     stages: []
//! ```
//!
//! Stages may be written plainly (`$match`, `fullDocument.total`) or escaped. Values that JSON does
//! not have are written as Extended JSON, for example `{$oid: 5f9d88b9a9f8e8b0c0a1b2c3}`. What the
//! service would ignore in stored metadata, such as an unknown field, is an error in a file.

mod declaration;
mod merge;
mod locate;

use std::path::Path;

use bson::Array;

pub use crate::yaml::{Note, Origin};

use crate::yaml;

/// The streams of one collection, gathered from all files.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionStreams {
    /// The database.
    pub db: String,
    /// The collection.
    pub coll: String,
    /// The metadata's `streams`, ready to be stored: in `stages`, and only there, keys are escaped
    /// (`$` as `_$`, `.` as `::`), so that a RESTHeart of any version reads them.
    pub streams: Array,
    /// Where each stream was declared, in the same order.
    pub origin: Vec<Origin>,
    /// What works but may surprise, with its place.
    pub warnings: Vec<Note>,
}

/// Reads every `.yaml`, `.yml` and `.json` file in a folder, in the order of their names, or the
/// one file that `path` names. Folders inside the folder are not entered.
///
/// # Errors
/// Everything wrong in any file, or that there is none.
pub fn load(path: &Path) -> Result<Vec<CollectionStreams>, Vec<Note>> {
    let (texts, unreadable) = yaml::read(path);
    let texts = texts.iter().map(|(file, text)| (file.as_path(), text.as_str()));
    match parse(texts) {
        Ok(collections) if unreadable.is_empty() => Ok(collections),
        parsed => Err(unreadable.into_iter().chain(parsed.err().unwrap_or_default()).collect()),
    }
}

/// Reads files that are already in memory, each with the name that messages give it.
///
/// # Errors
/// Everything wrong in any of them, in order.
pub fn parse<'a>(
    files: impl IntoIterator<Item = (&'a Path, &'a str)>,
) -> Result<Vec<CollectionStreams>, Vec<Note>> {
    let mut gathered = merge::Gathered::default();
    let mut errors = Vec::new();
    for (file, text) in files {
        match declaration::parse(file, text) {
            Ok(declarations) => declarations.into_iter().for_each(|found| gathered.add(found)),
            Err(found) => errors.extend(found),
        }
    }
    errors.extend(gathered.duplicates());
    if errors.is_empty() { Ok(gathered.finish()) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
