//! Something to say about a place in a file.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Mark;

/// Where something was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// As given by the caller.
    pub file: PathBuf,
    /// From one; zero when the file could not be read.
    pub line: u64,
    /// In characters, from one.
    pub column: u64,
}

/// An error or a warning; reads `orders.yaml:7:5: the reason`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{origin}: {reason}")]
pub struct Note {
    /// The place.
    pub origin: Origin,
    /// What is wrong there and what to do about it.
    pub reason: String,
}

impl Origin {
    pub(crate) fn new(file: &Path, (line, column): Mark) -> Self {
        Self { file: file.to_owned(), line, column }
    }

    pub(crate) fn note(self, reason: impl Into<String>) -> Note {
        Note { origin: self, reason: reason.into() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}:{}", self.file.display(), self.column),
        }
    }
}
