use futures_util::{FutureExt, future::join_all};
use tokio::time::Instant;

use super::*;
use crate::{hub::CloseReason, source::Fault};

/// A deployment with events 1 to `last`, and a hub whose history begins after them.
async fn behind(last: i32, limits: HubLimits) -> (Scripted, Hub, Subscription) {
    let source = Scripted::default();
    for n in 1..=last {
        source.insert(n);
    }
    let hub = hub(&source, limits);
    let keeper = join(&hub, Resume::Live).await;
    (source, hub, keeper)
}

/// Two events in memory for each replay.
fn narrow() -> HubLimits {
    HubLimits { history: HistoryLimits { events: 2, bytes: 1 << 20 }, ..limits() }
}

/// Who comes back at about the same time is read for at once, from the oldest position, and everyone
/// begins exactly where it left.
#[tokio::test(start_paused = true)]
async fn many_positions_are_served_by_one_reading() {
    let (source, hub, _keeper) = behind(300, limits()).await;
    let before = source.openings();
    let mut clients = Vec::new();
    for n in 1..300 {
        clients.push((n, join(&hub, id_of(&source, n)).await));
    }
    source.insert(301);
    let taken = clients.iter_mut().map(|(n, client)| take(client, 301 - *n as usize));
    let all = join_all(taken).await;
    for (n, seen) in (1..300).zip(all) {
        assert_eq!(seen, numbers(n + 1..=301), "after {n}");
    }
    assert_eq!(source.openings() - before, 2, "one to find the events, one to read");
}

