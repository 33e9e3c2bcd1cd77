//! A folder of definitions, read for the command line.

use std::path::Path;

use super::report;
use crate::definition::file::{self, CollectionStreams};

/// The definitions of a folder are invalid; each reason was printed.
#[derive(Debug, thiserror::Error)]
#[error("{0} in the definitions of {1}")]
pub(super) struct Invalid(String, String);

impl Invalid {
    pub(super) fn new(errors: usize, folder: &Path) -> Self {
        let count = match errors {
            1 => "1 error".to_owned(),
            several => format!("{several} errors"),
        };
        Self(count, folder.display().to_string())
    }
}

/// Reads a folder. Prints every error and warning with its place.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<CollectionStreams>> {
    match file::load(folder) {
        Ok(collections) => {
            for warning in collections.iter().flat_map(|collection| &collection.warnings) {
                report(&format!("warning: {warning}"));
            }
            Ok(collections)
        }
        Err(notes) => {
            notes.iter().for_each(|note| report(&format!("error: {note}")));
            Err(Invalid::new(notes.len(), folder).into())
        }
    }
}
