//! An entity feed as server-sent events.

use bytes::{BufMut, BytesMut};

use crate::{
    change::PositionId,
    entity::Heartbeat,
    http::{
        outgoing::Outgoing,
        sse::{Voice, put, put_retry, write_block},
    },
    hub::CloseReason,
};

/// Writes the frames of one reader.
#[derive(Debug)]
pub(super) struct FeedVoice {
    pub(super) heartbeat: Heartbeat,
}

impl Voice for FeedVoice {
    fn write(&self, message: &Outgoing, out: &mut BytesMut) -> bool {
        match message {
            Outgoing::Ready(ready) => {
                let sub = ready.sub.unwrap_or_default();
                let heartbeat = self.heartbeat;
                put(out, &[&format!(": connected sub={sub} heartbeat={heartbeat}\n\n")]);
                put_retry(out);
                // Without it, a client that is cut before anything comes has no place to come back to.
                put_id(ready.id.as_ref(), out);
            }
            Outgoing::Envelope(print) => out.put_slice(print.sse()),
            Outgoing::Heartbeat(id) => {
                put(out, &[": ping\n"]);
                put_id(id.as_ref(), out);
            }
            Outgoing::Close(CloseReason::ServiceRestart) => {
                write_block(message, out);
                put(out, &[": server shutting down\n\n"]);
            }
            other => write_block(other, out),
        }
        true
    }
}

/// The end of a block that fires no event, and moves the place to come back to.
fn put_id(id: Option<&PositionId>, out: &mut BytesMut) {
    if let Some(id) = id {
        put(out, &["id: ", id.as_str(), "\n"]);
    }
    put(out, &["\n"]);
}
