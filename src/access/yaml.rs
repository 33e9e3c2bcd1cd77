use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bson::Document;

use crate::json::{JsonReadError, Limits, parse_document};

/// Users and permissions are a few pages; a larger file is something else.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a text is no YAML that can be used. Nothing of the text is quoted: it may hold passwords.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    #[error("{0}")]
    Syntax(String),
    #[error("{0}")]
    Value(#[from] JsonReadError),
}

pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        let reason = format!("the file is larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(text)
}

/// One YAML document as BSON. Extended JSON in it means what it says, as in files of RESTHeart.
pub(super) fn parse(text: &str) -> Result<Document, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 64, max_nodes: 200_000, max_documents: 1 },
        with_snippet: false,
    };
    let value: serde_json::Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| YamlError::Syntax(error.to_string()))?;
    match value {
        serde_json::Value::Null => Ok(Document::new()),
        value => Ok(parse_document(&value.to_string(), limits())?),
    }
}

fn limits() -> Limits {
    Limits { bytes: 16 << 20, nodes: 400_000, ..Limits::default() }
}
