//! Which cursors are open: one per distinct spec, found or opened, and let go without a race.

mod own;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    CloseReason,
    fanout::{Fanout, spawn_reader},
    feed::Feed,
    history::HistoryLimits,
    limits::{HubLimits, Owner},
    mailbox::SubscriberId,
    replays::{Replays, Turns},
    subscribe_error::SubscribeError,
    subscription::{Resume, Subscription},
};
use crate::{
    binding::{CursorSpec, Selection},
    change::{PositionKey, ResumeToken},
    source::{ChangeSource, Known, KnownPipelines, Reader, SourceError},
    telemetry::{Cap, Cause, CursorMeter, Telemetry},
};

/// All shared cursors of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hub(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) source: Arc<dyn ChangeSource>,
    key: KeyReceiver,
    pub(super) limits: HubLimits,
    slots: Mutex<HashMap<Arc<CursorSpec>, Arc<Slot>>>,
    cursors: Arc<Semaphore>,
    catch_ups: Arc<Turns>,
    known: KnownPipelines,
    pub(super) snapshots: Arc<Semaphore>,
    next_id: AtomicU64,
    pub(super) tasks: TaskTracker,
    pub(super) closing: CancellationToken,
    pub(super) telemetry: Telemetry,
}

/// One cursor, opening or open.
struct Slot {
    /// Subscribers and those who wait for the opening. Changed only under the registry's lock.
    leases: Mutex<usize>,
    vacated: Arc<Notify>,
    stop: CancellationToken,
    /// Set where it serves one binding only.
    owner: Option<Owner>,
    opened: watch::Receiver<Opening>,
}

/// The key that seals ids, once it is known: it may lie in a MongoDB that is not there yet.
pub type KeyReceiver = watch::Receiver<Option<PositionKey>>;

type Opening = Option<Result<Arc<Replays>, SubscribeError>>;

/// A share in a cursor. The cursor outlives the last one by the linger time.
pub(super) struct Lease {
    hub: Hub,
    slot: Arc<Slot>,
}

impl Hub {
    /// A hub over a source. `key` seals the ids that clients see.
    pub fn new(source: Arc<dyn ChangeSource>, key: KeyReceiver, limits: HubLimits) -> Self {
        Self(Arc::new(Inner {
            source,
            key,
            limits,
            slots: Mutex::default(),
            cursors: Arc::new(Semaphore::new(limits.cursors)),
            catch_ups: Arc::new(Turns::new(limits.catch_ups)),
            known: KnownPipelines::default(),
            snapshots: Arc::new(Semaphore::new(limits.snapshots)),
            next_id: AtomicU64::new(1),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            telemetry: Telemetry::knowing(CloseReason::ALL.map(Cause::from)),
        }))
    }

    /// Joins the cursor of a spec, opening it when nobody has. When this returns, every later change
    /// reaches the subscription.
    pub async fn subscribe(
        &self,
        spec: CursorSpec,
        selection: Arc<Selection>,
        resume: Resume,
    ) -> Result<Subscription, SubscribeError> {
        self.subscribe_for(None, spec, selection, resume).await
    }

    /// The same with a cursor that counts against the caps of an owner, because only equal bindings
    /// can share it.
    pub async fn subscribe_for(
        &self,
        owner: Option<Owner>,
        spec: CursorSpec,
        selection: Arc<Selection>,
        resume: Resume,
    ) -> Result<Subscription, SubscribeError> {
        let subscribed = self.join(owner, spec, selection, resume).await;
        subscribed.inspect_err(|error| self.count(error))
    }

    async fn join(
        &self,
        owner: Option<Owner>,
        spec: CursorSpec,
        selection: Arc<Selection>,
        resume: Resume,
    ) -> Result<Subscription, SubscribeError> {
        let spec = Arc::new(spec);
        let lease = self.lease(&spec, owner)?;
        let replays = self.opened(&lease).await?;
        let id = self.next_id();
        let mut subscription = Subscription::live(replays.clone(), id, selection, lease);
        self.rewind(&mut subscription, &replays, resume).await?;
        Ok(subscription)
    }

    /// What is counted of its cursors and of who watches them.
    pub fn telemetry(&self) -> &Telemetry {
        &self.0.telemetry
    }

