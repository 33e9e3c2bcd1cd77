//! Why a session ends: the one table of close codes.

use crate::telemetry::Cause;

/// A reason to end a session. WebSocket close frames and SSE `close` events carry the same codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The connection reached its maximum age.
    GoingAway,
    /// The caller may not do this.
    Forbidden,
    /// A client's message exceeds the bound.
    MessageTooBig,
    /// A fault of ours.
    InternalError,
    /// The process is draining.
    ServiceRestart,
    /// A cap is reached.
    TryAgainLater,
    /// The credential's time is over.
    CredentialsExpired,
    /// The caller's rights were changed.
    AccessChanged,
    /// The definition or the collection was removed.
    StreamGone,
    /// The client read too slowly for the history to hold what it missed.
    SlowConsumer,
    /// The definition was changed.
    StreamRedefined,
    /// Changes were missed, and the client's transport has no other way to say so.
    HistoryLost,
}

impl CloseReason {
    /// Every reason, in the order of the codes.
    pub const ALL: [Self; 12] = [
        Self::GoingAway,
        Self::Forbidden,
        Self::MessageTooBig,
        Self::InternalError,
        Self::ServiceRestart,
        Self::TryAgainLater,
        Self::CredentialsExpired,
        Self::AccessChanged,
        Self::StreamGone,
        Self::SlowConsumer,
        Self::StreamRedefined,
        Self::HistoryLost,
    ];

    /// The WebSocket close code.
    pub fn code(self) -> u16 {
        self.row().0
    }

    /// The reason text that goes with the code.
    pub fn text(self) -> &'static str {
        self.row().1
    }

    /// Whether the client should come back.
    pub fn reconnect(self) -> bool {
        self.row().2
    }

    fn row(self) -> (u16, &'static str, bool) {
        match self {
            Self::GoingAway => (1001, "going away", true),
            Self::Forbidden => (1008, "forbidden", false),
            Self::MessageTooBig => (1009, "message too big", false),
            Self::InternalError => (1011, "internal error", true),
            Self::ServiceRestart => (1012, "service restart", true),
            Self::TryAgainLater => (1013, "try again later", true),
            Self::CredentialsExpired => (4401, "credentials expired", true),
            Self::AccessChanged => (4403, "access changed", true),
            Self::StreamGone => (4404, "stream gone", false),
            Self::SlowConsumer => (4408, "slow consumer", true),
            Self::StreamRedefined => (4409, "stream redefined", true),
            Self::HistoryLost => (4410, "history lost", true),
        }
    }
}

impl From<CloseReason> for Cause {
    fn from(reason: CloseReason) -> Self {
        Self::reason(reason.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the contract, row by row.
    #[test]
    fn the_contract_lists_every_code_with_its_reason() {
        let contract = include_str!("../../docs/protocol.md");
        for reason in CloseReason::ALL {
            let row = format!("| {} | `{}`", reason.code(), reason.text());
            let line = contract.lines().find(|line| line.starts_with(&row));
            let line = line.unwrap_or_else(|| panic!("no row {row}"));
            let says_no = line.trim_end().ends_with("| no |");
            assert_eq!(says_no, !reason.reconnect(), "{line}");
        }
    }
}