/// A client that reads nothing delays nobody: neither in its own replay, nor in those of other cursors
/// that wait for a turn. When it reads at last, it misses nothing.
#[tokio::test(start_paused = true)]
async fn a_stalled_client_holds_no_turn() {
    let (source, hub, _keeper) = behind(40, HubLimits { catch_ups: 1, ..narrow() }).await;
    let mut stalled = join(&hub, id_of(&source, 1)).await;
    let mut quick = join(&hub, id_of(&source, 2)).await;
    assert_eq!(take(&mut quick, 38).await, numbers(3..=40));
    let begun = Instant::now();
    let mut others = Vec::new();
    for coll in ["x", "y", "z"] {
        let position = key().after(&source.token(1));
        let id = key().seal(&position, &format!("d.{coll}")).as_str().to_owned();
        others.push(try_join(&hub, coll, Resume::Id(id)).await.unwrap());
    }
    for seen in join_all(others.iter_mut().map(|client| take(client, 39))).await {
        assert_eq!(seen, numbers(2..=40));
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    source.insert(41);
    assert_eq!(take(&mut stalled, 40).await, numbers(2..=41));
}

/// A client that takes its time, though never so long that it is out, gives others their turn.
#[tokio::test(start_paused = true)]
async fn a_dawdling_client_holds_no_turn_for_long() {
    // Everything has room in a window: the reading does not wait for anybody.
    let history = HistoryLimits { events: 10_000, bytes: 64 << 20 };
    let wide = HubLimits { catch_ups: 1, history, ..limits() };
    let (source, hub, _keeper) = behind(4000, wide).await;
    let mut slow = join(&hub, id_of(&source, 1)).await;
    let position = key().after(&source.token(1));
    let id = key().seal(&position, "d.x").as_str().to_owned();
    let mut other = try_join(&hub, "x", Resume::Id(id)).await.unwrap();
    let begun = Instant::now();
    let dawdling = async {
        let mut seen = Vec::new();
        while seen.len() < 3999 {
            seen.extend(take(&mut slow, 1).await);
            tokio::time::sleep(Duration::from_millis(900)).await;
        }
        assert_eq!(seen, numbers(2..=4000));
        begun.elapsed()
    };
    let quick = async {
        assert_eq!(take(&mut other, 3999).await, numbers(2..=4000));
        begun.elapsed()
    };
    let (dawdled, quick) = tokio::join!(dawdling, quick);
    assert!(quick < Duration::from_secs(20), "{quick:?}");
    assert!(dawdled > Duration::from_secs(40), "{dawdled:?}");
}

/// Whoever is slower than the window gets another round, and another, until it is live.
#[tokio::test(start_paused = true)]
async fn a_slow_client_goes_on_where_it_fell_out() {
    let (source, hub, _keeper) = behind(60, narrow()).await;
    let mut slow = join(&hub, id_of(&source, 1)).await;
    let mut seen = take(&mut slow, 1).await;
    for _ in 0..6 {
        let mut quick = join(&hub, id_of(&source, 1)).await;
        assert_eq!(take(&mut quick, 59).await, numbers(2..=60));
        seen.extend(take(&mut slow, 1).await);
    }
    let rest = 59 - seen.len();
    seen.extend(take(&mut slow, rest).await);
    assert_eq!(seen, numbers(2..=60));
}

/// One whose position is gone hears of it, and only that one.
#[tokio::test(start_paused = true)]
async fn only_lost_positions_are_reset() {
    let source = Scripted::default();
    for n in 1..=20 {
        source.insert(n);
    }
    let ids: Vec<_> = (1..=20).map(|n| id_of(&source, n)).collect();
    let unknown = {
        // Of a time at which something else happened.
        let token =
            crate::change::ResumeToken::from_hex(&format!("{}00", source.token(15).as_hex()));
        Resume::Id(key().seal(&key().after(&token.unwrap()), "d.c").as_str().to_owned())
    };
    source.forget();
    for n in 21..=40 {
        source.insert(n);
    }
    let hub = hub(&source, limits());
    let _keeper = join(&hub, Resume::Live).await;
    let mut lost = Vec::new();
    for id in ids {
        lost.push(join(&hub, id).await);
    }
    let mut held = join(&hub, id_of(&source, 30)).await;
    let mut unknown = join(&hub, unknown).await;
    source.insert(41);
    for client in &mut lost[..19] {
        assert_eq!(take(client, 2).await, ["history_lost", "41"]);
    }
    assert_eq!(take(&mut unknown, 1).await, ["history_lost"]);
    assert_eq!(take(&mut held, 11).await, numbers(31..=41));
}

/// One who was reading when its place was lost has been given more than there was when it came: it is
/// told, and gets nothing twice.
#[tokio::test(start_paused = true)]
async fn a_reset_in_the_middle_of_a_replay_repeats_nothing() {
    let (source, hub, mut keeper) = behind(5, narrow()).await;
    let mut client = join(&hub, id_of(&source, 1)).await;
    for n in 6..=30 {
        source.insert(n);
        take(&mut keeper, 1).await;
    }
    let mut seen = take(&mut client, 12).await;
    // It is turned out of its round meanwhile, and the next one finds that its place is gone.
    source.refuse(&[Fault::Lost]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    while seen.last().is_some_and(|last| last != "history_lost") {
        seen.extend(take(&mut client, 1).await);
    }
    source.insert(31);
    seen.extend(take(&mut client, 1).await);
    let given = i32::try_from(seen.len()).unwrap() - 2;
    let told = ["history_lost".to_owned(), "31".to_owned()];
    assert_eq!(seen, [numbers(2..=given + 1), told.to_vec()].concat());
    assert!((12..29).contains(&given), "{given}");
}

/// The event that an id names may be gone without a trace: then what followed it is not known either.
#[tokio::test(start_paused = true)]
async fn an_id_whose_event_is_gone_is_reset() {
    let (source, hub, _keeper) = behind(20, limits()).await;
    let token = crate::change::ResumeToken::from_hex(&format!("{}00", source.token(15).as_hex()));
    let id = key().seal(&key().after(&token.unwrap()), "d.c").as_str().to_owned();
    let mut unknown = join(&hub, Resume::Id(id)).await;
    let mut known = join(&hub, id_of(&source, 15)).await;
    // Committed while it waits: that is its due.
    source.insert(21);
    assert_eq!(take(&mut unknown, 2).await, ["unknown_id", "21"]);
    assert_eq!(take(&mut known, 6).await, numbers(16..=21));
}

/// While MongoDB is away a resuming client waits with its stream open; a refusal ends it.
#[tokio::test(start_paused = true)]
async fn a_replay_outlasts_an_outage_but_no_refusal() {
    let (source, hub, _keeper) = behind(9, limits()).await;
    source.refuse(&[Fault::Transient, Fault::Privilege, Fault::Transient]);
    let mut client = join(&hub, id_of(&source, 2)).await;
    assert_eq!(take(&mut client, 7).await, numbers(3..=9));
    source.refuse(&[Fault::Unwatchable]);
    let mut refused = join(&hub, id_of(&source, 2)).await;
    let end = timeout(HOUR, refused.next(&mut Vec::new())).await;
    assert_eq!(end, Ok(Delivery::Closed(CloseReason::InternalError)));
}

/// Whoever leaves before its replay begins costs nothing.
#[tokio::test(start_paused = true)]
async fn a_replay_without_members_does_not_begin() {
    let (source, hub, _keeper) = behind(9, limits()).await;
    let before = source.openings();
    let mut client = join(&hub, id_of(&source, 2)).await;
    assert!(client.next(&mut Vec::new()).now_or_never().is_none());
    drop(client);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(source.openings(), before);
}

/// Positions inside and outside of a small history: whoever the history forgets before it has caught up
/// is served by MongoDB once more.
#[tokio::test(start_paused = true)]
async fn a_storm_on_a_small_history_leaves_nobody_behind() {
    let history = HistoryLimits { events: 30, bytes: 1 << 20 };
    let (source, hub, mut keeper) = behind(0, HubLimits { history, ..limits() }).await;
    for n in 1..=60 {
        source.insert(n);
        take(&mut keeper, 1).await;
    }
    let mut clients = Vec::new();
    for n in 1..=60 {
        clients.push(join(&hub, id_of(&source, n)).await);
    }
    source.insert(61);
    take(&mut keeper, 1).await;
    let taken = clients.iter_mut().zip(1..).map(|(client, n)| take(client, 61 - n));
    for (n, seen) in join_all(taken).await.into_iter().enumerate() {
        assert_eq!(seen, numbers(n as i32 + 2..=61), "after {}", n + 1);
    }
}
