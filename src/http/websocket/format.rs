//! Messages as WebSocket text: bare changes, or the envelopes of the subprotocol.

use bytes::Bytes;
use serde_json::{Value, json};

use super::wire::Outbox;
use crate::{
    change::{ChangeEvent, Shape, View},
    http::outgoing::Outgoing,
    hub::CloseReason,
};

/// The subprotocol whose messages are `{"id", "event", "data"}`.
pub(crate) const SUBPROTOCOL: &str = "tailwater.v1";

/// How a client wants its messages.
#[derive(Debug, Clone)]
pub(crate) struct WsFormat {
    /// How changes look.
    pub(crate) shape: Shape,
    /// Whether the client speaks [`SUBPROTOCOL`].
    pub(crate) enveloped: bool,
}

impl WsFormat {
    /// Queues a message. `Some`: the conversation ends with this reason.
    pub(super) fn push(&self, message: &Outgoing, outbox: &mut Outbox) -> Option<CloseReason> {
        match message {
            Outgoing::Change(event, view) => self.push_change(event, *view, outbox),
            Outgoing::Close(reason) => {
                if self.enveloped {
                    push_envelope(message, outbox);
                }
                return Some(*reason);
            }
            // Bare changes leave no room to say that some are missing.
            Outgoing::Reset(..) if !self.enveloped => return Some(CloseReason::HistoryLost),
            _ if self.enveloped => push_envelope(message, outbox),
            _ => {}
        }
        None
    }

    fn push_change(&self, event: &ChangeEvent, view: View, outbox: &mut Outbox) {
        match event.frame(&self.shape, view) {
            Ok(frame) if self.enveloped => {
                outbox.push_text(&[frame.preamble, frame.json, Bytes::from_static(b"}")]);
            }
            Ok(frame) => outbox.push_text(&[frame.json]),
            Err(error) => {
                tracing::warn!(%error, "an event cannot be encoded and is skipped");
                if self.enveloped {
                    let data = json!({ "reason": "the event is malformed" });
                    push_json(None, "skipped", &data, outbox);
                }
            }
        }
    }
}

fn push_envelope(message: &Outgoing, outbox: &mut Outbox) {
    push_json(message.id().map(|id| id.as_str()), message.event(), &message.data(), outbox);
}

fn push_json(id: Option<&str>, event: &str, data: &Value, outbox: &mut Outbox) {
    let text = json!({ "id": id, "event": event, "data": data });
    outbox.push_text(&[Bytes::from(text.to_string())]);
}
