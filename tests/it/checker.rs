//! Whatever happens, no client loses, repeats or reorders an event, or is given one that is not its own; and
//! where MongoDB no longer knows a position, or a stage fails on an event, it is told.
//!
//! One writer, clients of every kind, two replicas, and a random schedule of faults on either side of them.
//! `TAILWATER_SEED` decides the schedule, `TAILWATER_CHECK_SECONDS` how long it goes on; the seed is
//! printed. `cargo test --release --test it -- --ignored soak` runs it for an hour.

mod journal;
mod schedule;
mod verdict;
mod watcher;
mod world;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bson::Document;
use futures_util::future::join_all;
use rand::{SeedableRng, rngs::StdRng};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use self::{
    journal::{Journal, TAGS},
    schedule::Schedule,
    verdict::{Ids, Seen, judge},
    watcher::{Habits, Watcher},
    world::World,
};
use crate::support::{TestApp, client::Transport, setting};

/// How long a client may see nothing new once the faults have stopped, before it has seen the last write.
const SILENCE: Duration = Duration::from_secs(60);

/// As many of which a client may take in all.
const MOST_SILENCES: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_random_schedule_of_faults_loses_nothing() {
    run(60).await;
}

/// The same for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes an hour"]
async fn soak() {
    run(3600).await;
}

async fn run(seconds: u64) {
    let length = Duration::from_secs(setting("TAILWATER_CHECK_SECONDS", seconds));
    let seed: u64 = setting("TAILWATER_SEED", rand::random());
    println!("TAILWATER_SEED={seed} TAILWATER_CHECK_SECONDS={}", length.as_secs());
    let world = Arc::new(World::start().await);
    let coll = TestApp::of(world.address(0), world.db.clone()).coll("c");
    let journal = Journal::new(coll.clone_with_type::<Document>());
    let (stop, stopped) = watch::channel(false);
    let mut watching: Vec<_> =
        habits().map(|habits| watch(habits, &world, &journal, seed)).collect();
    let striking = async {
        strike(&world, seed, length).await;
        stop.send(true).unwrap();
    };
    tokio::join!(journal.keep_writing(StdRng::seed_from_u64(seed), stopped), striking);
    let written = journal.written();
    let mut ids = Ids::default();
    let mut verdicts = Vec::new();
    let ended = Instant::now();
    join_all(watching.iter_mut().map(|(_, seen, task)| settle(seen, task))).await;
    for (habits, seen, _) in watching {
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        if let Err(error) = judge(&written, habits.wants(world.losses()), &seen, &mut ids) {
            verdicts.push(format!("{habits:?}: {error}"));
        }
    }
    println!("{:>8.1} s for the slowest", ended.elapsed().as_secs_f32());
    assert!(verdicts.is_empty(), "TAILWATER_SEED={seed}\n{}", verdicts.join("\n"));
    let poisoned = written.iter().filter(|write| write.poison).count();
    let losses = world.losses();
    println!(
        "{} writes reached every client, {poisoned} of them poison; a position was lost {losses} times",
        written.len()
    );
    let world = Arc::into_inner(world).expect("every client has ended");
    world.stop().await;
}

/// Waits until a client has seen its last write, or nothing more for a while: some take their time.
async fn settle(seen: &Mutex<Vec<Seen>>, task: &mut JoinHandle<()>) {
    let is_event = |seen: &&Seen| matches!(seen, Seen::Event { .. });
    let count = || seen.lock().unwrap().iter().filter(is_event).count();
    let mut before = count();
    for _ in 0..MOST_SILENCES {
        if timeout(SILENCE, &mut *task).await.is_ok() {
            return;
        }
        let now = count();
        if std::mem::replace(&mut before, now) == now {
            break;
        }
    }
    task.abort();
}

/// Strikes until the time is up. No fault outlasts it.
async fn strike(world: &World, seed: u64, length: Duration) {
    let mut schedule = Schedule::new(seed);
    let began = Instant::now();
    while began.elapsed() < length {
        let (pause, fault) = schedule.next();
        sleep(pause).await;
        println!("{:>8.1} s  {fault}", began.elapsed().as_secs_f32());
        fault.strike(world).await;
    }
}

/// Each transport with each selection, and some who take their time.
fn habits() -> impl Iterator<Item = Habits> {
    let tags = [None, Some(TAGS[0]), Some(TAGS[1]), Some(TAGS[2])];
    let quick = Transport::ALL.into_iter().flat_map(move |transport| {
        tags.into_iter().map(move |tag| Habits { transport, tag, dawdles: None })
    });
    let slow = [Transport::Sse, Transport::Enveloped].into_iter().flat_map(move |transport| {
        let dawdles = Some(Duration::from_millis(400));
        tags.into_iter().map(move |tag| Habits { transport, tag, dawdles })
    });
    quick.chain(slow)
}

type Watching = (Habits, Arc<Mutex<Vec<Seen>>>, JoinHandle<()>);

fn watch(habits: Habits, world: &Arc<World>, journal: &Arc<Journal>, seed: u64) -> Watching {
    let seen = Arc::new(Mutex::default());
    let mut watcher = Watcher {
        habits,
        seen: Arc::clone(&seen),
        journal: journal.clone(),
        rng: StdRng::seed_from_u64(seed),
        last_id: None,
    };
    let world = world.clone();
    let task = tokio::spawn(async move { watcher.run(&world).await });
    (habits, seen, task)
}