    /// Whether streams can be opened now.
    pub async fn check_source(&self) -> Result<(), SubscribeError> {
        let now = timeout(self.0.limits.open_timeout, self.0.source.now()).await;
        now.map_err(|_| SourceError::unresponsive("telling the time"))??;
        self.key().await.map(|_| ())
    }

    /// Open cursors and their subscribers.
    pub fn census(&self) -> (usize, usize) {
        let slots = self.slots();
        (slots.len(), slots.values().map(|slot| *slot.leases()).sum())
    }

    /// Subscribers that are on the cursor of a spec now.
    pub fn subscribers(&self, spec: &CursorSpec) -> usize {
        self.slots().get(spec).map_or(0, |slot| *slot.leases())
    }

    /// Ends every cursor and waits until the server has been told. Sessions end first.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    async fn key(&self) -> Result<PositionKey, SubscribeError> {
        let mut key = self.0.key.clone();
        let known = timeout(self.0.limits.open_timeout, key.wait_for(Option::is_some)).await;
        let missing = || SourceError::unresponsive("loading the key of event ids");
        let key = known.map_err(|_| missing())?.map_err(|_| missing())?;
        Ok(key.clone().ok_or_else(missing)?)
    }

    fn next_id(&self) -> SubscriberId {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Arc<CursorSpec>, Arc<Slot>>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, error: &SubscribeError) {
        match error {
            SubscribeError::Full(_) => self.0.telemetry.refused(Cap::Cursors),
            SubscribeError::OwnFull(..) => self.0.telemetry.refused(Cap::OwnCursors),
            SubscribeError::Source(_) | SubscribeError::Draining => {}
        }
    }

    fn lease(&self, spec: &Arc<CursorSpec>, owner: Option<Owner>) -> Result<Lease, SubscribeError> {
        if self.0.closing.is_cancelled() {
            return Err(SubscribeError::Draining);
        }
        let mut slots = self.slots();
        if let Some(owner) = owner.as_ref().filter(|_| !slots.contains_key(spec)) {
            own::make_room(&mut slots, owner, &self.0.limits.own)?;
        }
        let slot = slots.entry(spec.clone()).or_insert_with(|| self.open(spec, owner)).clone();
        *slot.leases() += 1;
        Ok(Lease { hub: self.clone(), slot })
    }

    async fn opened(&self, lease: &Lease) -> Result<Arc<Replays>, SubscribeError> {
        let mut opened = lease.slot.opened.clone();
        let outcome = timeout(self.0.limits.open_timeout, opened.wait_for(Option::is_some)).await;
        let slow = || SourceError::unresponsive("opening the change stream");
        let opened = outcome.map_err(|_| slow())?.map_err(|_| slow())?;
        opened.clone().unwrap_or_else(|| Err(slow().into()))
    }

    /// Starts to open a cursor; every subscriber that comes meanwhile shares the attempt.
    fn open(&self, spec: &Arc<CursorSpec>, owner: Option<Owner>) -> Arc<Slot> {
        let (announce, opened) = watch::channel(None);
        let slot = Arc::new(Slot {
            leases: Mutex::new(0),
            vacated: Arc::new(Notify::new()),
            stop: self.0.closing.child_token(),
            owner,
            opened,
        });
        let (hub, spec, task_slot) = (self.clone(), spec.clone(), slot.clone());
        self.0.tasks.spawn(async move { hub.serve(&spec, &task_slot, announce).await });
        slot
    }

    /// The life of one cursor.
    async fn serve(
        &self,
        spec: &Arc<CursorSpec>,
        slot: &Arc<Slot>,
        announce: watch::Sender<Opening>,
    ) {
        let cancelled = slot.stop.child_token();
        let _reading = cancelled.clone().drop_guard();
        let known = self.0.known.of(spec);
        let (reader, permit, key) = match self.start(spec, known.clone(), cancelled).await {
            Ok(started) => started,
            Err(error) => {
                self.remove(spec, slot);
                announce.send_replace(Some(Err(error)));
                return;
            }
        };
        let cursor = self.0.telemetry.cursor(spec.namespace.to_string(), slot.owner.is_some());
        let feed = Arc::new(self.feed(spec, reader.newest().clone(), key, cursor.meter().clone()));
        let signals = spawn_reader(reader, permit, &self.0.tasks);
        announce.send_replace(Some(Ok(self.replays(spec, feed.clone(), known))));
        let fanout = Fanout {
            feed,
            linger: self.0.limits.linger,
            vacated: slot.vacated.clone(),
            stop: slot.stop.clone(),
            telemetry: self.0.telemetry.clone(),
        };
        let reason = fanout.run(signals, || self.release(spec, slot)).await;
        // Off the registry first: whoever is told to come back must not find this cursor again.
        self.remove(spec, slot);
        fanout.feed.end(reason);
    }

    async fn start(
        &self,
        spec: &Arc<CursorSpec>,
        known: Known,
        cancelled: CancellationToken,
    ) -> Result<(Reader, OwnedSemaphorePermit, PositionKey), SubscribeError> {
        let key = self.key().await?;
        let permit = self.permit().await?;
        let source = self.0.source.clone();
        let reader = Reader::open(source, spec.clone(), None, known, cancelled).await?;
        Ok((reader, permit, key))
    }

    /// The right to one more cursor. At the cap, cursors that merely linger make room.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, SubscribeError> {
        let full = || SubscribeError::Full(self.0.limits.cursors);
        if let Ok(permit) = self.0.cursors.clone().try_acquire_owned() {
            return Ok(permit);
        }
        if !self.reclaim() {
            return Err(full());
        }
        let room = timeout(self.0.limits.open_timeout, self.0.cursors.clone().acquire_owned());
        room.await.map_err(|_| full())?.map_err(|_| SubscribeError::Draining)
    }

    /// Ends one cursor that nobody subscribes to. False: there is none.
    fn reclaim(&self) -> bool {
        let mut slots = self.slots();
        let idle = slots.iter().find(|(_, slot)| *slot.leases() == 0);
        let Some(spec) = idle.map(|(spec, _)| spec.clone()) else { return false };
        if let Some(slot) = slots.remove(&spec) {
            slot.stop.cancel();
        }
        true
    }

    /// Takes a cursor off the registry if it is still unwanted: looked at and removed under one lock.
    fn release(&self, spec: &Arc<CursorSpec>, slot: &Arc<Slot>) -> bool {
        let mut slots = self.slots();
        let unwanted = *slot.leases() == 0;
        if unwanted && slots.get(spec).is_some_and(|current| Arc::ptr_eq(current, slot)) {
            slots.remove(spec);
        }
        unwanted
    }

    /// Takes a cursor off the registry, unless a newer one has its place.
    fn remove(&self, spec: &Arc<CursorSpec>, slot: &Arc<Slot>) {
        let mut slots = self.slots();
        if slots.get(spec).is_some_and(|current| Arc::ptr_eq(current, slot)) {
            slots.remove(spec);
        }
    }

    fn replays(&self, spec: &Arc<CursorSpec>, feed: Arc<Feed>, known: Known) -> Arc<Replays> {
        let HubLimits { history, catch_ups, .. } = self.0.limits;
        Arc::new(Replays {
            source: self.0.source.clone(),
            spec: spec.clone(),
            feed,
            known,
            turns: self.0.catch_ups.clone(),
            window: HistoryLimits { bytes: history.bytes / catch_ups, ..history },
            closing: self.0.closing.clone(),
            tasks: self.0.tasks.clone(),
            telemetry: self.0.telemetry.clone(),
            gathering: Mutex::default(),
        })
    }

    fn feed(
        &self,
        spec: &CursorSpec,
        floor: ResumeToken,
        key: PositionKey,
        meter: Arc<CursorMeter>,
    ) -> Feed {
        let limits = &self.0.limits;
        let feed = Feed::new(floor, &spec.namespace, key, limits.history, limits.mailbox, meter);
        feed.bounded(limits.event)
    }
}

impl Slot {
    fn leases(&self) -> MutexGuard<'_, usize> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _slots = self.hub.slots();
        let mut leases = self.slot.leases();
        *leases -= 1;
        if *leases == 0 {
            self.slot.vacated.notify_one();
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
