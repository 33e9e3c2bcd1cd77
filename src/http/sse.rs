//! Server-sent events: messages as blocks, joined into as few writes as possible.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use rand::Rng;
use tokio_util::sync::ReusableBoxFuture;

use super::{outgoing::Outgoing, session::Session};
use crate::change::{ChangeEvent, Dialect, Shape, View};

/// How a client wants its events.
#[derive(Debug, Clone)]
pub(crate) struct SseFormat {
    /// How changes look.
    pub(crate) shape: Shape,
    /// Heartbeats as named events instead of comments.
    pub(crate) named_heartbeat: bool,
}

/// Bounds of the first reconnection delay, milliseconds. Wide, so that a restart does not bring
/// everybody back at once.
const RETRY_MS: std::ops::RangeInclusive<u32> = 500..=6000;

impl SseFormat {
    /// Appends a message.
    pub(crate) fn write(&self, message: &Outgoing, out: &mut BytesMut) {
        match self.shape.dialect {
            Dialect::Tailwater => self.write_contract(message, out),
            Dialect::RestHeart => self.write_restheart(message, out),
        }
    }

    fn write_contract(&self, message: &Outgoing, out: &mut BytesMut) {
        match message {
            Outgoing::Change(event, view) => self.write_change(event, *view, out),
            Outgoing::Heartbeat(id) if !self.named_heartbeat => {
                put(out, &[": heartbeat\nid: ", id.as_str(), "\n\n"]);
            }
            Outgoing::Ready(_) => {
                let retry = rand::rng().random_range(RETRY_MS);
                put(out, &["retry: ", &retry.to_string(), "\n"]);
                write_block(message, out);
            }
            _ => write_block(message, out),
        }
    }

    /// Nothing but changes and comments.
    fn write_restheart(&self, message: &Outgoing, out: &mut BytesMut) {
        match message {
            Outgoing::Change(event, view) => self.write_change(event, *view, out),
            Outgoing::Heartbeat(_) | Outgoing::Status(_) => out.put_slice(b":\n"),
            _ => {}
        }
    }

    fn write_change(&self, event: &ChangeEvent, view: View, out: &mut BytesMut) {
        match event.frame(&self.shape, view) {
            Ok(frame) => out.put_slice(&frame.sse),
            Err(error) => {
                tracing::warn!(%error, "an event cannot be encoded and is skipped");
                out.put_slice(b"event: skipped\ndata: {\"reason\":\"the event is malformed\"}\n\n");
            }
        }
    }
}

/// A block: `id` when the message moves the client's position, the event's name, one line of JSON.
fn write_block(message: &Outgoing, out: &mut BytesMut) {
    if let Some(id) = message.id() {
        put(out, &["id: ", id.as_str(), "\n"]);
    }
    put(out, &["event: ", message.event(), "\ndata: ", &message.data().to_string(), "\n\n"]);
}

fn put(out: &mut BytesMut, parts: &[&str]) {
    parts.iter().for_each(|part| out.put_slice(part.as_bytes()));
}

/// The body of a response: pulls from the session, so a stalled socket stops the pulling.
pub(crate) struct SseBody {
    /// Waits for the session, which the future owns meanwhile. One allocation for the body's life.
    turn: ReusableBoxFuture<'static, Box<Turn>>,
    over: bool,
    format: SseFormat,
}

/// What travels through the future and back.
struct Turn {
    session: Session,
    messages: Vec<Outgoing>,
    more: bool,
}

impl SseBody {
    /// Speaks for a session.
    pub(crate) fn new(session: Session, format: SseFormat) -> Self {
        let turn = Box::new(Turn { session, messages: Vec::new(), more: true });
        Self { turn: ReusableBoxFuture::new(wait(turn)), over: false, format }
    }
}

async fn wait(mut turn: Box<Turn>) -> Box<Turn> {
    turn.more = turn.session.next(&mut turn.messages).await;
    turn
}

impl Body for SseBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        while !self.over {
            let mut turn = ready!(self.turn.poll(cx));
            let mut out = BytesMut::new();
            let messages = turn.messages.drain(..);
            messages.for_each(|message| self.format.write(&message, &mut out));
            self.over = !turn.more;
            self.turn.set(wait(turn));
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.freeze()))));
            }
        }
        Poll::Ready(None)
    }
}
