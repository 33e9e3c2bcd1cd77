//! Any text as a file of stream definitions and of entities, and any bytes as stored metadata: read or refused,
//! every refusal with its place.
#![no_main]

use std::path::{Path, PathBuf};

use bson::{Bson, Document};
use libfuzzer_sys::fuzz_target;
use tailwater::{
    definition::{StreamDefs, file},
    entity::Entities,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Err(notes) = file::parse([(Path::new("a.yaml"), text)]) {
            assert!(notes.iter().all(|note| !note.to_string().is_empty()) && !notes.is_empty());
        }
        let _ = Entities::parse(&[(PathBuf::from("a.yaml"), text.to_owned())]);
    }
    if let Ok(document) = Document::from_reader(bytes) {
        let streams = document.get("streams").cloned().unwrap_or(Bson::Document(document));
        StreamDefs::parse(&streams);
    }
});
