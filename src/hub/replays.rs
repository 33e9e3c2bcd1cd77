//! The replays of one cursor: who resumes at about the same time is read for at once.

mod round;
mod turns;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::round::Round;
pub(super) use self::turns::Turns;
use super::{
    feed::Feed,
    history::HistoryLimits,
    mailbox::{Mailbox, SubscriberId},
    origin::Origin,
    replay::Replay,
};
use crate::{
    binding::CursorSpec,
    source::{ChangeSource, Known},
    telemetry::Telemetry,
};

/// A replay starts once nobody has come for this long …
const QUIET: Duration = Duration::from_millis(20);

/// … and at the latest after this time.
const GATHERING: Duration = Duration::from_secs(2);

/// Between the starts of two replays of one cursor.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts replays of one cursor, one group of clients after the other.
#[derive(Debug)]
pub(super) struct Replays {
    pub(super) source: Arc<dyn ChangeSource>,
    pub(super) spec: Arc<CursorSpec>,
    pub(super) feed: Arc<Feed>,
    /// Failing events, found by whoever reads the cursor.
    pub(super) known: Known,
    /// One for each catch-up cursor of the process.
    pub(super) turns: Arc<Turns>,
    /// What one replay holds in memory.
    pub(super) window: HistoryLimits,
    pub(super) closing: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) telemetry: Telemetry,
    pub(super) gathering: Mutex<Gathering>,
}

/// The group that has not started yet.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    next: Option<Arc<Replay>>,
    /// When the last one started.
    started: Option<Instant>,
}

impl Replays {
    /// A place in the next replay.
    pub(super) fn board(
        self: &Arc<Self>,
        id: SubscriberId,
        mailbox: &Arc<Mailbox>,
        from: &Origin,
    ) -> Arc<Replay> {
        let mut gathering = self.gathering();
        if let Some(next) = &gathering.next
            && next.board(id, mailbox, from.clone())
        {
            return next.clone();
        }
        let replay = Arc::new(Replay::new(self.window));
        replay.board(id, mailbox, from.clone());
        gathering.next = Some(replay.clone());
        let (replays, run) = (self.clone(), replay.clone());
        self.tasks.spawn(async move { replays.run(&run).await });
        replay
    }

    /// The life of one replay. Whoever comes while it waits for its turn is on it too.
    async fn run(&self, replay: &Replay) {
        self.gather(replay).await;
        if let Some(_turn) = self.turns.take().await {
            self.gathering().started = Some(Instant::now());
            let _running = self.telemetry.catch_up();
            Round::new(self, replay).run().await;
        }
        replay.close();
    }

    async fn gather(&self, replay: &Replay) {
        let now = Instant::now();
        let earliest = self.gathering().started.map_or(now, |started| started + INTERVAL);
        let latest = earliest.max(now) + GATHERING;
        let mut boarded = 0;
        loop {
            sleep(QUIET).await;
            let before = std::mem::replace(&mut boarded, replay.boarded());
            let now = Instant::now();
            if (before == boarded && now >= earliest) || now >= latest {
                return;
            }
        }
    }

    fn gathering(&self) -> MutexGuard<'_, Gathering> {
        self.gathering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
