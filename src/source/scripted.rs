//! A deployment in memory, for what cannot be forced from outside: who sees what, and when.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bson::{RawDocumentBuf, Timestamp, rawdoc};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::{sync::watch, time::timeout};

use super::{
    Batch, ChangeCursor, ChangeSource, Fault, Open, SnapshotCursor, SnapshotSpec, SourceError,
    SourceEvent, Start, Window,
};
use crate::{
    binding::CursorSpec,
    change::{ClusterTime, ResumeToken},
};

/// How long a cursor waits before it answers with an empty batch.
const AWAIT: Duration = Duration::from_secs(1);

/// Most events of a batch.
const BATCH: usize = 8;

/// Every clone is the same deployment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scripted(Arc<Deployment>);

#[derive(Debug, Default)]
struct Deployment {
    state: Mutex<State>,
    moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    log: Vec<Entry>,
    time: u64,
    /// By number of the cursor: how much of the log it sees.
    frozen: HashMap<usize, usize>,
    /// Answers to the next openings and readings, in place of true ones.
    refused: Vec<SourceError>,
    broken: Vec<SourceError>,
    opened: Vec<Open>,
    /// Tokens up to this one are gone.
    forgotten: Option<ResumeToken>,
}

#[derive(Debug, Clone)]
struct Entry {
    token: ResumeToken,
    n: i32,
    /// A cursor with stages fails here.
    poison: bool,
}

impl Scripted {
    /// Commits one insert with `_id: n`.
    pub(crate) fn insert(&self, n: i32) {
        self.commit(&[(n, false)]);
    }

    /// Commits an insert on which every stage fails.
    pub(crate) fn poison(&self, n: i32) {
        self.commit(&[(n, true)]);
    }

    /// Commits inserts that share a cluster time.
    pub(crate) fn transaction(&self, all: &[i32]) {
        self.commit(&all.iter().map(|n| (*n, false)).collect::<Vec<_>>());
    }

    /// Commits inserts that share a cluster time; every stage fails on some.
    pub(crate) fn commit(&self, all: &[(i32, bool)]) {
        let mut state = self.state();
        state.time += 1;
        for (index, (n, poison)) in all.iter().enumerate() {
            let hex = format!("{}2B{index:04X}", ResumeToken::before(state.now()).as_hex());
            let token = ResumeToken::from_hex(&hex).unwrap();
            state.log.push(Entry { token, n: *n, poison: *poison });
        }
        drop(state);
        self.0.moved.send_modify(|count| *count += 1);
    }

    /// Keeps what comes from a cursor, counted in the order of openings.
    pub(crate) fn freeze(&self, cursor: usize) {
        let mut state = self.state();
        let length = state.log.len();
        state.frozen.insert(cursor, length);
    }

    pub(crate) fn thaw(&self) {
        self.state().frozen.clear();
        self.0.moved.send_modify(|count| *count += 1);
    }

    /// The next openings fail, one by one.
    pub(crate) fn refuse(&self, faults: &[Fault]) {
        self.state().refused.extend(faults.iter().map(|fault| error(*fault)));
    }

    /// The next readings fail, one by one, whoever reads.
    pub(crate) fn fail(&self, faults: &[Fault]) {
        self.state().broken.extend(faults.iter().map(|fault| error(*fault)));
        self.0.moved.send_modify(|count| *count += 1);
    }

    /// Everything so far leaves the oplog.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        let last = state.log.last().map(|entry| entry.token.clone());
        state.forgotten = last;
    }

    /// Openings so far, refused ones included.
    pub(crate) fn openings(&self) -> usize {
        self.state().opened.len()
    }

    /// The token of the event with `_id: n`.
    pub(crate) fn token(&self, n: i32) -> ResumeToken {
        let state = self.state();
        state.log.iter().find(|entry| entry.n == n).unwrap().token.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }
}

impl State {
    fn now(&self) -> ClusterTime {
        ClusterTime::from_bits((7 << 32) | self.time)
    }

    fn open(&mut self, spec: &CursorSpec, open: &Open) -> Result<Cursor, SourceError> {
        self.opened.push(open.clone());
        if !self.refused.is_empty() {
            return Err(self.refused.remove(0));
        }
        let start = match &open.start {
            Start::At(time) => ResumeToken::before(*time),
            Start::AfterInvalidate(token) => token.clone(),
        };
        if self.forgotten.as_ref().is_some_and(|forgotten| start < *forgotten) {
            return Err(error(Fault::Lost));
        }
        let next = self.log.partition_point(|entry| entry.token < start);
        let (number, staged) = (self.opened.len() - 1, !spec.pipeline.is_empty());
        let mut first =
            self.log[next..].iter().filter(|entry| open.lets(&entry.token)).take(open.batch());
        if let Some(fault) = first.find_map(|entry| open.fails_on(entry, staged)) {
            return Err(error(fault));
        }
        Ok(Cursor {
            number,
            staged,
            open: open.clone(),
            next,
            begun: false,
            source: Scripted::default(),
        })
    }

