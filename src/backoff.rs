//! Waiting between attempts: exponential, with a ceiling, and jittered after the ceiling is applied.

use std::time::Duration;

use rand::Rng;

/// Waits that grow with each failure in a row. The first attempt does not wait.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    ceiling: Duration,
    attempts: u32,
}

impl Backoff {
    /// `first` is the wait after the first failure, `ceiling` the longest one.
    pub fn new(first: Duration, ceiling: Duration) -> Self {
        Self { first, ceiling, attempts: 0 }
    }

    /// Attempts since the last success.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The last attempt worked.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// How long to wait before the next attempt: between half and all of the grown wait.
    pub fn wait(&mut self) -> Duration {
        let grown = match self.attempts {
            0 => Duration::ZERO,
            failures => self.first.saturating_mul(1 << (failures - 1).min(20)).min(self.ceiling),
        };
        self.attempts = self.attempts.saturating_add(1);
        jitter(grown, 0.5, 1.0)
    }
}

/// A duration drawn between two multiples of `base`.
pub fn jitter(base: Duration, low: f64, high: f64) -> Duration {
    base.mul_f64(rand::rng().random_range(low..=high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_ceiling_and_start_anew_after_a_success() {
        let (first, ceiling) = (Duration::from_millis(100), Duration::from_secs(2));
        let mut backoff = Backoff::new(first, ceiling);
        assert_eq!(backoff.wait(), Duration::ZERO);
        for grown in [100, 200, 400, 800, 1600, 2000, 2000] {
            let grown = Duration::from_millis(grown);
            let wait = backoff.wait();
            assert!(grown / 2 <= wait && wait <= grown, "{wait:?} of {grown:?}");
        }
        backoff.reset();
        assert_eq!(backoff.wait(), Duration::ZERO);
    }

    #[test]
    fn endless_failures_do_not_overflow() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(15));
        backoff.attempts = u32::MAX - 1;
        assert!(backoff.wait() <= Duration::from_secs(15));
        assert!(backoff.wait() <= Duration::from_secs(15));
    }
}
