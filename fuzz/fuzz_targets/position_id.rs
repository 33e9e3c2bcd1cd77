//! Any text as an event id that a client sends back, and as a resume token: what is taken for an id is the
//! text that was issued, to the letter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailwater::change::{PositionKey, ResumeToken};

fuzz_target!(|text: &str| {
    let key = PositionKey::new(b"a key that nobody guesses", [0; 4]);
    if let Ok(position) = key.open(text, "d.c") {
        assert_eq!(key.seal(&position, "d.c").as_str(), text);
    }
    if let Some(token) = ResumeToken::from_hex(text) {
        let id = key.seal(&key.after(&token), "d.c");
        assert!(key.open(id.as_str(), "d.c").is_ok_and(|position| key.names(&position, &token)));
        assert!(key.open(id.as_str(), "d.other").is_err());
    }
});
