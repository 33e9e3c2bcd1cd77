//! What one event costs: reading it, walking it, finding the one of 100,000 subscribers it concerns,
//! and asking 10,000 predicates that no index can narrow.
#![expect(clippy::unwrap_used, reason = "a benchmark may stop at its first surprise")]

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::ControlFlow;

use ahash::RandomState;
use bson::raw::{RawBsonRef, RawDocumentBuf};
use bson::rawdoc;
use criterion::{Criterion, criterion_group, criterion_main};
use tailwater::query::{BoundFilter, Checked, Filter, Key, Keyer, ParseOptions, Path, SlotValue};

const SUBSCRIBERS: usize = 100_000;
const PREDICATES: usize = 10_000;

/// About a kilobyte, the interesting fields in the middle.
fn event(owner: usize) -> RawDocumentBuf {
    let filler = |name: &str| rawdoc! { "name": name, "text": "x".repeat(60), "n": 1, "tags": ["a", "b", "c"] };
    rawdoc! {
        "_id": { "_data": "82".repeat(45) },
        "operationType": "update",
        "clusterTime": bson::Timestamp { time: 1, increment: 1 },
        "wallTime": bson::DateTime::from_millis(1),
        "fullDocument": {
            "_id": bson::oid::ObjectId::from_bytes([1; 12]),
            "one": filler("one"),
            "two": filler("two"),
            "owner": format!("user-{owner}"),
            "tenant": { "id": 7, "name": "t" },
            "level": 5,
            "three": filler("three"),
            "acl": [{ "u": "a", "role": "r" }, { "u": "b", "role": "w" }],
        },
        "ns": { "db": "database", "coll": "collection" },
        "documentKey": { "_id": bson::oid::ObjectId::from_bytes([1; 12]) },
        "updateDescription": { "updatedFields": { "level": 5 }, "removedFields": [], "truncatedArrays": [] },
    }
}

/// Subscribers by key, as the hub's index keeps them.
struct Index {
    keyer: Keyer,
    path: Path,
    buckets: HashMap<Key, Vec<usize>, RandomState>,
    subscribers: Vec<BoundFilter>,
}

impl Index {
    fn new() -> Self {
        let slot = |value: RawBsonRef<'_>| (value.as_str() == Some("@owner")).then_some(0);
        let options = ParseOptions::read_filter().with_slots(&slot);
        let filter = rawdoc! { "owner": "@owner", "level": { "$gte": 3 }, "tenant.id": 7 };
        let filter = Filter::parse(&filter, &options).unwrap();
        let choice = filter.index_choice().unwrap();
        let keyer = Keyer::new(RandomState::new());
        let mut buckets: HashMap<_, Vec<_>, _> = HashMap::default();
        let bind = |id| filter.bind(&[SlotValue::claim(format!("user-{id}").into())]).unwrap();
        let subscribers: Vec<_> = (0..SUBSCRIBERS).map(bind).collect();
        for (id, subscriber) in subscribers.iter().enumerate() {
            for (_, key) in choice.keys(subscriber, &keyer).unwrap() {
                buckets.entry(key).or_default().push(id);
            }
        }
        Self { keyer, path: choice.terms()[0].path().clone(), buckets, subscribers }
    }

    /// An event is checked once, for however many cursors' subscribers.
    fn reached(&self, checked: &Checked<'_>) -> usize {
        let mut reached = 0;
        let sink = |key| {
            let candidates = self.buckets.get(&key).into_iter().flatten();
            let matches = |id: &&usize| self.subscribers[**id].matches_checked(checked).unwrap();
            reached += candidates.filter(matches).count();
            ControlFlow::Continue(())
        };
        self.keyer.keys_at(&self.path, checked, sink).unwrap();
        reached
    }
}

fn one_subscriber_of_many(criterion: &mut Criterion) {
    let index = Index::new();
    let warm = event(4711);
    let checked = Checked::new(&warm).unwrap();
    assert_eq!(index.reached(&checked), 1);
    criterion.bench_function("one of 100,000, warm", |bencher| {
        bencher.iter(|| index.reached(black_box(&checked)));
    });
    criterion.bench_function("one of 100,000, warm, and checking the event", |bencher| {
        bencher.iter(|| index.reached(&Checked::new(black_box(&warm)).unwrap()));
    });
    let cold: Vec<_> = (0..20_000).map(|id| event(id * 7919 % SUBSCRIBERS)).collect();
    let mut events = cold.iter().cycle();
    criterion.bench_function("one of 100,000, cold, and checking the event", |bencher| {
        bencher.iter(|| index.reached(&Checked::new(black_box(events.next().unwrap())).unwrap()));
    });
}

fn predicates_without_index(criterion: &mut Criterion) {
    let filter = |number: usize| {
        let number = i32::try_from(number).unwrap();
        let filter = rawdoc! { "level": { "$gt": number - 5_000 }, "owner": { "$ne": "nobody" } };
        Filter::parse(&filter, &ParseOptions::read_filter()).unwrap()
    };
    let filters: Vec<_> = (0..PREDICATES).map(filter).collect();
    let event = event(1);
    let checked = Checked::new(&event).unwrap();
    criterion.bench_function("10,000 predicates", |bencher| {
        let holds = |filter: &&Filter| filter.matches_checked(&checked).unwrap();
        bencher.iter(|| filters.iter().filter(holds).count());
    });
}

fn walks(criterion: &mut Criterion) {
    let event = event(1);
    let size = event.as_bytes().len();
    criterion.bench_function(&format!("check an event of {size} bytes"), |bencher| {
        bencher.iter(|| Checked::new(black_box(&event)).unwrap());
    });
    let filter = rawdoc! { "fullDocument.owner": "user-1", "fullDocument.tenant.id": 7 };
    let filter = Filter::parse(&filter, &ParseOptions::event()).unwrap();
    let checked = Checked::new(&event).unwrap();
    criterion.bench_function("two dotted paths", |bencher| {
        bencher.iter(|| filter.matches_checked(black_box(&checked)).unwrap());
    });
    criterion.bench_function("two dotted paths through the driver's accessors", |bencher| {
        bencher.iter(|| {
            let document = black_box(&event).get_document("fullDocument").unwrap();
            let owner = document.get_str("owner").unwrap() == "user-1";
            owner && document.get_document("tenant").unwrap().get_i32("id").unwrap() == 7
        });
    });
}

criterion_group!(benches, one_subscriber_of_many, predicates_without_index, walks);
criterion_main!(benches);
