//! Finds the events on which a pipeline fails, so that only they are left out.

use std::sync::Arc;

use super::{Batch, ChangeSource, Fault, Open, SourceError, SourceEvent, Window, open::BATCH_SIZE};
use crate::{
    binding::CursorSpec,
    change::ResumeToken,
    definition::{FullDocument, FullDocumentBeforeChange},
};

/// Most events that a search looks at once it has found one that fails, about. More than a batch: the
/// reading that follows comes to its end only when the server has looked at all that there is.
const REACH: usize = 10_000;

/// Most failing events that a search brings, and most bytes of them, about.
const MOST: usize = 100;
const MOST_BYTES: usize = 1 << 20;

/// A batch of fewer events has ended because there are no more.
const FULL: usize = 100;

/// How many events to read at once on the way to one that fails.
const STEPS: [u32; 2] = [50, 1];

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

impl Poison {
    /// About how many bytes it takes to remember.
    pub(super) fn weight(&self) -> usize {
        self.event.as_bytes().len() + 2 * self.token.as_hex().len()
    }
}

/// What a search brings.
#[derive(Debug)]
pub(super) struct Found {
    /// The failing events, at least one.
    pub(super) poison: Vec<Arc<Poison>>,
    /// Up to here there are no others.
    pub(super) until: ResumeToken,
}

/// Looks for events on which the pipeline fails, from where a cursor starts, `after`. `None`: it fails on
/// no event that there is, so the fault lies elsewhere.
pub(super) async fn find(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    start: Open,
    after: &ResumeToken,
) -> Result<Option<Found>, SourceError> {
    // The failing event was committed before the failure: nothing later needs looking at.
    let now = source.now().await?;
    let window = Window { after: start.window.after.clone(), ..Window::default() };
    let all = Open { window, ..start.clone() };
    let mut candidates = source.open(&spec.stripped(), &all).await?;
    let mut search =
        Search { source, spec, start, sound: after.clone(), poison: Vec::new(), weight: 0 };
    // Over no event it has to hold: what a server says that does not know of fences is not about an event.
    if search.read(after, BATCH_SIZE).await?.failure.is_some() {
        return Ok(None);
    }
    let mut seen = 0;
    while let Some(batch) = candidates.next().await? {
        seen += batch.events.len();
        search.look_through(&batch.events).await?;
        if search.is_enough(seen, &batch) || batch.has_finished(now) {
            break;
        }
    }
    Ok(search.found())
}

/// Tells a sound pipeline that failed on an event from one that MongoDB refuses: over no event at all
/// only the latter fails.
///
/// # Errors
/// `error` itself when it is not about an event, or what came up while asking.
pub(super) async fn acquit(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    start: &Open,
    after: &ResumeToken,
    error: SourceError,
) -> Result<(), SourceError> {
    if !is_about_an_event(&error, spec) {
        return Err(error);
    }
    match run(source, spec, start, after, &mut None).await {
        Err(error) if error.fault != Fault::Fence => Err(error),
        _ => Ok(()),
    }
}

struct Search<'a> {
    source: &'a dyn ChangeSource,
    spec: &'a CursorSpec,
    /// How a cursor at `sound` is asked for.
    start: Open,
    /// Up to here, the pipeline fails on no event but those that are known.
    sound: ResumeToken,
    poison: Vec<Arc<Poison>>,
    weight: usize,
}

/// How a reading of some events ended.
struct Outcome {
    /// The last event that came out.
    reached: Option<ResumeToken>,
    /// What the pipeline said of an event.
    failure: Option<SourceError>,
}

