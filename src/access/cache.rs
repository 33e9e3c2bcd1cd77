use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// What was found out, for a while. The memory is bounded: when it is full, the oldest goes.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    ttl: Duration,
    capacity: usize,
    entries: HashMap<K, (V, Instant)>,
    /// Keys as they were written, each with its end. One that was written again is in it twice.
    order: VecDeque<(K, Instant)>,
}

impl<K: Hash + Eq + Clone, V> Memory<K, V> {
    pub(crate) fn new(ttl: Duration, capacity: usize) -> Self {
        Self { ttl, capacity, entries: HashMap::new(), order: VecDeque::new() }
    }

    pub(crate) fn get(&self, key: &K, now: Instant) -> Option<&V> {
        self.entries.get(key).filter(|(_, end)| now < *end).map(|(value, _)| value)
    }

    /// Remembers for the full time from now on.
    pub(crate) fn insert(&mut self, key: K, value: V, now: Instant) {
        if self.capacity == 0 {
            return;
        }
        let end = now + self.ttl;
        self.order.push_back((key.clone(), end));
        self.entries.insert(key, (value, end));
        while self.is_over(now) {
            self.drop_oldest();
        }
    }

    /// Takes a value out, to be changed and put back.
    pub(crate) fn take(&mut self, key: &K, now: Instant) -> Option<V> {
        self.entries.remove(key).filter(|(_, end)| now < *end).map(|(value, _)| value)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_stale = self.order.front().is_some_and(|(_, end)| *end <= now);
        is_stale || self.entries.len() > self.capacity || self.order.len() > 2 * self.capacity
    }

    fn drop_oldest(&mut self) {
        let Some((key, end)) = self.order.pop_front() else { return };
        // A later write of the same key has an end, and a place in the order, of its own.
        if self.entries.get(&key).is_some_and(|(_, current)| *current == end) {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    #[test]
    fn forgets_in_time() {
        let (mut memory, now) = (Memory::new(TTL, 10), Instant::now());
        memory.insert("a", 1, now);
        assert_eq!(memory.get(&"a", now + TTL / 2), Some(&1));
        assert_eq!(memory.get(&"a", now + TTL), None);
        memory.insert("b", 2, now + TTL);
        assert_eq!((memory.entries.len(), memory.order.len()), (1, 1));
        assert_eq!(memory.take(&"b", now + TTL), Some(2));
        assert_eq!(memory.take(&"b", now + TTL), None);
    }

    #[test]
    fn the_oldest_goes_first() {
        let (mut memory, now) = (Memory::new(TTL, 2), Instant::now());
        for (at, key) in ["a", "b", "a", "c"].into_iter().enumerate() {
            memory.insert(key, at, now + Duration::from_millis(at as u64));
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(memory.get(&"b", later), None);
        assert_eq!(memory.get(&"a", later), Some(&2));
        assert_eq!(memory.get(&"c", later), Some(&3));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (mut memory, now) = (Memory::new(TTL, 3), Instant::now());
        for i in 0..1000_u64 {
            memory.insert(i % 5, i, now + Duration::from_micros(i));
        }
        assert!(memory.entries.len() <= 3 && memory.order.len() <= 6);
        let mut none = Memory::new(TTL, 0);
        none.insert(1, 1, now);
        assert_eq!(none.get(&1, now), None);
    }
}
