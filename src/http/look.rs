//! When a caller was looked at, and for which connection.

/// Names a connection within a process: its sessions have one caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConnectionId(pub(super) u64);

/// A look at a caller: for which connection, and how many reviews of rights had begun before. A later one
/// may have missed what is registered with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(super) connection: ConnectionId,
    pub(super) reviews: u64,
}
