//! Why a connection ended, and why one did not begin.

/// Why a connection ended: a close reason of the contract, or what no close code tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause(&'static str);

impl Cause {
    /// The client ended the conversation in order.
    pub const CLIENT_CLOSED: Self = Self("client closed");
    /// The connection broke, or the client hung up without a word.
    pub const CLIENT_GONE: Self = Self("client gone");
    /// The client took nothing of a write for too long.
    pub const WRITE_TIMEOUT: Self = Self("write timeout");
    /// The client answered neither of two pings in a row.
    pub const PING_TIMEOUT: Self = Self("ping timeout");
    /// The client broke the rules of its protocol.
    pub const PROTOCOL: Self = Self("protocol error");
    /// The upgrade did not come about.
    pub const NO_UPGRADE: Self = Self("no upgrade");

    /// Every cause that is no close reason.
    pub const ALL: [Self; 6] = [
        Self::CLIENT_CLOSED,
        Self::CLIENT_GONE,
        Self::WRITE_TIMEOUT,
        Self::PING_TIMEOUT,
        Self::PROTOCOL,
        Self::NO_UPGRADE,
    ];

    /// A close reason, by its text in the contract.
    pub const fn reason(text: &'static str) -> Self {
        Self(text)
    }

    /// The words for it in metrics and logs.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// A cap for which somebody was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cap {
    /// Open connections in all.
    Connections,
    /// Open connections of an address.
    Address,
    /// Open streams of a principal.
    Principal,
    /// Refused requests of a caller.
    Refusals,
    /// Cursors in all.
    Cursors,
    /// Cursors that serve one binding only.
    OwnCursors,
}

impl Cap {
    /// Every cap.
    pub const ALL: [Self; 6] = [
        Self::Connections,
        Self::Address,
        Self::Principal,
        Self::Refusals,
        Self::Cursors,
        Self::OwnCursors,
    ];

    /// The word for it in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Address => "address",
            Self::Principal => "principal",
            Self::Refusals => "refusals",
            Self::Cursors => "cursors",
            Self::OwnCursors => "own_cursors",
        }
    }
}
