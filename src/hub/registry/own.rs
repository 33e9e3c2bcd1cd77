//! Caps of cursors that serve one binding only: how many there are lies in the clients' hands.

use std::{collections::HashMap, sync::Arc};

use super::{Slot, SubscribeError};
use crate::binding::CursorSpec;

/// On whose account a cursor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The stream, by collection and name.
    pub stream: String,
    /// Who opened it; strangers by their address. `None`: callers are not told apart.
    pub principal: Option<String>,
}

/// Most cursors that serve one binding only.
#[derive(Debug, Clone, Copy)]
pub struct OwnLimits {
    /// In all.
    pub total: usize,
    /// Of one stream.
    pub per_stream: usize,
    /// Of one principal.
    pub per_principal: usize,
}

/// A cap, the settings that raise it, and whom it counts.
type Rule = (usize, &'static str, fn(&Owner, &Owner) -> bool);

impl OwnLimits {
    fn rules(&self) -> [Rule; 3] {
        [
            (self.total, "total", |_, _| true),
            (self.per_stream, "per_stream", |one, other| one.stream == other.stream),
            (self.per_principal, "per_principal", |one, other| {
                one.principal.is_some() && one.principal == other.principal
            }),
        ]
    }
}

/// Sees to it that one more cursor keeps the caps. Those that merely linger make room.
pub(super) fn make_room(
    slots: &mut HashMap<Arc<CursorSpec>, Arc<Slot>>,
    owner: &Owner,
    limits: &OwnLimits,
) -> Result<(), SubscribeError> {
    for (cap, name, counts) in limits.rules() {
        let alike = |slot: &Slot| slot.owner.as_ref().is_some_and(|other| counts(owner, other));
        if slots.values().filter(|slot| alike(slot)).count() < cap {
            continue;
        }
        let idle = slots.iter().find(|(_, slot)| alike(slot) && *slot.leases() == 0);
        let idle = idle.map(|(spec, _)| spec.clone());
        let slot = idle.and_then(|spec| slots.remove(&spec));
        slot.ok_or(SubscribeError::OwnFull(cap, name))?.stop.cancel();
    }
    Ok(())
}
