//! How much is handed over at once: what one write carries, and what a client that stops reading holds.

use super::Item;

const MOST_ITEMS: usize = 64;

const MOST_BYTES: usize = 1 << 20;

/// How many of the items are handed over at once: one at least, whatever its size.
pub(super) fn portion<'a>(items: impl Iterator<Item = &'a Item>) -> usize {
    let mut bytes = 0;
    let fits = items.take(MOST_ITEMS).take_while(|item| {
        let first = bytes == 0;
        bytes += item.weight().max(1);
        first || bytes <= MOST_BYTES
    });
    fits.count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bson::rawdoc;

    use super::*;
    use crate::change::{ChangeEvent, PositionKey, ResumeToken, View};

    fn item(bytes: usize) -> Item {
        let token = ResumeToken::from_hex("8200000007000000012B022C").unwrap();
        let key = PositionKey::new(b"secret", *b"ep01");
        let id = key.seal(&key.after(&token), "d.c");
        let event = ChangeEvent::new(rawdoc! { "text": "x".repeat(bytes / 3) }, token, id);
        Item::Change(Arc::new(event), View::Whole)
    }

    #[test]
    fn a_portion_is_bounded_in_items_and_in_bytes() {
        for (count, bytes, expected) in [
            (0, 1, 0),
            (1, 1, 1),
            (1, 100 << 20, 1),
            (3, 2 << 20, 1),
            (3, 400 << 10, 2),
            (100, 1 << 10, 64),
        ] {
            let items: Vec<_> = (0..count).map(|_| item(bytes)).collect();
            assert_eq!(portion(items.iter()), expected, "{count} of {bytes}");
        }
    }
}
