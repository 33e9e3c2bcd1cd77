use futures_util::FutureExt;
use tokio::time::advance;

use super::*;
use crate::{hub::CloseReason, source::Fault};

/// Lets every task run until all of them wait.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// A cursor outlives its last subscriber by the linger time, counted from the last leaving.
#[tokio::test(start_paused = true)]
async fn a_cursor_lingers_and_whoever_comes_back_keeps_it() {
    let source = Scripted::default();
    let hub = hub(&source, limits());
    drop(join(&hub, Resume::Live).await);
    settle().await;
    advance(LINGER - Duration::from_millis(10)).await;
    let second = join(&hub, Resume::Live).await;
    advance(LINGER * 2).await;
    settle().await;
    assert_eq!(hub.census(), (1, 1), "a subscriber keeps the cursor");
    drop(second);
    settle().await;
    advance(LINGER - Duration::from_millis(10)).await;
    settle().await;
    assert_eq!(hub.census(), (1, 0));
    advance(Duration::from_millis(20)).await;
    settle().await;
    assert_eq!(hub.census(), (0, 0));
    assert_eq!(source.openings(), 1);
}

/// Whoever gives up while the cursor opens leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_during_the_opening_leaves_nothing() {
    let hub = hub(&Scripted::default(), limits());
    assert!(join(&hub, Resume::Live).now_or_never().is_none());
    assert_eq!(hub.census(), (1, 0));
    settle().await;
    advance(LINGER + Duration::from_secs(2)).await;
    settle().await;
    assert_eq!(hub.census(), (0, 0));
}

/// Joining and leaving at the moment of eviction gives a cursor that lives, every time.
#[tokio::test(start_paused = true)]
async fn a_subscriber_never_joins_a_cursor_that_is_being_let_go() {
    let source = Scripted::default();
    let hub = hub(&source, HubLimits { linger: Duration::ZERO, ..limits() });
    for n in 0..500 {
        let mut client = join(&hub, Resume::Live).await;
        source.insert(n);
        assert_eq!(take(&mut client, 1).await, numbers([n]));
        drop(client);
        for _ in 0..n % 7 {
            tokio::task::yield_now().await;
        }
    }
}

/// At the cap a cursor that nobody subscribes to makes room; one in use does not.
#[tokio::test(start_paused = true)]
async fn idle_cursors_make_room_and_used_ones_do_not() {
    let hub = hub(&Scripted::default(), HubLimits { cursors: 2, ..limits() });
    let _a = try_join(&hub, "a", Resume::Live).await.unwrap();
    let b = try_join(&hub, "b", Resume::Live).await.unwrap();
    let refused = try_join(&hub, "c", Resume::Live).await.unwrap_err();
    assert!(matches!(refused, SubscribeError::Full(2)), "{refused}");
    drop(b);
    let _c = try_join(&hub, "c", Resume::Live).await.unwrap();
    assert_eq!(hub.census().0, 2);
    // Two come at once for one place.
    drop(_c);
    let (d, e) =
        tokio::join!(try_join(&hub, "d", Resume::Live), try_join(&hub, "e", Resume::Live),);
    assert!(d.is_ok() != e.is_ok(), "{:?} {:?}", d.err(), e.err());
}

/// A refused opening is told to everyone who waited for it, and the next one is a new attempt.
#[tokio::test(start_paused = true)]
async fn a_failed_opening_is_shared_and_forgotten() {
    let source = Scripted::default();
    source.refuse(&[Fault::Rejected]);
    let hub = hub(&source, limits());
    let all = futures_util::future::join_all((0..5).map(|_| try_join(&hub, "c", Resume::Live)));
    assert!(all.await.iter().all(Result::is_err));
    assert_eq!((source.openings(), hub.census()), (1, (0, 0)));
    join(&hub, Resume::Live).await;
    assert_eq!(source.openings(), 2);
}

/// What was brought before the end of the cursor is given before the end is told.
#[tokio::test(start_paused = true)]
async fn the_end_comes_after_the_last_event() {
    for even in [false, true] {
        let source = Scripted::default();
        let hub = hub(&source, limits());
        let mut client =
            if even { join_even(&hub, Resume::Live).await } else { join(&hub, Resume::Live).await };
        source.insert(2);
        assert_eq!(take(&mut client, 1).await, ["2"]);
        source.insert(4);
        settle().await;
        source.fail(&[Fault::Unwatchable]);
        settle().await;
        assert_eq!(take(&mut client, 1).await, ["4"], "even: {even}");
        let end = client.next(&mut Vec::new()).await;
        assert_eq!(end, Delivery::Closed(CloseReason::InternalError), "even: {even}");
        assert_eq!(hub.census().0, 0, "whoever comes back finds a new cursor");
    }
}

/// Everybody hears of an outage and of its end, those who select events too.
#[tokio::test(start_paused = true)]
async fn an_outage_is_told_to_everyone() {
    let source = Scripted::default();
    let hub = hub(&source, limits());
    let mut all = join(&hub, Resume::Live).await;
    let mut even = join_even(&hub, Resume::Live).await;
    source.insert(2);
    assert_eq!((take(&mut all, 1).await, take(&mut even, 1).await), (numbers([2]), numbers([2])));
    source.fail(&[Fault::Transient, Fault::Transient]);
    source.insert(4);
    let expected = ["degraded", "recovered", "4"];
    assert_eq!(take(&mut all, 3).await, expected);
    assert_eq!(take(&mut even, 3).await, expected);
}
