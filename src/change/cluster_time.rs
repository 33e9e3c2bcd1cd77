//! Cluster time: MongoDB's logical clock, seconds and an increment within the second.

use std::fmt;

use bson::Timestamp;

/// A point of MongoDB's logical clock. Ordered as the oplog is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClusterTime(u64);

impl ClusterTime {
    /// From the packed form: seconds in the high 32 bits, the increment in the low ones.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The packed form, see [`ClusterTime::from_bits`].
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The first point after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Seconds since the Unix epoch.
    pub fn seconds(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl From<Timestamp> for ClusterTime {
    fn from(timestamp: Timestamp) -> Self {
        Self((u64::from(timestamp.time) << 32) | u64::from(timestamp.increment))
    }
}

impl From<ClusterTime> for Timestamp {
    fn from(time: ClusterTime) -> Self {
        Self { time: time.seconds(), increment: time.0 as u32 }
    }
}

impl fmt::Debug for ClusterTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.seconds(), self.0 as u32)
    }
}
