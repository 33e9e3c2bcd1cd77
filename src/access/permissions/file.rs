use std::path::{Path, PathBuf};

use bson::{Bson, Document};

use crate::access::yaml::{self, YamlError};

/// Why a file of permissions cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the permissions are not usable YAML: {0}")]
    Yaml(#[from] YamlError),
    #[error("the permissions need a list under `permissions:`")]
    NoList,
}

pub(super) fn read(path: &Path) -> Result<String, FileError> {
    yaml::read(path).map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// The entries under `permissions:`. What is no mapping becomes an empty one, and is reported.
pub(super) fn entries(text: &str) -> Result<Vec<Document>, FileError> {
    match yaml::parse(text)?.remove("permissions") {
        Some(Bson::Array(entries)) => Ok(entries
            .into_iter()
            .map(|entry| match entry {
                Bson::Document(entry) => entry,
                _ => Document::new(),
            })
            .collect()),
        Some(Bson::Null) => Ok(Vec::new()),
        _ => Err(FileError::NoList),
    }
}
