use bson::rawdoc;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::time::timeout;

use super::*;
use crate::{binding::Namespace, source::scripted::Scripted};

/// Of a clock that only moves when everyone waits.
const HOUR: Duration = Duration::from_secs(3600);

/// What is said of signals in the tables below.
fn name(signal: &Signal) -> String {
    match signal {
        Signal::Batch(batch) => {
            let key = |raw: &bson::RawDocument| {
                raw.get_document("documentKey").unwrap().get_i32("_id").unwrap()
            };
            let numbers: Vec<_> = batch.events.iter().map(|e| key(&e.raw).to_string()).collect();
            numbers.join(" ")
        }
        Signal::Skipped(_) => "skipped".to_owned(),
        Signal::Degraded(_) => "degraded".to_owned(),
        Signal::Recovered => "recovered".to_owned(),
        Signal::Reset(..) => "reset".to_owned(),
        Signal::Ended(reason) => match reason {
            EndReason::Invalidated => "invalidated".to_owned(),
            EndReason::Refused(_) => "refused".to_owned(),
            EndReason::Cancelled => "cancelled".to_owned(),
        },
    }
}

async fn open(source: &Scripted, staged: bool) -> Reader {
    open_at(source, staged, None).await.unwrap()
}

async fn open_at(
    source: &Scripted,
    staged: bool,
    start: Option<Open>,
) -> Result<Reader, SourceError> {
    open_knowing(source, staged, start, &Known::default()).await
}

async fn open_knowing(
    source: &Scripted,
    staged: bool,
    start: Option<Open>,
    known: &Known,
) -> Result<Reader, SourceError> {
    let mut spec = CursorSpec::bare(Namespace::new("d", "c"));
    if staged {
        spec.pipeline.push(rawdoc! { "$addFields": { "x": 1 } });
    }
    let cancelled = CancellationToken::new();
    let (source, spec) = (Arc::new(source.clone()), Arc::new(spec));
    Reader::open(source, spec, start, known.clone(), cancelled).await
}

/// Reads until what was said ends with `last`; batches without events are passed over.
async fn said_until(reader: &mut Reader, last: &str) -> Vec<String> {
    let mut said = Vec::new();
    while said.last().is_none_or(|said| said != last) {
        let signal = timeout(HOUR, reader.next()).await;
        let signal = name(&signal.unwrap_or_else(|_| panic!("{said:?}, then no {last}")));
        if !signal.is_empty() {
            said.push(signal);
        }
    }
    said
}

