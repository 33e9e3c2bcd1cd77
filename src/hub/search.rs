//! Finds the events that positions name: many of them in one reading.

use std::collections::{HashMap, HashSet};

use crate::{
    binding::CursorSpec,
    change::{Position, PositionKey, ResumeToken},
    source::{ChangeSource, Fault, Open, SourceError},
};

/// An event that a position names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) token: ResumeToken,
    /// Whether the collection ended with it.
    pub(super) invalidates: bool,
}

/// The events that there are, by position. Read without the declared stages: they may have been narrowed
/// since an event was delivered.
pub(super) async fn search(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    key: &PositionKey,
    positions: &HashSet<Position>,
) -> Result<HashMap<Position, Named>, SourceError> {
    let mut named = HashMap::new();
    let Some(last) = positions.iter().map(|position| position.time).max() else { return Ok(named) };
    let open = Open::among(positions.iter().map(|position| position.time));
    let mut cursor = source.open(&spec.stripped(), &open).await?;
    while let Some(batch) = cursor.next().await? {
        for event in &batch.events {
            let position = key.after(&event.token);
            if positions.contains(&position) {
                let (token, invalidates) = (event.token.clone(), event.is_invalidate());
                named.insert(position, Named { token, invalidates });
            }
        }
        if named.len() == positions.len() || batch.has_finished(last) {
            break;
        }
    }
    Ok(named)
}

/// How many of some starts, sorted, MongoDB no longer holds. It is known of the first one.
pub(super) async fn count_lost(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    starts: &[ResumeToken],
) -> Result<usize, SourceError> {
    let (mut lost, mut held) = (1, starts.len());
    while lost < held {
        let middle = usize::midpoint(lost, held);
        if is_lost(source, spec, &starts[middle]).await? {
            lost = middle + 1;
        } else {
            held = middle;
        }
    }
    Ok(lost)
}

async fn is_lost(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    start: &ResumeToken,
) -> Result<bool, SourceError> {
    let open = Open::among([start.cluster_time()]);
    match source.open(&spec.stripped(), &open).await {
        Ok(_) => Ok(false),
        Err(error) if error.fault == Fault::Lost => Ok(true),
        Err(error) => Err(error),
    }
}
