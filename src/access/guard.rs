use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::cache::Memory;
use crate::config::GuardConfig;

/// Turns away who keeps presenting credentials that do not hold.
///
/// Failures are counted per address in a sliding window. They are also counted per user name, with
/// a limit ten times as high, because guesses may come from many addresses; a user whose password
/// was checked lately still gets in, so that guessing does not lock people out.
#[derive(Debug)]
pub(super) struct Guard {
    failures: usize,
    window: Duration,
    seen: Mutex<Memory<Key, VecDeque<Instant>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Address(IpAddr),
    User(String),
}

/// Addresses and users remembered. Beyond, those that were quiet longest are forgotten.
const MAX_KEYS: usize = 10_000;
const USER_FACTOR: usize = 10;

impl Guard {
    pub(super) fn new(config: &GuardConfig) -> Self {
        let seen = Mutex::new(Memory::new(config.window, MAX_KEYS));
        Self { failures: config.failures.max(1), window: config.window, seen }
    }

    /// How long to stay away, if there were too many failures.
    pub(super) fn blocked(&self, key: &Key, now: Instant) -> Option<Duration> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = seen.get(key, now)?;
        let limit = self.limit(key);
        let first = *failures.get(failures.len().checked_sub(limit)?)?;
        (first + self.window).checked_duration_since(now).filter(|left| !left.is_zero())
    }

    pub(super) fn failed(&self, key: Key, now: Instant) {
        let limit = self.limit(&key);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failures = seen.take(&key, now).unwrap_or_default();
        failures.push_back(now);
        // Only the last ones can block.
        while failures.len() > limit {
            failures.pop_front();
        }
        seen.insert(key, failures, now);
    }

    fn limit(&self, key: &Key) -> usize {
        match key {
            Key::Address(_) => self.failures,
            Key::User(_) => self.failures.saturating_mul(USER_FACTOR),
        }
    }
}

impl Key {
    pub(super) fn address(ip: IpAddr) -> Self {
        Self::Address(network(ip))
    }
}

/// What one client has: whoever has one IPv6 address has 2^64 of them.
pub(crate) fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(&GuardConfig { failures: 5, window: Duration::from_secs(10) })
    }

    fn address(text: &str) -> Key {
        Key::address(text.parse().unwrap())
    }

    #[test]
    fn the_sixth_attempt_is_turned_away() {
        let (guard, start, key) = (guard(), Instant::now(), address("192.0.2.7"));
        for i in 0..5 {
            assert_eq!(guard.blocked(&key, start), None);
            guard.failed(key.clone(), start + Duration::from_secs(i));
        }
        let later = start + Duration::from_secs(4);
        assert_eq!(guard.blocked(&key, later), Some(Duration::from_secs(6)));
        assert_eq!(guard.blocked(&address("192.0.2.8"), later), None);
        assert_eq!(guard.blocked(&key, start + Duration::from_secs(10)), None);
    }

    #[test]
    fn old_failures_do_not_count() {
        let (guard, start, key) = (guard(), Instant::now(), address("192.0.2.7"));
        for i in 0..20 {
            let now = start + Duration::from_secs(3 * i);
            guard.failed(key.clone(), now);
            assert_eq!(guard.blocked(&key, now), None);
        }
    }

    #[test]
    fn one_network_is_one_address() {
        let (guard, now) = (guard(), Instant::now());
        for i in 1..=5 {
            guard.failed(address(&format!("2001:db8::{i}")), now);
        }
        assert!(guard.blocked(&address("2001:db8::9"), now).is_some());
        assert!(guard.blocked(&address("2001:db8:0:1::9"), now).is_none());
        assert_eq!(address("::ffff:192.0.2.7"), address("192.0.2.7"));
    }

    #[test]
    fn users_are_counted_over_all_addresses() {
        let (guard, now, key) = (guard(), Instant::now(), Key::User("nora".into()));
        for _ in 0..49 {
            guard.failed(key.clone(), now);
        }
        assert_eq!(guard.blocked(&key, now), None);
        guard.failed(key.clone(), now);
        assert!(guard.blocked(&key, now).is_some());
    }
}
