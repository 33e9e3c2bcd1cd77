//! Caps of cursors that serve one binding only: how many there are lies in the clients' hands.

use std::{collections::HashMap, sync::Arc};

use super::Slot;
use crate::{
    binding::CursorSpec,
    hub::{
        limits::{OwnLimits, Owner},
        subscribe_error::SubscribeError,
    },
};

/// A cap, the settings that raise it, and whom it counts.
type Rule = (usize, &'static str, fn(&Owner, &Owner) -> bool);

fn rules(limits: &OwnLimits) -> [Rule; 3] {
    [
        (limits.total, "total", |_, _| true),
        (limits.per_stream, "per_stream", |one, other| one.stream == other.stream),
        (limits.per_principal, "per_principal", |one, other| {
            one.principal.is_some() && one.principal == other.principal
        }),
    ]
}

/// Sees to it that one more cursor keeps the caps. Those that merely linger make room.
pub(super) fn make_room(
    slots: &mut HashMap<Arc<CursorSpec>, Arc<Slot>>,
    owner: &Owner,
    limits: &OwnLimits,
) -> Result<(), SubscribeError> {
    for (cap, name, counts) in rules(limits) {
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
