use futures_util::FutureExt;

use super::*;

/// A replay that is ahead of the shared cursor hands over without a repeat when that one follows.
#[tokio::test(start_paused = true)]
async fn a_catch_up_that_is_ahead_of_the_shared_cursor_repeats_nothing() {
    let source = Scripted::default();
    for n in 1..=3 {
        source.insert(n);
    }
    let hub = hub(&source, limits());
    let _keeper = join(&hub, Resume::Live).await;
    source.freeze(0);
    for n in 4..=20 {
        source.insert(n);
    }
    let mut all = join(&hub, id_of(&source, 1)).await;
    let mut even = join_even(&hub, id_of(&source, 1)).await;
    // What it reads reaches into what the shared cursor has to bring.
    let mut seen = take(&mut all, 8).await;
    let mut seen_even = take(&mut even, 4).await;
    source.thaw();
    source.insert(22);
    source.insert(23);
    let (rest, rest_even) = (21 - seen.len(), 11 - seen_even.len());
    seen.extend(take(&mut all, rest).await);
    seen_even.extend(take(&mut even, rest_even).await);
    assert_eq!(seen, numbers((2..=20).chain(22..=23)));
    assert_eq!(seen_even, numbers((2..=22).step_by(2)));
}

/// An id told by another replica before this one's cursor has come to it: nothing is repeated.
#[tokio::test(start_paused = true)]
async fn an_id_ahead_of_the_shared_cursor_repeats_nothing() {
    let source = Scripted::default();
    let hub = hub(&source, limits());
    let mut keeper = join(&hub, Resume::Live).await;
    source.insert(1);
    take(&mut keeper, 1).await;
    source.freeze(0);
    for n in 2..=4 {
        source.insert(n);
    }
    let starts = [id_of(&source, 3), Resume::Token(source.token(3))];
    let mut back = Vec::new();
    for start in starts {
        back.push(join(&hub, start).await);
    }
    let before = key().before(source.token(4).cluster_time());
    let before = Resume::Id(key().seal(&before, "d.c").as_str().to_owned());
    back.push(join(&hub, before).await);
    source.thaw();
    source.insert(5);
    for mut client in back {
        assert_eq!(take(&mut client, 2).await, ["4", "5"]);
    }
}

/// Inside a transaction, at every event, from the history and from MongoDB.
#[tokio::test(start_paused = true)]
async fn every_event_of_a_transaction_is_a_place_to_come_back_to() {
    let source = Scripted::default();
    source.insert(0);
    let all: Vec<_> = (1..=12).collect();
    let early = hub(&source, limits());
    let _keeper = join(&early, Resume::Live).await;
    source.transaction(&all);
    source.insert(13);
    let late = hub(&source, limits());
    for hub in [early, late] {
        for k in 1..=12 {
            let mut client = join(&hub, id_of(&source, k)).await;
            let rest = take(&mut client, 13 - k as usize).await;
            assert_eq!(rest, numbers(k + 1..=13), "after {k}");
        }
    }
}

/// Positions of a reset, of a heartbeat and of `ready` are places to come back to as well.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_id_never_passes_what_was_not_given() {
    let source = Scripted::default();
    let hub = hub(&source, limits());
    let mut even = join_even(&hub, Resume::Live).await;
    let mut keeper = join(&hub, Resume::Live).await;
    let ready = last_id(&even);
    source.insert(2);
    source.insert(3);
    assert_eq!(take(&mut keeper, 2).await, ["2", "3"]);
    // Two waits for it: however often it is asked for an id, that stands before 2.
    even.heartbeat();
    let mut back = join_even(&hub, last_id(&even)).await;
    assert_eq!(take(&mut back, 1).await, ["2"]);
    assert_eq!(take(&mut even, 1).await, ["2"]);
    even.heartbeat();
    source.insert(4);
    for start in [ready, last_id(&even)] {
        let mut back = join_even(&hub, start).await;
        assert_eq!(
            take(&mut back, 1).await.last().unwrap(),
            if back.last().time < source.token(4).cluster_time() { "2" } else { "4" }
        );
    }
}

/// When the history loses what a resuming client wants next, the client is told to come back, and does.
#[tokio::test(start_paused = true)]
async fn a_history_that_forgets_meanwhile_costs_a_reconnect_and_no_event() {
    let source = Scripted::default();
    let small = HistoryLimits { events: 4, bytes: 1 << 20 };
    let hub = hub(&source, HubLimits { history: small, ..limits() });
    let mut keeper = join(&hub, Resume::Live).await;
    let mut slow = join(&hub, Resume::Live).await;
    let mut seen = Vec::new();
    for n in 1..=20 {
        source.insert(n);
        take(&mut keeper, 1).await;
        if n == 3 {
            seen.extend(take(&mut slow, 3).await);
        }
    }
    let closed = slow.next(&mut Vec::new()).await;
    assert_eq!(closed, Delivery::Closed(crate::hub::CloseReason::SlowConsumer));
    let mut back = join(&hub, last_id(&slow)).await;
    seen.extend(take(&mut back, 17).await);
    assert_eq!(seen, numbers(1..=20));
}

/// An overrun mailbox sends its subscriber to the history, in order, without gap or repeat.
#[tokio::test(start_paused = true)]
async fn an_overrun_mailbox_loses_nothing_while_the_history_holds() {
    let source = Scripted::default();
    let mailbox = MailboxLimits { events: 3, bytes: 1 << 20 };
    let hub = hub(&source, HubLimits { mailbox, ..limits() });
    let mut keeper = join(&hub, Resume::Live).await;
    let mut even = join_even(&hub, Resume::Live).await;
    source.insert(2);
    let mut seen = take(&mut even, 1).await;
    // Asked once more, it waits in the routes: from now on it is brought what it selects.
    assert!(even.next(&mut Vec::new()).now_or_never().is_none());
    for n in 3..=30 {
        source.insert(n);
    }
    take(&mut keeper, 29).await;
    seen.extend(take(&mut even, 14).await);
    source.insert(32);
    seen.extend(take(&mut even, 1).await);
    assert_eq!(seen, numbers((2..=32).step_by(2)));
}

/// Reading from MongoDB ends where changes were lost for good: the client is told, once.
#[tokio::test(start_paused = true)]
async fn an_id_older_than_the_oplog_is_answered_with_a_reset() {
    let source = Scripted::default();
    for n in 1..=5 {
        source.insert(n);
    }
    let id = id_of(&source, 2);
    source.forget();
    source.insert(6);
    let hub = hub(&source, limits());
    let mut client = join(&hub, id).await;
    source.insert(7);
    let seen = take(&mut client, 2).await;
    assert_eq!(seen, ["history_lost", "7"]);
}
