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

/// Looks for the first event after `after` on which the pipeline fails. `None`: it fails on no event
/// that there is, so the fault lies elsewhere.
pub(super) async fn find(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
) -> Result<Option<Poison>, SourceError> {
    // The failing event was committed before the failure: nothing later needs looking at.
    let now = source.now().await?;
    let mut plain = CursorSpec::bare(spec.namespace.clone());
    plain.expanded_events = spec.expanded_events;
    let mut candidates = source.open(&plain, &Open::after(after)).await?;
    // What was found sound is not run again, however many events the pipeline rejects.
    let mut after = after.clone();
    while let Some(batch) = candidates.next().await? {
        if let Some(poison) = search(source, spec, &after, &batch.events).await? {
            return Ok(Some(poison));
        }
        if batch.has_finished(now) {
            break;
        }
        if let Some(last) = batch.events.last() {
            after = last.token.clone();
        }
    }
    Ok(None)
}

/// Tells a sound pipeline that failed on an event from one that MongoDB refuses: over no event at all
/// only the latter fails.
///
/// # Errors
/// `error` itself when it is not about an event, or what came up while asking.
pub(super) async fn acquit(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
    error: SourceError,
) -> Result<(), SourceError> {
    if !is_about_an_event(&error, spec) {
        return Err(error);
    }
    let mut open = Open::after(after);
    open.window.until = Some(after.clone());
    source.open(spec, &open).await.map(drop)
}

/// Bisects: the shortest run of events on which the pipeline fails ends with the one sought.
async fn search(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    after: &ResumeToken,
    events: &[SourceEvent],
) -> Result<Option<Poison>, SourceError> {
    let Some(last) = events.last() else { return Ok(None) };
    let Some(mut error) = probe(source, spec, after, last).await? else { return Ok(None) };
    let (mut sound, mut failing) = (0, events.len());
    while failing - sound > 1 {
        let middle = usize::midpoint(sound, failing);
        match probe(source, spec, after, &events[middle - 1]).await? {
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
    until: &SourceEvent,
) -> Result<Option<SourceError>, SourceError> {
    let mut open = Open::after(after);
    open.window.until = Some(until.token.clone());
    let outcome = async {
        let mut cursor = source.open(spec, &open).await?;
        while let Some(batch) = cursor.next().await? {
            if batch.has_passed(&until.token) {
                break;
            }
        }
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
