//! One id for many streams: a position of each, and a word on whose positions they are.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::change::PositionId;

/// The positions of the streams of a connection. Positions are joined in the order of the streams'
/// paths, so that it does not matter in which order a client names them.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    /// By number of the stream; `None`: there is none yet.
    positions: Vec<Option<PositionId>>,
    /// Numbers of streams, by path.
    order: Vec<usize>,
    /// Tells this list of streams from another one.
    mark: String,
}

/// Between positions. Neither it nor [`NONE`] and [`MARK`] can stand in a position.
const SEPARATOR: char = '.';

/// Stands for no position.
const NONE: &str = "!";

/// Before the mark.
const MARK: char = '~';

/// Bytes of the digest that are looked at: two characters.
const MARK_CHARACTERS: usize = 2;

impl Joined {
    pub(crate) fn new(paths: &[&str]) -> Self {
        let mut order: Vec<_> = (0..paths.len()).collect();
        order.sort_by_key(|index| paths.get(*index));
        let mut digest = Sha256::new();
        for index in &order {
            digest.update(paths.get(*index).unwrap_or(&"").as_bytes());
            digest.update([0]);
        }
        let mut mark = URL_SAFE_NO_PAD.encode(digest.finalize());
        mark.truncate(MARK_CHARACTERS);
        Self { positions: vec![None; paths.len()], order, mark }
    }

    /// A stream has moved on.
    pub(crate) fn set(&mut self, index: usize, position: Option<PositionId>) {
        if let Some(known) = self.positions.get_mut(index) {
            *known = position;
        }
    }

    /// The id.
    pub(crate) fn id(&self) -> String {
        let texts = self.order.iter().map(|index| {
            let position = self.positions.get(*index).and_then(Option::as_ref);
            position.map_or(NONE, PositionId::as_str)
        });
        let mut id = String::with_capacity(45 * self.order.len() + 2);
        for (number, text) in texts.enumerate() {
            if number > 0 {
                id.push(SEPARATOR);
            }
            id.push_str(text);
        }
        id.push(MARK);
        id.push_str(&self.mark);
        id
    }

    /// The position of each stream in an id. `None`: it is not an id of these streams.
    pub(crate) fn split(&self, id: &str) -> Option<Vec<Option<String>>> {
        let (positions, mark) = id.rsplit_once(MARK)?;
        let texts: Vec<_> = positions.split(SEPARATOR).collect();
        if mark != self.mark || texts.len() != self.order.len() {
            return None;
        }
        let mut split = vec![None; texts.len()];
        for (index, text) in self.order.iter().zip(texts) {
            *split.get_mut(*index)? = (text != NONE).then(|| text.to_owned());
        }
        Some(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::PositionKey;

    fn position(bits: u64) -> PositionId {
        let key = PositionKey::new(b"a secret of the operator", *b"ep01");
        key.seal(&key.before(crate::change::ClusterTime::from_bits(bits)), "d.c")
    }

    fn joined(paths: &[&str], positions: &[Option<u64>]) -> Joined {
        let mut joined = Joined::new(paths);
        for (index, bits) in positions.iter().enumerate() {
            joined.set(index, bits.map(position));
        }
        joined
    }

    #[test]
    fn an_id_is_split_as_it_was_joined_in_whatever_order_streams_are_named() {
        let id = joined(&["/b", "/a", "/c"], &[Some(1), Some(2), None]).id();
        let text = |bits| Some(position(bits).as_str().to_owned());
        assert_eq!(Joined::new(&["/b", "/a", "/c"]).split(&id), Some(vec![text(1), text(2), None]));
        assert_eq!(Joined::new(&["/c", "/b", "/a"]).split(&id), Some(vec![None, text(1), text(2)]));
    }

    #[test]
    fn an_id_is_made_of_header_characters_and_is_as_long_as_its_positions() {
        for count in 1..5_usize {
            let paths: Vec<_> = (0..count).map(|n| format!("/{n}")).collect();
            let paths: Vec<_> = paths.iter().map(String::as_str).collect();
            let id = joined(&paths, &vec![Some(7); count]).id();
            assert_eq!(id.len(), 45 * count + 2, "{id}");
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        }
    }

    #[test]
    fn an_id_of_other_streams_is_none_of_these() {
        let id = joined(&["/a", "/b"], &[Some(1), Some(2)]).id();
        for paths in [&["/a"][..], &["/a", "/b", "/c"], &["/a", "/x"]] {
            assert_eq!(Joined::new(paths).split(&id), None, "{paths:?}");
        }
        for garbage in ["", "~", ".", "a.b", "0", position(1).as_str()] {
            assert_eq!(Joined::new(&["/a", "/b"]).split(garbage), None, "{garbage}");
        }
    }
}
