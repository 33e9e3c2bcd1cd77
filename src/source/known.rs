//! Failing events that were found: whoever reads the same pipeline again need not search for them.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::poison::Poison;
use crate::change::ResumeToken;

/// Most bytes of events that are remembered; beyond, the oldest go.
const MOST_BYTES: usize = 1 << 20;

/// Shared by the readers of one pipeline. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Known(Arc<Mutex<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    poison: BTreeMap<ResumeToken, Poison>,
    bytes: usize,
}

impl Known {
    /// The first one after a token.
    pub(super) fn after(&self, token: &ResumeToken) -> Option<Poison> {
        let memory = self.lock();
        let beyond = (Bound::Excluded(token), Bound::Unbounded);
        memory.poison.range(beyond).next().map(|(_, poison)| poison.clone())
    }

    pub(super) fn add(&self, poison: &Poison) {
        let mut memory = self.lock();
        if memory.poison.insert(poison.token.clone(), poison.clone()).is_none() {
            memory.bytes += weight(poison);
        }
        while memory.bytes > MOST_BYTES {
            let Some((_, oldest)) = memory.poison.pop_first() else { break };
            memory.bytes -= weight(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(poison: &Poison) -> usize {
    poison.event.as_bytes().len() + 2 * poison.token.as_hex().len()
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use crate::{change::ClusterTime, source::SourceError};

    fn token(n: u64) -> ResumeToken {
        ResumeToken::before(ClusterTime::from_bits(n))
    }

    fn poison(n: u64, bytes: usize) -> Poison {
        let event = rawdoc! { "text": "x".repeat(bytes) };
        Poison { token: token(n), event, error: SourceError::unexpected("it fails") }
    }

    fn after(known: &Known, n: u64) -> Option<ResumeToken> {
        known.after(&token(n)).map(|poison| poison.token)
    }

    #[test]
    fn the_next_one_is_told() {
        let known = Known::default();
        [7, 3, 7].into_iter().for_each(|n| known.add(&poison(n, 10)));
        for (from, expected) in [(0, Some(3)), (3, Some(7)), (6, Some(7)), (7, None)] {
            assert_eq!(after(&known, from), expected.map(token), "{from}");
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let known = Known::default();
        (1..=4).for_each(|n| known.add(&poison(n, MOST_BYTES / 3)));
        assert_eq!(after(&known, 0), Some(token(3)));
        known.add(&poison(5, 2 * MOST_BYTES));
        assert_eq!(after(&known, 0), None);
    }
}
