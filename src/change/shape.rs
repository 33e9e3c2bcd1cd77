//! How an event looks when it leaves: what clients with equal shapes receive is encoded once.

use crate::json::JsonMode;

/// Everything that decides the bytes of an event for a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// How BSON becomes JSON.
    pub mode: JsonMode,
    /// Whose frames they are.
    pub dialect: Dialect,
}

/// The frame conventions of a deployment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dialect {
    /// The contract of `docs/protocol.md`.
    #[default]
    Tailwater,
    /// RESTHeart's frames to the letter: raw resume tokens as ids, `change` events only.
    RestHeart,
}
