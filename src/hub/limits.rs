//! How much a hub may hold.

use std::time::Duration;

use super::{history::HistoryLimits, mailbox::MailboxLimits};

/// Bounds of a hub.
#[derive(Debug, Clone, Copy)]
pub struct HubLimits {
    /// Most shared cursors at a time; a further one is refused.
    pub cursors: usize,
    /// Most of them that serve one binding only.
    pub own: OwnLimits,
    /// Most catch-up cursors at a time; a further one waits. All together hold in memory what one
    /// history may.
    pub catch_ups: usize,
    /// Most snapshots that are read at a time; a further one waits.
    pub snapshots: usize,
    /// How long a cursor outlives its last subscriber.
    pub linger: Duration,
    /// How long a client waits for a cursor to open.
    pub open_timeout: Duration,
    /// Longest JSON text of an event, bytes; a longer one is skipped.
    pub event: usize,
    /// The recent events of each cursor.
    pub history: HistoryLimits,
    /// What waits for one subscriber.
    pub mailbox: MailboxLimits,
}

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
