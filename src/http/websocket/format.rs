//! Messages as WebSocket text: bare changes, or the envelopes of the subprotocol.

use std::time::SystemTime;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    request::{Reference, Refused},
    wire::Outbox,
};
use crate::{
    change::{ChangeEvent, Shape, View},
    entity::Print,
    envelope::Body,
    http::{
        outgoing::{Outgoing, timestamp},
        sse::shown,
    },
    hub::CloseReason,
    json::JsonError,
};

/// How a client wants its messages.
#[derive(Debug, Clone)]
pub(crate) struct WsFormat {
    /// How changes look.
    pub(crate) shape: Shape,
    /// Whether the client speaks the subprotocol.
    pub(crate) enveloped: bool,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    /// It is queued, or the client's conventions have no word for it.
    Said,
    /// It is a change that cannot be encoded; that is queued where there is a word for it.
    Unsayable,
    /// The conversation ends with this reason.
    Last(CloseReason),
}

impl WsFormat {
    /// Queues a message.
    pub(super) fn push(&self, message: &Outgoing, outbox: &mut Outbox) -> Queued {
        match message {
            Outgoing::Change(event, view) => return self.push_change(event, *view, outbox),
            Outgoing::Envelope(print) => self.push_envelope_of(print, outbox),
            Outgoing::Document(event, view) => self.push_document(event, *view, END, outbox),
            Outgoing::Close(reason) => {
                if self.enveloped {
                    push_envelope(message, END, outbox);
                }
                return Queued::Last(*reason);
            }
            // Bare changes leave no room to say that some are missing.
            Outgoing::Reset(..) if !self.enveloped => {
                return Queued::Last(CloseReason::HistoryLost);
            }
            _ if self.enveloped => push_envelope(message, END, outbox),
            _ => {}
        }
        Queued::Said
    }

    /// Queues a message of a stream that has a name on its socket.
    pub(super) fn push_of(
        &self,
        reference: &Reference,
        message: &Outgoing,
        outbox: &mut Outbox,
    ) -> Queued {
        let end = Bytes::from(format!(",\"ref\":{}}}", reference.as_json()));
        match message {
            Outgoing::Change(event, view) => return self.push_enveloped(event, *view, end, outbox),
            Outgoing::Document(event, view) => self.push_document(event, *view, end, outbox),
            _ => push_envelope(message, end, outbox),
        }
        Queued::Said
    }

    /// Bare, or in a message of the subprotocol; Avro is binary where it is bare.
    fn push_envelope_of(&self, print: &Print, outbox: &mut Outbox) {
        let event = print.event();
        if self.enveloped {
            let head = format!(r#"{{"id":"{}","event":"{}","data":"#, event.id, event.name);
            let parts = [Bytes::from(head), print.json().clone(), Bytes::from_static(b"}")];
            return outbox.push_text(&parts);
        }
        match &event.body {
            Body::Text(json) => outbox.push_text(std::slice::from_ref(json)),
            Body::Binary(bytes) => outbox.push_binary(bytes.clone()),
        }
    }

    fn push_document(&self, event: &ChangeEvent, view: View, end: Bytes, outbox: &mut Outbox) {
        if let Some(document) = shown(event, &self.shape, view) {
            let start = Bytes::from_static(br#"{"id":null,"event":"snapshot","data":"#);
            outbox.push_text(&[start, document.into(), end]);
        }
    }

    fn push_change(&self, event: &ChangeEvent, view: View, outbox: &mut Outbox) -> Queued {
        if self.enveloped {
            return self.push_enveloped(event, view, END, outbox);
        }
        match event.frame(&self.shape, view) {
            Ok(frame) => outbox.push_text(&[frame.json]),
            Err(error) => {
                warn(&error);
                return Queued::Unsayable;
            }
        }
        Queued::Said
    }

    fn push_enveloped(
        &self,
        event: &ChangeEvent,
        view: View,
        end: Bytes,
        outbox: &mut Outbox,
    ) -> Queued {
        match event.frame(&self.shape, view) {
            Ok(frame) => outbox.push_text(&[frame.preamble, frame.json, end]),
            Err(error) => {
                warn(&error);
                let data = json!({ "reason": error.notice() });
                push_json(Some(event.id().as_str()), "skipped", &data, end, outbox);
                return Queued::Unsayable;
            }
        }
        Queued::Said
    }
}

/// What ends an envelope that names no stream.
const END: Bytes = Bytes::from_static(b"}");

fn warn(error: &JsonError) {
    tracing::warn!(%error, "an event cannot be encoded and is skipped");
}

/// Tells a client that what it asked for is not to be had.
pub(super) fn push_error(refused: &Refused, outbox: &mut Outbox) {
    let data = json!({ "status": refused.status, "message": refused.message });
    let reference = refused.reference.as_ref().map_or("null", Reference::as_json);
    let text = format!("{{\"event\":\"error\",\"data\":{data},\"ref\":{reference}}}");
    outbox.push_text(&[text.into()]);
}

/// Tells a client that its newer credential counts from now on, and until when.
pub(super) fn push_authorized(
    reference: &Reference,
    expiry: Option<SystemTime>,
    outbox: &mut Outbox,
) {
    let data = json!({ "expires": expiry.map(timestamp) });
    let reference = reference.as_json();
    let text = format!("{{\"event\":\"authorized\",\"data\":{data},\"ref\":{reference}}}");
    outbox.push_text(&[text.into()]);
}

fn push_envelope(message: &Outgoing, end: Bytes, outbox: &mut Outbox) {
    let id = message.id().map(|id| id.as_str());
    push_json(id, message.event(), &message.data(), end, outbox);
}

fn push_json(id: Option<&str>, event: &str, data: &Value, end: Bytes, outbox: &mut Outbox) {
    let id = json!(id);
    let text = format!("{{\"id\":{id},\"event\":\"{event}\",\"data\":{data}");
    outbox.push_text(&[text.into(), end]);
}