/// Faults of readings, faults of openings, what is said, and the number of openings.
type Row<'a> = (&'a [Fault], &'a [Fault], &'a [&'a str], usize);

/// Each fault of a reading, and of the openings after it: what is said, and in how many openings.
#[tokio::test(start_paused = true)]
async fn every_fault_is_answered_in_its_own_way_and_without_a_loop() {
    use Fault::*;
    let rows: [Row<'_>; 9] = [
        (&[Transient], &[], &["1", "2"], 2),
        (&[Transient, Transient], &[], &["1", "degraded", "recovered", "2"], 3),
        (&[Transient], &[Transient, Transient], &["1", "degraded", "recovered", "2"], 4),
        (&[Privilege], &[Privilege], &["1", "degraded", "recovered", "2"], 3),
        (&[Topology], &[Topology], &["1", "degraded", "recovered", "2"], 3),
        (&[Lost], &[], &["1", "reset", "3"], 2),
        (&[Lost], &[Transient, Transient], &["1", "degraded", "reset", "recovered", "3"], 5),
        (&[Unwatchable], &[], &["1", "refused"], 1),
        // Nothing shows an event to blame: the cursor is opened again, as after a blip.
        (&[Rejected], &[], &["1", "2"], 5),
    ];
    for (readings, openings, expected, opened) in rows {
        let source = Scripted::default();
        let mut reader = open(&source, true).await;
        source.insert(1);
        let mut said = said_until(&mut reader, "1").await;
        source.insert(2);
        if expected.contains(&"reset") {
            source.forget();
        }
        source.fail(readings);
        source.refuse(openings);
        if expected.contains(&"reset") {
            said.extend(said_until(&mut reader, "reset").await);
            source.insert(3);
        }
        said.extend(said_until(&mut reader, expected.last().unwrap()).await);
        assert_eq!(said, expected, "{readings:?} {openings:?}");
        assert_eq!(source.openings(), opened, "{readings:?} {openings:?}");
    }
}

/// An event on which a stage fails is reported in its place, and only it is left out.
#[tokio::test(start_paused = true)]
async fn a_failing_event_is_skipped_in_its_place() {
    let source = Scripted::default();
    let mut reader = open(&source, true).await;
    source.insert(1);
    source.poison(2);
    source.insert(3);
    source.poison(4);
    source.poison(5);
    source.insert(6);
    let said = said_until(&mut reader, "6").await;
    assert_eq!(said, ["1", "skipped", "3", "skipped", "skipped", "6"]);
}

/// A reader that begins right before a failing event begins; a pipeline that MongoDB refuses does not.
#[tokio::test(start_paused = true)]
async fn a_reader_opens_in_front_of_a_failing_event() {
    let source = Scripted::default();
    source.insert(1);
    source.poison(2);
    source.insert(3);
    let start = Open::after(&source.token(1));
    let mut reader = open_at(&source, true, Some(start.clone())).await.unwrap();
    assert_eq!(said_until(&mut reader, "3").await, ["skipped", "3"]);
    source.refuse(&[Fault::Rejected, Fault::Rejected]);
    let refused = open_at(&source, true, Some(start)).await.unwrap_err();
    assert_eq!(refused.fault, Fault::Rejected);
}

/// A failing event that one reader has found costs the next one no search; one that comes before it is
/// found all the same.
#[tokio::test(start_paused = true)]
async fn what_one_reader_found_the_next_one_knows() {
    let (source, known) = (Scripted::default(), Known::default());
    source.insert(0);
    let start = Open::after(&source.token(0));
    source.insert(1);
    source.poison(2);
    source.insert(3);
    let mut openings = Vec::new();
    for _ in 0..2 {
        let before = source.openings();
        let mut reader = open_knowing(&source, true, Some(start.clone()), &known).await.unwrap();
        assert_eq!(said_until(&mut reader, "3").await, ["1", "skipped", "3"]);
        openings.push(source.openings() - before);
    }
    assert!(openings[1] < openings[0], "{openings:?}");
    assert_eq!(openings[1], 1, "one cursor, which leaves out what is known");

    let (source, known) = (Scripted::default(), Known::default());
    for n in 0..6 {
        if n == 2 || n == 4 { source.poison(n) } else { source.insert(n) }
    }
    let after = Open::after(&source.token(3));
    let mut first = open_knowing(&source, true, Some(after), &known).await.unwrap();
    assert_eq!(said_until(&mut first, "5").await, ["skipped", "5"]);
    let start = Open::after(&source.token(0));
    let mut second = open_knowing(&source, true, Some(start), &known).await.unwrap();
    assert_eq!(said_until(&mut second, "5").await, ["1", "skipped", "3", "skipped", "5"]);
}

/// Events by number, the failing ones negative, as a reader tells of them.
fn told(signal: &Signal) -> Vec<i32> {
    let number =
        |raw: &bson::RawDocument| raw.get_document("documentKey").unwrap().get_i32("_id").unwrap();
    match signal {
        Signal::Batch(batch) => batch.events.iter().map(|event| number(&event.raw)).collect(),
        Signal::Skipped(poison) => vec![-number(&poison.event)],
        Signal::Degraded(_) | Signal::Recovered => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// However many events fail and wherever, whoever reads, whatever others find meanwhile, and whenever the
/// source fails: each event is told once, in order.
#[tokio::test(start_paused = true)]
async fn every_event_is_told_once_and_in_order() {
    for seed in 0..300 {
        let mut rng = StdRng::seed_from_u64(seed);
        let (source, known) = (Scripted::default(), Known::default());
        let (share, count) = (rng.random_range(0.0..1.0_f64).powi(2), rng.random_range(1..80));
        let mut all = Vec::new();
        source.insert(0);
        let start = Open::after(&source.token(0));
        while all.len() < count {
            let size = if rng.random_bool(0.2) { rng.random_range(2..20) } else { 1 };
            let first = i32::try_from(all.len() + 1).unwrap();
            let events: Vec<_> =
                (first..first + size).map(|n| (n, rng.random_bool(share))).collect();
            all.extend(events.iter().map(|(n, fails)| if *fails { -n } else { *n }));
            source.commit(&events);
        }
        source.insert(1000);
        all.push(1000);
        let mut readers = Vec::new();
        for _ in 0..3 {
            let reader = open_knowing(&source, true, Some(start.clone()), &known).await.unwrap();
            readers.push((reader, Vec::new()));
        }
        while !readers.is_empty() {
            let index = rng.random_range(0..readers.len());
            let (reader, heard) = &mut readers[index];
            if rng.random_bool(0.1) {
                source.fail(&[Fault::Transient]);
            }
            let signal = timeout(HOUR, reader.next()).await;
            heard.extend(told(&signal.unwrap_or_else(|_| panic!("{seed}: {heard:?} of {all:?}"))));
            assert_eq!(*heard, all[..heard.len()], "{seed}");
            if heard.len() == all.len() {
                readers.swap_remove(index);
            }
        }
    }
}

/// A dead position that stays dead while the server is away is told once.
#[tokio::test(start_paused = true)]
async fn a_lost_position_is_told_once() {
    let source = Scripted::default();
    let mut reader = open(&source, false).await;
    source.insert(1);
    said_until(&mut reader, "1").await;
    for n in 2..5 {
        source.insert(n);
    }
    source.forget();
    source.fail(&[Fault::Transient]);
    let mut said = said_until(&mut reader, "reset").await;
    source.insert(9);
    said.extend(said_until(&mut reader, "9").await);
    assert_eq!(said, ["reset", "9"]);
    assert_eq!(source.openings(), 3, "the first, the one with the dead position, the one at now");
}

/// What `newest` says was handed out: whoever goes on from it misses nothing.
#[tokio::test(start_paused = true)]
async fn newest_moves_with_what_is_handed_out() {
    let source = Scripted::default();
    let mut reader = open(&source, true).await;
    source.insert(1);
    source.poison(2);
    source.insert(3);
    for (said, n) in [("1", 1), ("skipped", 2), ("3", 3)] {
        said_until(&mut reader, said).await;
        assert_eq!(*reader.newest(), source.token(n), "after {said}");
    }
}
