//! What a session says to its client, before a transport gives it bytes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::recover::Recovery;
use crate::{
    change::{ChangeEvent, ClusterTime, PositionId, View},
    entity::Print,
    hub::{CloseReason, Item, Reset, Skipped, Status, Tail},
};

/// One message of a session. Transports decide how, and whether, it is said.
#[derive(Debug, Clone)]
pub(crate) enum Outgoing {
    /// The stream is live from here.
    Ready(Ready),
    /// A change, and how much of it is shown.
    Change(Arc<ChangeEvent>, View),
    /// An event of an entity.
    Envelope(Arc<Print>),
    /// A document of a snapshot, and how much of it is shown.
    Document(Arc<ChangeEvent>, View),
    /// The snapshot is whole.
    SnapshotEnd(Tail),
    /// One event could not be delivered.
    Skipped(Arc<Skipped>),
    /// Changes were or may have been missed.
    Reset(Arc<Reset>, Recovery),
    /// The source went down or came back.
    Status(Status),
    /// The credential that the client came with ends at this time, soon.
    Expiring(SystemTime),
    /// Nothing happened, and the client's position moved on, if it has one yet.
    Heartbeat(Option<PositionId>),
    /// The last message.
    Close(CloseReason),
}

/// The first frame.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    /// `None`: a snapshot comes first.
    pub(crate) id: Option<PositionId>,
    pub(crate) operation_time: ClusterTime,
    pub(crate) heartbeat: Option<Duration>,
    /// The number of the subscriber, on entity feeds.
    pub(crate) sub: Option<u64>,
}

impl Outgoing {
    /// The name of the event in the contract.
    pub(crate) fn event(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Change(_, View::Leave) => "leave",
            Self::Change(..) => "change",
            Self::Envelope(print) => print.event().name,
            Self::Document(..) => "snapshot",
            Self::SnapshotEnd(_) => "snapshot-end",
            Self::Skipped(_) => "skipped",
            Self::Reset(..) => "reset",
            Self::Status(_) => "status",
            Self::Expiring(_) => "expiring",
            Self::Heartbeat(_) => "heartbeat",
            Self::Close(_) => "close",
        }
    }

    /// The position that a client comes back with after this message, when the message moves it.
    pub(crate) fn id(&self) -> Option<&PositionId> {
        match self {
            Self::Ready(ready) => ready.id.as_ref(),
            Self::SnapshotEnd(tail) => Some(&tail.id),
            Self::Change(event, _) => Some(event.id()),
            Self::Reset(reset, _) => Some(&reset.at.id),
            Self::Heartbeat(id) => id.as_ref(),
            Self::Skipped(skipped) => Some(&skipped.id),
            // An envelope's bytes hold its id.
            Self::Envelope(_)
            | Self::Document(..)
            | Self::Status(_)
            | Self::Expiring(_)
            | Self::Close(_) => None,
        }
    }

    /// The data of everything but changes, documents and envelopes, which depend on how they are shown.
    pub(crate) fn data(&self) -> Value {
        match self {
            Self::Ready(ready) => ready.data(),
            Self::SnapshotEnd(tail) => json!({
                "id": tail.id.as_str(),
                "operationTime": timestamp_of(tail.time),
            }),
            Self::Skipped(skipped) => json!({ "reason": skipped.reason }),
            Self::Reset(reset, recovery) => reset_data(reset, recovery),
            Self::Status(status) => json!({
                "state": if status.healthy { "recovered" } else { "degraded" },
                "since": timestamp(status.since),
            }),
            Self::Expiring(at) => json!({ "expires": timestamp(*at) }),
            Self::Heartbeat(id) => json!({ "id": id.as_ref().map(PositionId::as_str) }),
            Self::Close(reason) => json!({
                "code": reason.code(),
                "reason": reason.text(),
                "reconnect": reason.reconnect(),
            }),
            Self::Change(..) | Self::Document(..) | Self::Envelope(_) => Value::Null,
        }
    }

    /// An item of the hub as a message. `recovery` is asked for when the client has to be told how.
    pub(crate) fn from_item(item: Item, recovery: impl FnOnce() -> Recovery) -> Self {
        match item {
            Item::Change(event, view) => Self::Change(event, view),
            Item::Document(event, view) => Self::Document(event, view),
            Item::SnapshotEnd(tail) => Self::SnapshotEnd(tail),
            Item::Skipped(skipped) => Self::Skipped(skipped),
            Item::Reset(reset) => Self::Reset(reset, recovery()),
            Item::Status(status) => Self::Status(Status::clone(&status)),
        }
    }
}

impl Ready {
    fn data(&self) -> Value {
        let mut data = json!({
            "id": self.id.as_ref().map(PositionId::as_str),
            "operationTime": timestamp_of(self.operation_time),
            "heartbeat": self.heartbeat.map_or(0, |every| every.as_millis() as u64),
        });
        if let Some(sub) = self.sub {
            data["sub"] = sub.into();
        }
        data
    }
}

fn timestamp_of(time: ClusterTime) -> Value {
    let bits = time.to_bits();
    json!({ "$timestamp": { "t": bits >> 32, "i": bits & 0xFFFF_FFFF } })
}

fn reset_data(reset: &Reset, recovery: &Recovery) -> Value {
    let mut recover = json!({ "link": recovery.link(), "advice": recovery.advice() });
    if let Some(links) = recovery.links() {
        recover["links"] = links.into();
    }
    json!({ "reason": reset.reason, "message": reset.message, "recover": recover })
}

/// A moment as RFC 3339.
pub(crate) fn timestamp(time: SystemTime) -> String {
    bson::DateTime::from_system_time(time).try_to_rfc3339_string().unwrap_or_default()
}
