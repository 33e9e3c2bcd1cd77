//! What is counted of one subscriber, and of all of them.

use std::ops::Add;

use super::Sieve;

/// Numbers of one subscriber since it came, or of many since the service started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events of the watched collections that the subscriber was considered for.
    pub seen: u64,
    /// Events handed to its connection.
    pub delivered: u64,
    /// Events that were meant for it and could not be given to it.
    pub dropped: u64,
    /// Events that were kept from it, by what kept them.
    pub filtered: [u64; Sieve::ALL.len()],
    /// Notices of events that nobody could be given.
    pub skipped: u64,
    /// Times that it was told that events were missed.
    pub resets: u64,
    /// Bytes written to it.
    pub bytes: u64,
}

impl Counts {
    /// Events that were kept from the subscriber, whatever kept them.
    pub fn filtered(&self) -> u64 {
        self.filtered.iter().sum()
    }

    /// The larger of each number.
    pub(super) fn at_least(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }

    fn zip(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut filtered = self.filtered;
        for (own, theirs) in filtered.iter_mut().zip(other.filtered) {
            *own = join(*own, theirs);
        }
        Self {
            seen: join(self.seen, other.seen),
            delivered: join(self.delivered, other.delivered),
            dropped: join(self.dropped, other.dropped),
            filtered,
            skipped: join(self.skipped, other.skipped),
            resets: join(self.resets, other.resets),
            bytes: join(self.bytes, other.bytes),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }
}
