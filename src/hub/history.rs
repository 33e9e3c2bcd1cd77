//! The recent items of one cursor, in memory: every reader is a number in it.

use std::collections::VecDeque;

use super::{Item, portion::portion};
use crate::change::{PositionId, ResumeToken};

/// Bounds of a history. When either is reached the oldest items go.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    /// Most items held.
    pub events: usize,
    /// Most bytes held, by [`Item::weight`].
    pub bytes: usize,
}

/// A window on the cursor's output. It holds every event after `floor`.
#[derive(Debug)]
pub(super) struct History {
    items: VecDeque<Item>,
    /// The number of the first item held.
    first: u64,
    bytes: usize,
    floor: ResumeToken,
    limits: HistoryLimits,
}

impl History {
    pub(super) fn new(floor: ResumeToken, limits: HistoryLimits) -> Self {
        Self { items: VecDeque::new(), first: 0, bytes: 0, floor, limits }
    }

    pub(super) fn limits(&self) -> HistoryLimits {
        self.limits
    }

    /// The number of the oldest item held.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether an item of this weight can be added without letting another go.
    pub(super) fn has_room(&self, weight: usize) -> bool {
        let fits =
            self.items.len() < self.limits.events && self.bytes + weight <= self.limits.bytes;
        fits || self.items.is_empty()
    }

    /// The number that the next item will get.
    pub(super) fn head(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(super) fn push(&mut self, item: Item) -> u64 {
        let number = self.head();
        self.bytes += item.weight();
        self.items.push_back(item);
        // The newest item always stays: readers must be able to take one that exceeds the bound alone.
        while self.items.len() > 1 && self.is_over() {
            self.evict();
        }
        number
    }

    /// Items from a number on, as many as are handed over at once. `None`: some of them are gone.
    pub(super) fn read(&self, from: u64) -> Option<impl Iterator<Item = (u64, &Item)>> {
        let start = usize::try_from(from.checked_sub(self.first)?).ok()?;
        let most = portion(self.items.iter().skip(start));
        let items = self.items.iter().enumerate().skip(start).take(most);
        Some(items.map(|(index, item)| (self.first + index as u64, item)))
    }

    /// The number of the first item after a token. `None`: events after it may be gone.
    pub(super) fn after(&self, token: &ResumeToken) -> Option<u64> {
        if *token < self.floor {
            return None;
        }
        // Items without a token stand with the event before them.
        let position = self.items.iter().rposition(|item| item.token().is_some_and(|t| t <= token));
        Some(self.first + position.map_or(0, |index| index as u64 + 1))
    }

    /// The number of the item after the one with this id, if it is held.
    pub(super) fn after_id(&self, id: &PositionId) -> Option<u64> {
        let index = self.items.iter().rposition(|item| item.id() == Some(id))?;
        Some(self.first + index as u64 + 1)
    }

    fn is_over(&self) -> bool {
        self.items.len() > self.limits.events || self.bytes > self.limits.bytes
    }

    /// Lets the oldest item go.
    pub(super) fn evict(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.first += 1;
            self.bytes -= item.weight();
            if let Some(token) = item.token() {
                self.floor = token.clone();
            }
        }
    }
}
