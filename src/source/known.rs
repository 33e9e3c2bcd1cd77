//! Failing events that were found: whoever reads the same pipeline again need not search for them.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OwnedMutexGuard;

use super::poison::Poison;
use crate::{binding::CursorSpec, change::ResumeToken};

/// Most bytes of events that are remembered; beyond, the oldest go.
const MOST_BYTES: usize = 1 << 20;

/// Most pipelines that are remembered; beyond, those go that were asked for longest ago.
const MOST_PIPELINES: usize = 16;

/// What is known of each pipeline, whether or not it is being read.
#[derive(Debug, Default)]
pub struct KnownPipelines(Mutex<VecDeque<(Arc<CursorSpec>, Known)>>);

/// Shared by the readers of one pipeline. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Known {
    memory: Arc<Mutex<Memory>>,
    /// Held by whoever searches: others would search for the same.
    search: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Memory {
    poison: BTreeMap<ResumeToken, Arc<Poison>>,
    bytes: usize,
}

impl KnownPipelines {
    /// What is known of a pipeline.
    pub fn of(&self, spec: &Arc<CursorSpec>) -> Known {
        let mut pipelines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pipelines.iter().position(|(known, _)| known == spec);
        let found = place.and_then(|place| pipelines.remove(place));
        let (spec, known) = found.unwrap_or_else(|| (spec.clone(), Known::default()));
        pipelines.push_front((spec, known.clone()));
        pipelines.truncate(MOST_PIPELINES);
        known
    }
}

impl Known {
    /// Waits until nobody else searches.
    pub(super) async fn begin_search(&self) -> OwnedMutexGuard<()> {
        self.search.clone().lock_owned().await
    }

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
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use crate::{binding::Namespace, change::ClusterTime, source::SourceError};

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
    fn a_pipeline_is_known_again() {
        let spec =
            |coll: usize| Arc::new(CursorSpec::bare(Namespace::new("d", format!("c{coll}"))));
        let pipelines = KnownPipelines::default();
        pipelines.of(&spec(0)).add(poison(3, 10));
        for coll in 1..MOST_PIPELINES {
            check(&pipelines.of(&spec(coll)), 0, &[]);
        }
        check(&pipelines.of(&spec(0)), 0, &[3]);
        (1..=MOST_PIPELINES).for_each(|coll| drop(pipelines.of(&spec(coll))));
        check(&pipelines.of(&spec(0)), 0, &[]);
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
