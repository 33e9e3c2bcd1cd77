use bson::rawdoc;

use super::*;
use crate::{
    change::{ClusterTime, ResumeToken},
    hub::feed::Feed,
    source::SourceEvent,
    telemetry::CursorMeter,
};

fn time(n: u32) -> ClusterTime {
    ClusterTime::from_bits((7 << 32) | u64::from(n))
}

fn token(n: u32) -> ResumeToken {
    let start = ResumeToken::before(time(n));
    ResumeToken::from_hex(&format!("{}2B", start.as_hex())).unwrap()
}

fn event(n: u32) -> SourceEvent {
    SourceEvent { raw: rawdoc! { "n": n as i32 }, token: token(n) }
}

fn feed(events: usize) -> Feed {
    let history = HistoryLimits { events, bytes: 1 << 20 };
    let namespace = Namespace::new("d", "c");
    let meter = Arc::new(CursorMeter::new(namespace.to_string(), false));
    Feed::new(ResumeToken::before(time(1)), &namespace, key(), history, limits().mailbox, meter)
}

fn publish(feed: &Feed, n: u32) {
    feed.publish(vec![event(n)], Some(token(n)));
}

/// Once a reset has left the history, nobody goes on across the gap that it spoke of.
#[test]
fn a_reset_that_was_evicted_still_bars_the_way() {
    let feed = feed(2);
    publish(&feed, 1);
    feed.announce(feed.reset("history_lost", String::new(), time(5)));
    assert_eq!(feed.after(&token(1)), Some(1), "the reset comes next");
    publish(&feed, 6);
    publish(&feed, 7);
    assert_eq!(feed.after(&token(1)), None, "what lies between 1 and 5 is not held");
    assert_eq!(feed.after(&ResumeToken::before(time(5))), Some(2));
    assert_eq!(feed.after(&token(6)), Some(3));
}

/// Without a reset the history holds everything after what it forgot last.
#[test]
fn the_floor_is_the_last_event_that_was_evicted() {
    let feed = feed(2);
    for n in 1..=4 {
        publish(&feed, n);
    }
    assert_eq!(feed.after(&token(1)), None);
    assert_eq!(feed.after(&token(2)), Some(2));
    assert_eq!(feed.after(&token(3)), Some(3));
    assert_eq!(feed.after(&token(9)), Some(4), "the head: what follows has yet to come");
}

/// A reset is told to whoever stands before it, and not again to whom it was told.
#[test]
fn a_reset_is_read_by_whoever_comes_back_from_before_it() {
    let feed = feed(10);
    publish(&feed, 1);
    feed.announce(feed.reset("history_lost", String::new(), time(5)));
    publish(&feed, 6);
    for (from, next) in [(token(1), 1), (token(4), 1), (ResumeToken::before(time(5)), 2)] {
        assert_eq!(feed.after(&from), Some(next), "{from:?}");
    }
}

/// The place of a reader at the head: the newest change, until time has moved beyond it; never more
/// than what was read of a transaction.
#[test]
fn the_tail_never_runs_ahead_of_what_was_read() {
    let feed = feed(10);
    let at = |expected: &crate::change::Position| {
        assert_eq!(feed.tail().id, feed.id_of(expected), "{expected:?}");
    };
    at(&key().before(time(1)));
    publish(&feed, 3);
    at(&key().after(&token(3)));
    feed.publish(Vec::new(), Some(ResumeToken::before(time(3))));
    at(&key().after(&token(3)));
    feed.publish(Vec::new(), Some(ResumeToken::before(time(8))));
    at(&key().before(time(8)));
    // Read up to the middle of a transaction at 9 whose events a stage rejects.
    feed.publish(Vec::new(), Some(token(9)));
    at(&key().before(time(9)));
    feed.announce(feed.reset("history_lost", String::new(), time(20)));
    at(&key().before(time(20)));
}
