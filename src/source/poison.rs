//! Finds the one event on which a pipeline fails, so that only that event is left out.

use super::{ChangeSource, Fault, Open, SourceError, SourceEvent};
use crate::{
    binding::CursorSpec,
    change::ResumeToken,
    definition::{FullDocument, FullDocumentBeforeChange},
};

/// An event that cannot be read through the declared pipeline.
#[derive(Debug, Clone)]
pub struct Poison {
    /// Which event.
    pub token: ResumeToken,
    /// The raw event as a cursor without stages and images shows it.
    pub event: bson::RawDocumentBuf,
    /// What MongoDB said of it.
    pub error: SourceError,
}

/// Batches looked through for candidates before the search gives up.
const BATCHES: usize = 16;

/// Looks for the first event after `after` on which the pipeline fails; `known` ones are left out.
/// `None`: the pipeline fails on no event seen, so the fault lies elsewhere.
pub(super) async fn find(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
    known: &[ResumeToken],
) -> Result<Option<Poison>, SourceError> {
    let mut plain = CursorSpec::bare(spec.namespace.clone());
    plain.expanded_events = spec.expanded_events;
    let mut candidates = source.open(&plain, &Open::after(after)).await?;
    for _ in 0..BATCHES {
        let Some(batch) = candidates.next().await? else { return Ok(None) };
        let events = batch.events.into_iter().filter(|event| !known.contains(&event.token));
        let events: Vec<_> = events.collect();
        if let Some(poison) = search(source, spec, after, known, &events).await? {
            return Ok(Some(poison));
        }
    }
    Ok(None)
}

/// Bisects: the shortest run of events on which the pipeline fails ends with the one sought.
async fn search(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
    known: &[ResumeToken],
    events: &[SourceEvent],
) -> Result<Option<Poison>, SourceError> {
    let Some(last) = events.last() else { return Ok(None) };
    let Some(mut error) = probe(source, spec, after, known, last).await? else { return Ok(None) };
    let (mut sound, mut failing) = (0, events.len());
    while failing - sound > 1 {
        let middle = usize::midpoint(sound, failing);
        match probe(source, spec, after, known, &events[middle - 1]).await? {
            Some(found) => (failing, error) = (middle, found),
            None => sound = middle,
        }
    }
    let event = &events[failing - 1];
    Ok(Some(Poison { token: event.token.clone(), event: event.raw.clone(), error }))
}

/// Runs the pipeline over the events up to one of them. `Some`: it failed, and how.
async fn probe(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
    known: &[ResumeToken],
    until: &SourceEvent,
) -> Result<Option<SourceError>, SourceError> {
    let mut open = Open::after(after);
    open.window.until = Some(until.token.clone());
    open.window.except = known.to_vec();
    let outcome = async {
        let mut cursor = source.open(spec, &open).await?;
        // The server looks at the whole window before it answers with an empty batch.
        while cursor.next().await?.is_some_and(|batch| !batch.events.is_empty()) {}
        Ok(())
    };
    match outcome.await {
        Ok(()) => Ok(None),
        Err(error) if is_about_an_event(&error, spec) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

fn is_about_an_event(error: &SourceError, spec: &CursorSpec) -> bool {
    let has_conditions = !spec.pipeline.is_empty()
        || spec.full_document != FullDocument::Off
        || spec.before_change != FullDocumentBeforeChange::Off;
    error.fault == Fault::Rejected && has_conditions
}
