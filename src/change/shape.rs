//! How an event looks when it leaves: what clients with equal shapes receive is encoded once.

use std::{fmt, sync::Arc};

use bson::{RawDocument, RawDocumentBuf};

use super::View;
use crate::json::JsonMode;

/// Everything that decides the bytes of an event for a client. Compared by value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// How BSON becomes JSON.
    pub mode: JsonMode,
    /// Whose frames they are.
    pub dialect: Dialect,
    /// What is cut out or put in before; `None`: nothing.
    pub reshaping: Option<Reshaping>,
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

/// Turns an event into what a client is shown of it.
pub trait Reshape: fmt::Debug + Send + Sync {
    /// The event as shown. `None`: that cannot be told, and nothing is shown.
    fn reshape(&self, event: &RawDocument) -> Option<RawDocumentBuf>;
}

/// A [`Reshape`] with an identity: equal identities reshape equally.
#[derive(Clone, Debug)]
pub struct Reshaping {
    identity: Arc<[u8]>,
    how: Arc<dyn Reshape>,
}

impl Reshaping {
    /// `identity` spells everything that `how` depends on.
    pub fn new(identity: Vec<u8>, how: Arc<dyn Reshape>) -> Self {
        Self { identity: identity.into(), how }
    }

    /// See [`Reshape::reshape`].
    pub fn reshape(&self, event: &RawDocument) -> Option<RawDocumentBuf> {
        self.how.reshape(event)
    }
}

impl PartialEq for Reshaping {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Reshaping {}

/// What is left of an event in a view, before it is reshaped. `None`: all of it.
pub(super) fn reduce(event: &RawDocument, view: View) -> Option<RawDocumentBuf> {
    let kept: &[&str] = match view {
        View::Whole => return None,
        View::Current => return Some(without_history(event)),
        View::Gone => &["operationType", "ns", "clusterTime", "wallTime"],
        View::Leave => &["ns", "clusterTime", "wallTime"],
    };
    let mut reduced = RawDocumentBuf::new();
    if view == View::Leave {
        reduced.append(bson::cstr!("operationType"), "leave");
    }
    for field in event {
        let Ok((name, value)) = field else { break };
        if kept.contains(&name.as_str()) {
            reduced.append(name, value);
        } else if name.as_str() == "documentKey" {
            reduced.append(name, id_only(event));
        }
    }
    Some(reduced)
}

/// The key without the values of a shard key, which may be hidden fields.
fn id_only(event: &RawDocument) -> RawDocumentBuf {
    let mut key = RawDocumentBuf::new();
    let id = event.get_document("documentKey").ok().and_then(|key| key.get("_id").ok().flatten());
    if let Some(id) = id {
        key.append(bson::cstr!("_id"), id);
    }
    key
}

fn without_history(event: &RawDocument) -> RawDocumentBuf {
    const HISTORY: [&str; 2] = ["updateDescription", "fullDocumentBeforeChange"];
    let mut reduced = RawDocumentBuf::new();
    for field in event {
        let Ok((name, value)) = field else { break };
        if !HISTORY.contains(&name.as_str()) {
            reduced.append(name, value);
        }
    }
    reduced
}
