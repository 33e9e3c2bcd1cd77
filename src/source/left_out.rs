//! Failing events ahead of a reader: its cursor leaves them out, and they are reported where they would
//! come.

use std::{collections::BTreeMap, sync::Arc};

use super::{Known, poison::Poison};
use crate::change::ResumeToken;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// What was found before, here or by others who read the same.
    known: Known,
    ahead: BTreeMap<ResumeToken, Arc<Poison>>,
}

impl LeftOut {
    pub(super) fn new(known: Known) -> Self {
        Self { known, ahead: BTreeMap::new() }
    }

    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ahead.is_empty()
    }

    pub(super) fn tokens(&self) -> Vec<ResumeToken> {
        self.ahead.keys().cloned().collect()
    }

    /// Adds what has become known beyond a token. False: nothing has.
    pub(super) fn renew(&mut self, newest: &ResumeToken) -> bool {
        let before = self.ahead.len();
        let known = self.known.after(newest);
        self.ahead.extend(known.into_iter().map(|poison| (poison.token.clone(), poison)));
        self.ahead.len() > before
    }

    pub(super) fn add(&mut self, poison: Arc<Poison>) {
        self.known.add(poison.clone());
        self.ahead.insert(poison.token.clone(), poison);
    }

    /// The first one, if that has been passed.
    pub(super) fn take_first(
        &mut self,
        is_passed: impl Fn(&ResumeToken) -> bool,
    ) -> Option<Arc<Poison>> {
        let first = self.ahead.first_entry()?;
        is_passed(first.key()).then(|| first.remove())
    }

    pub(super) fn clear(&mut self) {
        self.ahead.clear();
    }
}
