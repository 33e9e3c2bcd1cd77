//! Any bytes on a WebSocket: messages are what their bound allows and no more than came, however they are cut up
//! into frames; and any text as a request of the subprotocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailwater::http::hear;

/// Largest message, bytes; small, so that it is reached.
const MOST: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    let messages = hear(bytes, MOST);
    assert!(messages.iter().all(|message| message.len() <= MOST));
    assert!(messages.iter().map(|message| message.len()).sum::<usize>() <= bytes.len());
    // As one frame, unmasked by a key of zeros.
    let text = &bytes[..bytes.len().min(MOST)];
    if std::str::from_utf8(text).is_ok() {
        let length = u16::try_from(text.len()).unwrap().to_be_bytes();
        let head: &[u8] = match text.len() {
            short @ ..126 => &[0x81, 0x80 | short as u8, 0, 0, 0, 0],
            _ => &[0x81, 0xFE, length[0], length[1], 0, 0, 0, 0],
        };
        assert_eq!(hear(&[head, text].concat(), MOST), [text]);
    }
});
