//! From an event to the subscribers that it reaches, without asking the others.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

use ahash::RandomState;

use super::{
    Item,
    mailbox::{Mailbox, SubscriberId},
};
use crate::{
    binding::{Images, Selection},
    change::View,
    query::{Checked, Key, Keyer, Path},
    telemetry::Tally,
};

/// Most elements of one event that are looked up at a path. An event with more is offered to everyone
/// who is indexed there.
const MOST_KEYS: usize = 4096;

/// Subscribers with a selection, found by the values they ask for.
#[derive(Debug)]
pub(super) struct Routes {
    members: HashMap<SubscriberId, Member, RandomState>,
    /// By path, then by value: who may be concerned.
    index: HashMap<Path, HashMap<Key, Vec<SubscriberId>, RandomState>, RandomState>,
    /// Subscribers that no value finds; they are asked about every event.
    scan: HashSet<SubscriberId, RandomState>,
    /// Who was left something since the last wake.
    touched: HashSet<SubscriberId, RandomState>,
    keyer: Keyer,
}

#[derive(Debug)]
struct Member {
    mailbox: Arc<Mailbox>,
    selection: Arc<Selection>,
    tally: Arc<Tally>,
    keys: Option<Vec<(Path, Key)>>,
}

impl Default for Routes {
    fn default() -> Self {
        // Values come from whoever writes documents: each index has a random state of its own.
        Self {
            members: HashMap::default(),
            index: HashMap::default(),
            scan: HashSet::default(),
            touched: HashSet::default(),
            keyer: Keyer::new(RandomState::new()),
        }
    }
}

impl Routes {
    pub(super) fn insert(
        &mut self,
        id: SubscriberId,
        mailbox: Arc<Mailbox>,
        selection: Arc<Selection>,
        tally: Arc<Tally>,
    ) {
        let keys = selection.keys(&self.keyer);
        match &keys {
            Some(keys) => {
                for (path, key) in keys {
                    let values = self.index.entry(path.clone()).or_default();
                    values.entry(*key).or_default().push(id);
                }
            }
            None => drop(self.scan.insert(id)),
        }
        tally.routed();
        self.members.insert(id, Member { mailbox, selection, tally, keys });
    }

    pub(super) fn remove(&mut self, id: SubscriberId) {
        let Some(member) = self.members.remove(&id) else { return };
        member.tally.unrouted();
        self.touched.remove(&id);
        self.scan.remove(&id);
        for (path, key) in member.keys.into_iter().flatten() {
            self.unindex(id, &path, key);
        }
    }

    /// Leaves an item with everyone it concerns. Gives those whose mailbox is overrun.
    pub(super) fn bring(&mut self, number: u64, item: &Item) -> Vec<SubscriberId> {
        if let Item::Change(event, _) = item
            && let Ok(images) = Images::of(event)
        {
            let concerned = self.concerned(&images);
            let each = |(id, view)| (id, Item::Change(event.clone(), view));
            return self.leave(number, concerned.into_iter().map(each));
        }
        let heard = self.members.iter().filter_map(|(id, member)| {
            Some((*id, item.clone().for_whom(&member.selection, &member.tally)?))
        });
        let heard: Vec<_> = heard.collect();
        self.leave(number, heard.into_iter())
    }

    fn leave(
        &mut self,
        number: u64,
        items: impl Iterator<Item = (SubscriberId, Item)>,
    ) -> Vec<SubscriberId> {
        let mut overrun = Vec::new();
        for (id, item) in items {
            let Some(member) = self.members.get(&id) else { continue };
            self.touched.insert(id);
            let change = matches!(item, Item::Change(..));
            if !member.mailbox.leave(number, item) {
                member.mailbox.wake();
                overrun.push(id);
            } else if change {
                member.tally.brought();
            }
        }
        overrun
    }

    /// Wakes everyone who was left something, or everyone.
    pub(super) fn wake(&mut self, everybody: bool) {
        let touched = std::mem::take(&mut self.touched);
        let members = &self.members;
        if everybody {
            members.values().for_each(|member| member.mailbox.wake());
        } else {
            touched
                .iter()
                .filter_map(|id| members.get(id))
                .for_each(|member| member.mailbox.wake());
        }
    }

    /// Whom an event concerns, and how much of it.
    fn concerned(&self, images: &Images<'_>) -> Vec<(SubscriberId, View)> {
        let mut candidates: Vec<_> = self.scan.iter().copied().collect();
        for (path, values) in &self.index {
            self.look_up(path, values, images.after(), &mut candidates);
        }
        // One subscriber may be found by several values.
        candidates.sort_unstable();
        candidates.dedup();
        // Equal keys do not prove equal values: the selection decides.
        let judged = candidates.into_iter().filter_map(|id| {
            let member = self.members.get(&id)?;
            let verdict = member.selection.verdict(images);
            verdict.map(|view| (id, view)).map_err(|sieve| member.tally.kept(sieve)).ok()
        });
        judged.collect()
    }

    fn look_up(
        &self,
        path: &Path,
        values: &HashMap<Key, Vec<SubscriberId>, RandomState>,
        event: &Checked<'_>,
        candidates: &mut Vec<SubscriberId>,
    ) {
        let mut looked_up = 0;
        let outcome = self.keyer.keys_at(path, event, |key| {
            looked_up += 1;
            if looked_up > MOST_KEYS {
                return ControlFlow::Break(());
            }
            candidates.extend(values.get(&key).into_iter().flatten());
            ControlFlow::Continue(())
        });
        if outcome.is_ok() && looked_up > MOST_KEYS {
            candidates.extend(values.values().flatten());
        }
    }

    fn unindex(&mut self, id: SubscriberId, path: &Path, key: Key) {
        let Some(values) = self.index.get_mut(path) else { return };
        if let Some(subscribers) = values.get_mut(&key) {
            subscribers.retain(|known| *known != id);
            if subscribers.is_empty() {
                values.remove(&key);
            }
        }
        if values.is_empty() {
            self.index.remove(path);
        }
    }
}
