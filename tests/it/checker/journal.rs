//! Writes, one after the other, and which of them a majority has acknowledged.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use bson::{Document, doc};
use mongodb::{Collection, error::ErrorKind};
use rand::{Rng, rngs::StdRng};
use tokio::{sync::watch, time::sleep};

use super::verdict::Write;

/// Tags of documents; clients ask for one of them or for all.
pub(super) const TAGS: [char; 3] = ['a', 'b', 'c'];

/// The tag of the last write of all, for which nobody asks.
pub(super) const LAST: char = 'z';

/// One writer's record. Every write is repeated until its outcome is known.
#[derive(Debug)]
pub(super) struct Journal {
    coll: Collection<Document>,
    /// The number of the next write.
    next: AtomicI64,
    written: Mutex<Vec<Write>>,
    complete: AtomicBool,
}

impl Journal {
    pub(super) fn new(coll: Collection<Document>) -> Arc<Self> {
        let (next, complete) = (AtomicI64::new(1), AtomicBool::new(false));
        Arc::new(Self { coll, next, written: Mutex::default(), complete })
    }

    /// Writes with this number and higher ones have not begun.
    pub(super) fn due(&self) -> i64 {
        self.next.load(Ordering::SeqCst)
    }

    /// Whether the last write is done.
    pub(super) fn is_complete(&self) -> bool {
        self.complete.load(Ordering::SeqCst)
    }

    pub(super) fn written(&self) -> Vec<Write> {
        self.written.lock().unwrap().clone()
    }

    /// Writes until it is told to stop, and then one last document for each tag.
    pub(super) async fn keep_writing(&self, mut rng: StdRng, stop: watch::Receiver<bool>) {
        for tag in TAGS {
            self.insert(vec![(tag, doc! { "_id": format!("base-{tag}") })]).await;
        }
        while !*stop.borrow() {
            let tag = TAGS[rng.random_range(0..TAGS.len())];
            match rng.random_range(0..10) {
                0..4 => self.insert(vec![(tag, fields(&mut rng))]).await,
                4..6 => self.update(tag).await,
                6 => self.replace(tag).await,
                7 => self.transaction(&mut rng).await,
                _ => self.insert(some(&mut rng, 20)).await,
            }
            sleep(Duration::from_millis(rng.random_range(0..20))).await;
        }
        for tag in TAGS.into_iter().chain([LAST]) {
            self.insert(vec![(tag, doc! { "last": true })]).await;
        }
        self.complete.store(true, Ordering::SeqCst);
    }

    /// Inserts in order. A document that is there already was written by an attempt that failed late.
    async fn insert(&self, documents: Vec<(char, Document)>) {
        let numbered = self.number(documents);
        let all: Vec<Document> = numbered.iter().map(|(_, document)| document.clone()).collect();
        if self.coll.insert_many(&all).await.is_err() {
            for document in &all {
                until_known(async || self.coll.insert_one(document).await.map(drop)).await;
            }
        }
        self.acknowledge(numbered);
    }

    async fn update(&self, tag: char) {
        let numbered = self.number(vec![(tag, doc! {})]);
        let (n, filter) = (numbered[0].0.n, self.base(tag));
        let set = doc! { "$set": { "n": n } };
        let filter = doc! { "$and": [filter, { "n": { "$ne": n } }] };
        until_known(async || self.coll.update_one(filter.clone(), set.clone()).await.map(drop))
            .await;
        self.acknowledge(numbered);
    }

    async fn replace(&self, tag: char) {
        let mut numbered = self.number(vec![(tag, doc! {})]);
        let (n, filter) = (numbered[0].0.n, self.base(tag));
        let filter = doc! { "$and": [filter, { "n": { "$ne": n } }] };
        numbered[0].1.remove("_id");
        let document = &numbered[0].1;
        until_known(async || self.coll.replace_one(filter.clone(), document).await.map(drop)).await;
        self.acknowledge(numbered);
    }

    /// Several documents at one cluster time. A rolled-back attempt leaves nothing.
    async fn transaction(&self, rng: &mut StdRng) {
        let numbered = self.number(some(rng, 6));
        until_known(async || {
            let mut session = self.coll.client().start_session().await?;
            session.start_transaction().await?;
            for (_, document) in &numbered {
                self.coll.insert_one(document).session(&mut session).await?;
            }
            session.commit_transaction().await
        })
        .await;
        self.acknowledge(numbered);
    }

    fn base(&self, tag: char) -> Document {
        doc! { "_id": format!("base-{tag}") }
    }

    fn number(&self, documents: Vec<(char, Document)>) -> Vec<(Write, Document)> {
        let number = |(tag, mut document): (char, Document)| {
            let n = self.next.fetch_add(1, Ordering::SeqCst);
            document.entry("_id".to_owned()).or_insert(n.into());
            document.extend(doc! { "n": n, "t": tag.to_string() });
            let poison = document.contains_key("divisor");
            (Write { n, tag, poison }, document)
        };
        documents.into_iter().map(number).collect()
    }

    fn acknowledge(&self, numbered: Vec<(Write, Document)>) {
        let writes = numbered.into_iter().map(|(write, _)| write);
        self.written.lock().unwrap().extend(writes);
    }
}

fn some(rng: &mut StdRng, most: usize) -> Vec<(char, Document)> {
    let count = rng.random_range(1..=most);
    (0..count).map(|_| (TAGS[rng.random_range(0..TAGS.len())], fields(rng))).collect()
}

/// Now and then what a stage fails on.
fn fields(rng: &mut StdRng) -> Document {
    if rng.random_bool(0.003) {
        doc! { "divisor": 0 }
    } else {
        doc! {}
    }
}

/// Repeats a write until it is done, now or by an earlier attempt.
async fn until_known(mut attempt: impl AsyncFnMut() -> mongodb::error::Result<()>) {
    while let Err(error) = attempt().await {
        if is_duplicate(&error) {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Write(mongodb::error::WriteFailure::WriteError(error)) => error.code == 11000,
        ErrorKind::Command(error) => error.code == 11000,
        _ => false,
    }
}
