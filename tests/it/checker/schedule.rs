//! A random schedule of faults that a seed decides.

use std::{fmt, time::Duration};

use bson::doc;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::time::sleep;

use super::world::World;
use crate::support::proxy::{Direction, Flow, Proxy};

/// One fault: done, kept up for its time, and undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    what: What,
    lasts: Duration,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// Between clients and a replica.
    Clients(usize, Trouble),
    /// Between a replica and MongoDB.
    Source(usize, Trouble),
    /// A command of the replicas fails so many times with a code; `None` closes the connection.
    Fail(&'static str, Option<i32>, i32),
    /// A command of the replicas finds, so many times, that MongoDB no longer knows the position.
    Lose(&'static str, i32, i32),
    StepDown,
    /// A replica drains and starts again.
    Restart(usize),
    /// The definition of the streams is replaced by an equivalent one.
    Redefine,
}

/// What a network does.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    Delay,
    Stall(Direction),
    /// Bytes vanish without a word, and then the connection is found to be dead.
    HalfOpen,
    Narrow,
    Reset,
    Cut,
    Refuse,
}

/// Codes of failovers, of lost cursors and of interruptions: with all of them the position stays good.
const CODES: [i32; 7] = [10107, 11600, 11602, 43, 237, 136, 91];

/// History lost, fatal, invalid token: the position is good no more.
const LOST: [i32; 3] = [286, 280, 260];

/// The faults of a run, one after the other.
#[derive(Debug)]
pub(super) struct Schedule(StdRng);

impl Schedule {
    pub(super) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// The next fault, and how long nothing happens before it.
    pub(super) fn next(&mut self) -> (Duration, Fault) {
        let pause = Duration::from_millis(self.0.random_range(0..400));
        let lasts = Duration::from_millis(self.0.random_range(50..1500));
        let what = match self.0.random_range(0..20) {
            0..6 => What::Clients(self.replica(), self.trouble()),
            6..11 => What::Source(self.replica(), self.trouble()),
            11..15 => self.failure(),
            15..17 => What::StepDown,
            17..19 => What::Restart(self.replica()),
            _ => What::Redefine,
        };
        (pause, Fault { what, lasts })
    }

    fn replica(&mut self) -> usize {
        self.0.random_range(0..World::REPLICAS)
    }

    fn trouble(&mut self) -> Trouble {
        match self.0.random_range(0..8) {
            0 => Trouble::Delay,
            1 => Trouble::Stall(Direction::Up),
            2 => Trouble::Stall(Direction::Down),
            3 => Trouble::HalfOpen,
            4 => Trouble::Narrow,
            5 => Trouble::Reset,
            6 => Trouble::Cut,
            _ => Trouble::Refuse,
        }
    }

    fn failure(&mut self) -> What {
        let command = ["getMore", "aggregate"][self.0.random_range(0..2)];
        let times = self.0.random_range(1..4);
        if self.0.random_bool(0.2) {
            return What::Lose(command, LOST[self.0.random_range(0..LOST.len())], times);
        }
        let code = CODES.get(self.0.random_range(0..=CODES.len())).copied();
        What::Fail(command, code, times)
    }
}

impl Fault {
    pub(super) async fn strike(self, world: &World) {
        match self.what {
            What::Clients(replica, trouble) => self.disturb(world.clients(replica), trouble).await,
            What::Source(replica, trouble) => self.disturb(world.source(replica), trouble).await,
            What::Fail(command, code, times) => {
                let data = match code {
                    Some(code) => doc! { "errorCode": code },
                    None => doc! { "closeConnection": true },
                };
                world.fail(command, times, data).await;
                sleep(self.lasts).await;
                world.heal().await;
            }
            What::Lose(command, code, times) => {
                let before = world.fail(command, times, doc! { "errorCode": code }).await;
                sleep(self.lasts).await;
                world.lost(world.heal().await - before);
            }
            What::StepDown => world.step_down().await,
            What::Restart(replica) => world.restart(replica, self.lasts).await,
            What::Redefine => world.redefine().await,
        }
    }

    async fn disturb(self, proxy: &Proxy, trouble: Trouble) {
        match trouble {
            Trouble::Delay => proxy.set_delay(Duration::from_millis(40)),
            Trouble::Stall(direction) => proxy.set_flow(direction, Flow::Stall),
            Trouble::HalfOpen => proxy.set_both(Flow::Swallow),
            Trouble::Narrow => proxy.set_bandwidth(Some(20_000)),
            Trouble::Reset => proxy.reset_all(),
            Trouble::Cut => proxy.cut_all(),
            Trouble::Refuse => {
                proxy.set_refuse(true);
                proxy.reset_all();
            }
        }
        sleep(self.lasts).await;
        proxy.set_delay(Duration::ZERO);
        proxy.set_bandwidth(None);
        proxy.set_refuse(false);
        if let Trouble::HalfOpen = trouble {
            // What vanished is missing in the middle of the bytes.
            proxy.reset_all();
        }
        proxy.set_both(Flow::Pass);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {:?}", self.what, self.lasts)
    }
}