    /// What a cursor finds now. `None`: nothing but the time.
    fn read(&mut self, cursor: &mut Cursor) -> Result<Option<Batch>, SourceError> {
        if !self.broken.is_empty() {
            return Err(self.broken.remove(0));
        }
        let end = self.frozen.get(&cursor.number).copied().unwrap_or(self.log.len());
        let mut batch = Batch::default();
        while cursor.next < end && batch.events.len() < cursor.open.batch() {
            let entry = self.log[cursor.next].clone();
            if cursor.open.lets(&entry.token) {
                if let Some(fault) = cursor.open.fails_on(&entry, cursor.staged) {
                    return Err(error(fault));
                }
                batch.events.push(entry.event());
            }
            cursor.next += 1;
        }
        let last = batch.events.last().map(|event| event.token.clone());
        let looked_at = self.log[..cursor.next].last().filter(|_| cursor.next == end);
        let mark = looked_at.map(|entry| ResumeToken::before(entry.token.cluster_time()));
        // Nothing is greater than none.
        batch.resume = last.clone().max(mark);
        Ok((last.is_some() || !std::mem::replace(&mut cursor.begun, true)).then_some(batch))
    }
}

impl Entry {
    fn event(&self) -> SourceEvent {
        let time: Timestamp = self.token.cluster_time().into();
        let n = self.n;
        let raw = rawdoc! {
            "_id": { "_data": self.token.as_hex() },
            "operationType": "insert",
            "clusterTime": time,
            "documentKey": { "_id": n },
            "fullDocument": { "_id": n, "even": n % 2 == 0 },
        };
        SourceEvent { raw, token: self.token.clone() }
    }
}

impl Open {
    fn lets(&self, token: &ResumeToken) -> bool {
        self.window.after.as_ref().is_none_or(|after| token > after)
            && (self.window.fenced || !self.is_beyond(token))
            && !self.window.without.contains(token)
            && self.window.only.as_ref().is_none_or(|(time, _)| token.cluster_time() == *time)
            && self.window.lets_time(token.cluster_time())
    }

    fn batch(&self) -> usize {
        BATCH.min(self.batch as usize)
    }

    fn fails_on(&self, entry: &Entry, staged: bool) -> Option<Fault> {
        if self.window.fenced && self.is_beyond(&entry.token) {
            return Some(Fault::Fence);
        }
        (entry.poison && staged).then_some(Fault::Rejected)
    }

    fn is_beyond(&self, token: &ResumeToken) -> bool {
        self.window.until.as_ref().is_some_and(|until| token > until)
    }
}

impl Window {
    fn lets_time(&self, time: ClusterTime) -> bool {
        self.among.contains(&time) || self.among.last().is_none_or(|last| time > *last)
    }
}

fn error(fault: Fault) -> SourceError {
    SourceError { fault, code: None, message: format!("{fault:?}") }
}

impl ChangeSource for Scripted {
    fn open<'a>(
        &'a self,
        spec: &'a CursorSpec,
        open: &'a Open,
    ) -> BoxFuture<'a, Result<Box<dyn ChangeCursor>, SourceError>> {
        async {
            let mut cursor = self.state().open(spec, open)?;
            cursor.source = self.clone();
            Ok(Box::new(cursor) as Box<dyn ChangeCursor>)
        }
        .boxed()
    }

    fn snapshot<'a>(
        &'a self,
        _spec: &'a SnapshotSpec,
        at: ClusterTime,
    ) -> BoxFuture<'a, Result<Box<dyn SnapshotCursor>, SourceError>> {
        async move {
            let state = self.state();
            let end = ResumeToken::before(at.next());
            let shown = state.log.iter().filter(|entry| entry.token < end);
            let documents = shown.map(|entry| entry.event().raw).collect::<Vec<_>>().into_iter();
            Ok(Box::new(Documents(documents)) as Box<dyn SnapshotCursor>)
        }
        .boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<ClusterTime, SourceError>> {
        async { Ok(self.state().now()) }.boxed()
    }
}

#[derive(Debug)]
struct Documents(std::vec::IntoIter<RawDocumentBuf>);

impl SnapshotCursor for Documents {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<RawDocumentBuf>, SourceError>> {
        let next = self.0.next();
        async { Ok(next) }.boxed()
    }
}

#[derive(Debug)]
struct Cursor {
    number: usize,
    /// Whether it has stages.
    staged: bool,
    open: Open,
    /// Index into the log.
    next: usize,
    /// Whether it has answered once; the first answer does not wait.
    begun: bool,
    source: Scripted,
}

impl ChangeCursor for Cursor {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Batch>, SourceError>> {
        async {
            let mut moved = self.source.0.moved.subscribe();
            loop {
                let source = self.source.clone();
                if let Some(batch) = source.state().read(self)? {
                    return Ok(Some(batch));
                }
                if timeout(AWAIT, moved.changed()).await.is_err() {
                    self.begun = false;
                }
            }
        }
        .boxed()
    }
}
