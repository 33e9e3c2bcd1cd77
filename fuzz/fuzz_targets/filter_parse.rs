//! Any bytes as a filter, and as a stage: read, refused, or malformed, but never a panic; and what
//! is read can be evaluated on any bytes.
#![no_main]

use bson::RawDocument;
use libfuzzer_sys::fuzz_target;
use tailwater::query::{Duplicates, Filter, ParseOptions, Projection};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = RawDocument::from_bytes(bytes) else { return };
    let strict = ParseOptions { duplicates: Duplicates::Refuse, ..ParseOptions::event() };
    for options in [ParseOptions::default(), ParseOptions::read_filter(), strict] {
        if let Ok(filter) = Filter::parse(document, &options) {
            let _ = filter.matches(document);
            let _ = filter.index_choice();
        }
    }
    if let Ok(projection) = Projection::parse(document) {
        let _ = projection.apply(document);
    }
});