impl Search<'_> {
    fn is_enough(&self, seen: usize, batch: &Batch) -> bool {
        let at_end = batch.events.len() < FULL;
        self.is_full() || (!self.poison.is_empty() && (at_end || seen >= REACH))
    }

    fn is_full(&self) -> bool {
        self.poison.len() >= MOST || self.weight > MOST_BYTES
    }

    fn found(self) -> Option<Found> {
        let Self { poison, sound, .. } = self;
        (!poison.is_empty()).then_some(Found { poison, until: sound })
    }

    async fn look_through(&mut self, mut events: &[SourceEvent]) -> Result<(), SourceError> {
        while let Some(last) = events.last().filter(|_| !self.is_full()) {
            if self.come_close(last).await? {
                events = &events[events.partition_point(|event| event.token <= self.sound)..];
                if let Some((index, error)) = self.first_failing(events).await? {
                    self.add(&events[index], error);
                    self.advance(events[index].token.clone());
                    events = &events[index + 1..];
                    continue;
                }
            }
            self.advance(last.token.clone());
            events = &[];
        }
        Ok(())
    }

    /// Reads on in ever smaller steps until no event comes out before the one that fails. False: none
    /// fails. Opening a cursor on a long oplog costs as much as many batches of one that is open.
    async fn come_close(&mut self, last: &SourceEvent) -> Result<bool, SourceError> {
        for step in STEPS {
            let outcome = self.read(&last.token, step).await?;
            if outcome.failure.is_none() {
                return Ok(false);
            }
            if let Some(reached) = outcome.reached {
                self.advance(reached);
            }
        }
        Ok(true)
    }

    /// What is left is behind events that the pipeline rejects: the shortest run of events on which it fails
    /// ends with the one sought, which is probably the first.
    async fn first_failing(
        &self,
        events: &[SourceEvent],
    ) -> Result<Option<(usize, SourceError)>, SourceError> {
        let (mut sound, mut run) = (0, 1);
        let (mut failing, mut error) = loop {
            run = run.min(events.len());
            if run == sound {
                return Ok(None);
            }
            match self.read(&events[run - 1].token, BATCH_SIZE).await?.failure {
                Some(error) => break (run, error),
                None => (sound, run) = (run, 2 * run),
            }
        };
        while failing - sound > 1 {
            let middle = usize::midpoint(sound, failing);
            match self.read(&events[middle - 1].token, BATCH_SIZE).await?.failure {
                Some(found) => (failing, error) = (middle, found),
                None => sound = middle,
            }
        }
        Ok(Some((failing - 1, error)))
    }

    fn add(&mut self, event: &SourceEvent, error: SourceError) {
        let poison = Poison { token: event.token.clone(), event: event.raw.clone(), error };
        self.weight += poison.weight();
        self.poison.push(Arc::new(poison));
    }

    /// What was found sound is not run again, however many events the pipeline rejects.
    fn advance(&mut self, sound: ResumeToken) {
        let mut start = Open::after(&sound);
        start.window.without = std::mem::take(&mut self.start.window.without);
        (self.start, self.sound) = (start, sound);
    }

    /// Runs the pipeline over the events up to a token.
    async fn read(&self, until: &ResumeToken, batch: u32) -> Result<Outcome, SourceError> {
        let start = Open { batch, ..self.start.clone() };
        let mut reached = None;
        match run(self.source, self.spec, &start, until, &mut reached).await {
            Err(error) if is_about_an_event(&error, self.spec) => {
                Ok(Outcome { reached, failure: Some(error) })
            }
            Err(error) if error.fault != Fault::Fence => Err(error),
            _ => Ok(Outcome { reached, failure: None }),
        }
    }
}

/// Reads from a start up to an event, and no further. Notes what has come out.
async fn run(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    start: &Open,
    until: &ResumeToken,
    reached: &mut Option<ResumeToken>,
) -> Result<(), SourceError> {
    let mut open = start.clone();
    open.window.until = Some(until.clone());
    open.window.fenced = true;
    let mut cursor = source.open(spec, &open).await?;
    while let Some(batch) = cursor.next().await? {
        if batch.has_passed(until) {
            break;
        }
        let last = batch.events.into_iter().next_back().map(|event| event.token);
        *reached = last.or(reached.take());
    }
    Ok(())
}

fn is_about_an_event(error: &SourceError, spec: &CursorSpec) -> bool {
    let has_conditions = !spec.pipeline.is_empty()
        || spec.full_document != FullDocument::Off
        || spec.before_change != FullDocumentBeforeChange::Off;
    error.fault == Fault::Rejected && has_conditions
}
