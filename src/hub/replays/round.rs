//! One replay from its start to its end, on one cursor at a time.

use std::{collections::HashSet, time::Duration};

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    super::{
        CloseReason, Item,
        mailbox::SubscriberId,
        origin::Origin,
        replay::{End, Replay},
        search::{count_lost, search},
    },
    Replays,
};
use crate::{
    backoff::Backoff,
    source::{EndReason, Fault, Open, Reader, Signal, SourceError, Start},
};

/// How long a full window waits before it looks who keeps it waiting.
const TICK: Duration = Duration::from_millis(50);

/// How long a round lasts at least when others wait for a turn: slow members may need it for long.
const TURN: Duration = Duration::from_secs(10);

/// Owned by the task of a replay.
pub(super) struct Round<'a> {
    replays: &'a Replays,
    replay: &'a Replay,
    /// Who is on it, and from where.
    members: Vec<(SubscriberId, Origin)>,
    began: Instant,
    cancelled: CancellationToken,
    _ends_with_the_round: DropGuard,
}

impl<'a> Round<'a> {
    pub(super) fn new(replays: &'a Replays, replay: &'a Replay) -> Self {
        let cancelled = replays.closing.child_token();
        Self {
            members: replay.depart(),
            began: Instant::now(),
            replays,
            replay,
            _ends_with_the_round: cancelled.clone().drop_guard(),
            cancelled,
        }
    }

    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(15));
        while self.is_wanted() {
            sleep(backoff.wait()).await;
            match self.begin().await {
                Ok(Some(reader)) => return self.read(reader).await,
                Ok(None) => return,
                Err(error) if matches!(error.fault, Fault::Rejected | Fault::Unwatchable) => {
                    tracing::warn!(%error, "a catch-up cursor is refused");
                    return self.replay.finish(End::Failed(CloseReason::InternalError));
                }
                // The feed tells clients that the source is down.
                Err(error) => tracing::debug!(%error, "a catch-up cursor has to wait"),
            }
        }
    }

    /// Opens a cursor where the first member begins. `None`: nobody needs one.
    async fn begin(&mut self) -> Result<Option<Reader>, SourceError> {
        self.find_events().await?;
        let (replay, feed) = (self.replay, self.replays.feed.clone());
        self.members.retain(|(id, origin)| {
            let start = origin.earliest();
            replay.place(*id, &start);
            feed.after(&start).is_none()
        });
        loop {
            self.sort();
            let Some((_, origin)) = self.members.first() else { return Ok(None) };
            let (source, spec) = (self.replays.source.clone(), self.replays.spec.clone());
            let (start, open) = (origin.earliest(), open(origin));
            let (known, cancelled) = (self.replays.known.clone(), self.cancelled.clone());
            match Reader::open(source, spec, Some(open), known, cancelled).await {
                Ok(reader) => {
                    replay.begin(start);
                    return Ok(Some(reader));
                }
                Err(error) if error.fault == Fault::Lost => self.turn_out_lost().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts the tokens of events in place of positions.
    async fn find_events(&mut self) -> Result<(), SourceError> {
        let Replays { source, spec, feed, .. } = self.replays;
        let named = loop {
            let positions: HashSet<_> =
                self.members.iter().filter_map(|(_, o)| o.event()).collect();
            match search(source.as_ref(), spec, feed.key(), &positions).await {
                Ok(named) => break named,
                Err(error) if error.fault == Fault::Lost => self.turn_out_lost().await?,
                Err(error) => return Err(error),
            }
        };
        let replay = self.replay;
        self.members.retain_mut(|(id, origin)| {
            let Some(position) = origin.event() else { return true };
            let Some(event) = named.get(&position) else {
                replay.turn_out(*id, End::Unknown);
                return false;
            };
            let token = event.token.clone();
            *origin = match origin {
                Origin::Within(_) => Origin::Token(token.just_before()),
                _ if event.invalidates => Origin::Invalidate(token),
                _ => Origin::Token(token),
            };
            true
        });
        Ok(())
    }

    fn sort(&mut self) {
        self.members.sort_by_cached_key(|(_, origin)| origin.earliest());
    }

    /// MongoDB no longer holds what the first member needs, and perhaps others.
    async fn turn_out_lost(&mut self) -> Result<(), SourceError> {
        self.sort();
        let starts: Vec<_> = self.members.iter().map(|(_, origin)| origin.earliest()).collect();
        let Replays { source, spec, .. } = self.replays;
        let lost = count_lost(source.as_ref(), spec, &starts).await?;
        for (id, _) in self.members.drain(..lost.min(starts.len())) {
            self.replay.turn_out(id, End::Lost);
        }
        Ok(())
    }

    async fn read(&mut self, mut reader: Reader) {
        while self.is_wanted() {
            let (asked, taken) = (Instant::now(), self.replay.taken());
            let items = match reader.next().await {
                Signal::Batch(batch) => {
                    self.replays.telemetry.read(batch.events.len());
                    if batch.events.is_empty() && reader.is_steady() {
                        // All is read: whoever is still here takes its time.
                        self.replay.charge(asked.elapsed(), taken, true);
                    }
                    let feed = &self.replays.feed;
                    batch.events.into_iter().map(|event| feed.item(event)).collect()
                }
                Signal::Skipped(poison) => vec![self.replays.feed.skipped(poison)],
                // The feed says the same of the same deployment.
                Signal::Degraded(_) | Signal::Recovered => continue,
                Signal::Reset(..) => return self.finish(End::Lost).await,
                Signal::Ended(reason) => return self.finish(end(reason)).await,
            };
            for item in items {
                if !self.push(item).await {
                    return;
                }
            }
            self.replay.reach(reader.newest());
        }
    }

    /// False: the round is over.
    async fn push(&mut self, mut item: Item) -> bool {
        loop {
            match self.replay.push(item) {
                Ok(()) => return true,
                Err(refused) => item = refused,
            }
            self.replay.wake_all();
            self.wait().await;
            if !self.is_wanted() {
                return false;
            }
        }
    }

    /// There is no more to read: members take the rest.
    async fn finish(&mut self, end: End) {
        self.replay.finish(end);
        while self.is_wanted() {
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        let (since, taken) = (Instant::now(), self.replay.taken());
        // Whether someone moved or time went by, the caller looks again.
        let _ = timeout(TICK, self.replay.moved()).await;
        self.replay.charge(since.elapsed(), taken, false);
    }

    /// Whether anyone waits for more, or takes what there is, and it is still this round's turn.
    fn is_wanted(&self) -> bool {
        let is_over = self.began.elapsed() > TURN && self.replays.turns.are_wanted();
        !is_over && !self.cancelled.is_cancelled() && !self.replay.is_idle()
    }
}

fn open(origin: &Origin) -> Open {
    let mut open = Open::after(&origin.earliest());
    if let Origin::Invalidate(token) = origin {
        open = Open { start: Start::AfterInvalidate(token.clone()), ..open };
        open.window.after = None;
    }
    open
}

fn end(reason: EndReason) -> End {
    match reason {
        EndReason::Invalidated => End::Dropped,
        EndReason::Cancelled => End::Round,
        EndReason::Refused(error) => {
            tracing::warn!(%error, "a catch-up cursor is refused");
            End::Failed(CloseReason::InternalError)
        }
    }
}
