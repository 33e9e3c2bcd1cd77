//! Snapshots: what happens while they are read.

use bson::Document;

use super::*;

fn shown(range: std::ops::RangeInclusive<i32>) -> Vec<String> {
    range.map(|n| format!("={n}")).collect()
}

/// More documents than are read ahead, so that the reading waits for its client.
const MANY: i32 = 500;

fn filled() -> Scripted {
    let source = Scripted::default();
    (1..=MANY).for_each(|n| source.insert(n));
    source
}

async fn begin(hub: &Hub) -> Subscription {
    join(hub, Resume::Snapshot(Document::new())).await
}

/// What was committed after the snapshot's time follows its end, from the history: no gap, no repeat.
#[tokio::test(start_paused = true)]
async fn changes_that_come_meanwhile_follow_from_the_history() {
    let source = filled();
    let hub = hub(&source, limits());
    let mut subscription = begin(&hub).await;
    assert_eq!(take(&mut subscription, 1).await[0], "=1");
    (MANY + 1..=MANY + 20).for_each(|n| source.insert(n));
    let rest = MANY as usize - 64 + 1 + 20;
    let expected =
        [shown(65..=MANY), vec!["end".to_owned()], numbers(MANY + 1..=MANY + 20)].concat();
    assert_eq!(take(&mut subscription, rest).await, expected);
}

/// However long a snapshot takes, what the history has lost meanwhile is read from MongoDB.
#[tokio::test(start_paused = true)]
async fn what_the_history_has_forgotten_meanwhile_is_read_from_the_source() {
    let source = filled();
    let small = HistoryLimits { events: 4, bytes: 1 << 20 };
    let hub = hub(&source, HubLimits { history: small, ..limits() });
    let mut witness = join(&hub, Resume::Live).await;
    let mut subscription = begin(&hub).await;
    assert_eq!(take(&mut subscription, 1).await[0], "=1");
    for n in MANY + 1..=MANY + 20 {
        source.insert(n);
        take(&mut witness, 1).await;
    }
    let openings = source.openings();
    let rest = MANY as usize - 64 + 1 + 20;
    let expected =
        [shown(65..=MANY), vec!["end".to_owned()], numbers(MANY + 1..=MANY + 20)].concat();
    assert_eq!(take(&mut subscription, rest).await, expected);
    assert_eq!(source.openings(), openings + 1, "one catch-up cursor");
}

/// No id stands for half a snapshot; that of its end resumes after it.
#[tokio::test(start_paused = true)]
async fn no_id_stands_for_half_a_snapshot() {
    let source = filled();
    let hub = hub(&source, limits());
    let mut subscription = begin(&hub).await;
    assert!(subscription.is_in_snapshot());
    take(&mut subscription, MANY as usize).await;
    assert!(subscription.is_in_snapshot());
    assert_eq!(take(&mut subscription, 1).await, ["end"]);
    assert!(!subscription.is_in_snapshot());
    let mut back = join(&hub, last_id(&subscription)).await;
    source.insert(MANY + 1);
    assert_eq!(take(&mut back, 1).await, numbers([MANY + 1]));
}

/// Beyond the cap a snapshot waits until another is read or its client has left.
#[tokio::test(start_paused = true)]
async fn snapshots_wait_their_turn() {
    let hub = hub(&filled(), HubLimits { snapshots: 1, ..limits() });
    let mut first = begin(&hub).await;
    take(&mut first, 1).await;
    let mut second = begin(&hub).await;
    let mut items = Vec::new();
    assert!(timeout(HOUR, second.next(&mut items)).await.is_err(), "{items:?}");
    drop(first);
    assert_eq!(take(&mut second, MANY as usize + 1).await.last().unwrap(), "end");
}
