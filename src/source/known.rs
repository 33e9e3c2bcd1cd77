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
    poison: BTreeMap<ResumeToken, Arc<Poison>>,
    bytes: usize,
}

impl Known {
    /// Those after a token.
    pub(super) fn after(&self, token: &ResumeToken) -> Vec<Arc<Poison>> {
        let beyond = (Bound::Excluded(token), Bound::Unbounded);
        self.lock().poison.range(beyond).map(|(_, poison)| poison.clone()).collect()
    }

    pub(super) fn add(&self, poison: Arc<Poison>) {
        let mut memory = self.lock();
        let added = poison.weight();
        if memory.poison.insert(poison.token.clone(), poison).is_none() {
            memory.bytes += added;
        }
        while memory.bytes > MOST_BYTES {
            let Some((_, oldest)) = memory.poison.pop_first() else { break };
            memory.bytes -= oldest.weight();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use crate::{change::ClusterTime, source::SourceError};

    fn token(n: u64) -> ResumeToken {
        ResumeToken::before(ClusterTime::from_bits(n))
    }

    fn poison(n: u64, bytes: usize) -> Arc<Poison> {
        let event = rawdoc! { "text": "x".repeat(bytes) };
        Arc::new(Poison { token: token(n), event, error: SourceError::unexpected("it fails") })
    }

    #[track_caller]
    fn check(known: &Known, after: u64, expected: &[u64]) {
        let found: Vec<_> = known.after(&token(after)).iter().map(|p| p.token.clone()).collect();
        assert_eq!(found, expected.iter().map(|n| token(*n)).collect::<Vec<_>>(), "{after}");
    }

    #[test]
    fn the_next_ones_are_told() {
        let known = Known::default();
        [7, 3, 7].into_iter().for_each(|n| known.add(poison(n, 10)));
        check(&known, 0, &[3, 7]);
        check(&known, 3, &[7]);
        check(&known, 6, &[7]);
        check(&known, 7, &[]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let known = Known::default();
        (1..=4).for_each(|n| known.add(poison(n, MOST_BYTES / 3)));
        check(&known, 0, &[3, 4]);
        known.add(poison(5, 2 * MOST_BYTES));
        check(&known, 0, &[]);
    }
}
