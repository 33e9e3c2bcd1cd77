//! Where in a file a part of a definition stands.

use super::super::escape::unescape_key;
use super::super::path::Segment;
use crate::yaml::{Entry, Kind, Mark, Node};

/// Where a path leads, as far as it can be followed; keys may be written escaped.
pub(super) fn locate(node: &Node, path: &[Segment]) -> Mark {
    let step = path.split_first().and_then(|(segment, rest)| match (segment, &node.kind) {
        (Segment::Index(index), Kind::List(items)) => Some((items.get(*index)?, rest)),
        (Segment::Key(key), Kind::Map(entries)) => {
            let same = |entry: &&Entry| entry.key == *key || unescape_key(&entry.key) == *key;
            Some((&entries.iter().find(same)?.value, rest))
        }
        _ => None,
    });
    step.map_or(node.mark, |(inner, rest)| locate(inner, rest))
}
