//! An entity feed as server-sent events.

use bytes::{BufMut, BytesMut};

use crate::{
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
    fn write(&self, message: &Outgoing, out: &mut BytesMut) {
        match message {
            Outgoing::Ready(ready) => {
                let sub = ready.sub.unwrap_or_default();
                let heartbeat = self.heartbeat;
                put(out, &[&format!(": connected sub={sub} heartbeat={heartbeat}\n\n")]);
                put_retry(out);
                // Without it, a client that is cut before anything comes has no place to come back to.
                put(out, &["id: ", ready.id.as_str(), "\n\n"]);
            }
            Outgoing::Envelope(print) => out.put_slice(print.sse()),
            Outgoing::Heartbeat(id) => put(out, &[": ping\nid: ", id.as_str(), "\n\n"]),
            Outgoing::Close(CloseReason::ServiceRestart) => {
                write_block(message, out);
                put(out, &[": server shutting down\n\n"]);
            }
            other => write_block(other, out),
        }
    }
}
