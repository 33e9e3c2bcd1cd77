//! Server-sent events: messages as blocks, joined into as few writes as possible.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use rand::Rng;
use serde_json::json;
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

/// Puts messages on the wire.
pub(crate) trait Voice: Send + Unpin + 'static {
    /// Appends a message. False: it is a change that cannot be encoded, which is said instead.
    fn write(&self, message: &Outgoing, out: &mut BytesMut) -> bool;
}

impl Voice for SseFormat {
    fn write(&self, message: &Outgoing, out: &mut BytesMut) -> bool {
        if let Outgoing::Change(event, view) = message {
            return self.write_change(event, *view, out);
        }
        match self.shape.dialect {
            Dialect::Tailwater => self.write_contract(message, out),
            Dialect::RestHeart => write_restheart(message, out),
        }
        true
    }
}

impl SseFormat {
    fn write_contract(&self, message: &Outgoing, out: &mut BytesMut) {
        match message {
            Outgoing::Document(event, view) => self.write_document(event, *view, out),
            Outgoing::Heartbeat(id) if !self.named_heartbeat => {
                put(out, &[": heartbeat\n"]);
                if let Some(id) = id {
                    put(out, &["id: ", id.as_str(), "\n"]);
                }
                put(out, &["\n"]);
            }
            Outgoing::Envelope(print) => out.put_slice(print.sse()),
            Outgoing::Ready(_) => {
                put_retry(out);
                write_block(message, out);
            }
            _ => write_block(message, out),
        }
    }

    fn write_document(&self, event: &ChangeEvent, view: View, out: &mut BytesMut) {
        if let Some(document) = shown(event, &self.shape, view) {
            put(out, &["event: snapshot\ndata: "]);
            out.put_slice(&document);
            put(out, &["\n\n"]);
        }
    }

    fn write_change(&self, event: &ChangeEvent, view: View, out: &mut BytesMut) -> bool {
        match event.frame(&self.shape, view) {
            Ok(frame) => {
                out.put_slice(&frame.sse);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "an event cannot be encoded and is skipped");
                let data = json!({ "reason": error.notice() }).to_string();
                let id = event.id().as_str();
                match self.shape.dialect {
                    Dialect::Tailwater => {
                        put(out, &["id: ", id, "\nevent: skipped\ndata: ", &data, "\n\n"]);
                    }
                    Dialect::RestHeart => put_notice("skipped", &data, out),
                }
                false
            }
        }
    }
}

/// Changes and comments; and what must not be kept silent, by a name that RESTHeart's clients pass over.
fn write_restheart(message: &Outgoing, out: &mut BytesMut) {
    match message {
        Outgoing::Heartbeat(_) | Outgoing::Status(_) => out.put_slice(b":\n"),
        Outgoing::Reset(..) | Outgoing::Skipped(_) => {
            put_notice(message.event(), &message.data().to_string(), out);
        }
        _ => {}
    }
}

/// Without id: those of RESTHeart's dialect are resume tokens, and another is no place to come back to.
fn put_notice(event: &str, data: &str, out: &mut BytesMut) {
    put(out, &["event:", event, "\ndata:", data, "\n\n"]);
}

/// The data of a document in a snapshot. `None`: nothing of it is shown, or it is malformed.
pub(crate) fn shown(event: &ChangeEvent, shape: &Shape, view: View) -> Option<Vec<u8>> {
    let document = event.document(shape, view).unwrap_or_else(|error| {
        tracing::warn!(%error, "a document cannot be encoded and is left out of a snapshot");
        None
    })?;
    Some([br#"{"document":"#, document.as_slice(), b"}"].concat())
}

/// A block: `id` when the message moves the client's position, the event's name, one line of JSON.
pub(super) fn write_block(message: &Outgoing, out: &mut BytesMut) {
    if let Some(id) = message.id() {
        put(out, &["id: ", id.as_str(), "\n"]);
    }
    put(out, &["event: ", message.event(), "\ndata: ", &message.data().to_string(), "\n\n"]);
}

/// Tells the client how long to wait before it comes back; to be followed by the rest of a block.
pub(crate) fn put_retry(out: &mut BytesMut) {
    let retry = rand::rng().random_range(RETRY_MS);
    put(out, &["retry: ", &retry.to_string(), "\n"]);
}

/// Headers of a response that is a stream of events.
pub(crate) fn response<S: Speak>(speaker: S) -> Response {
    let mut response = Response::new(axum::body::Body::new(SseBody::new(speaker)));
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

pub(crate) fn put(out: &mut BytesMut, parts: &[&str]) {
    parts.iter().for_each(|part| out.put_slice(part.as_bytes()));
}

/// Whoever speaks on a response.
pub(crate) trait Speak: Send + 'static {
    /// Waits for something to say and appends its bytes. False: that was the last of it.
    fn speak(&mut self, out: &mut BytesMut) -> impl Future<Output = bool> + Send;
}

/// One session in its format.
pub(crate) struct Speaker<V> {
    session: Session,
    format: V,
    messages: Vec<Outgoing>,
}

impl<V: Voice> Speaker<V> {
    pub(crate) fn new(session: Session, format: V) -> Self {
        Self { session, format, messages: Vec::new() }
    }
}

impl<V: Voice> Speak for Speaker<V> {
    async fn speak(&mut self, out: &mut BytesMut) -> bool {
        let more = self.session.next(&mut self.messages).await;
        let before = out.len();
        for message in self.messages.drain(..) {
            let encoded = self.format.write(&message, out);
            self.session.said(&message, encoded);
        }
        self.session.sent(out.len() - before);
        more
    }
}

/// The body of a response: pulls from whoever speaks, so a stalled socket stops the pulling.
pub(crate) struct SseBody<S> {
    /// Waits for the speaker, which the future owns meanwhile. One allocation for the body's life.
    turn: ReusableBoxFuture<'static, Box<Turn<S>>>,
    over: bool,
}

/// What travels through the future and back.
struct Turn<S> {
    speaker: S,
    out: BytesMut,
    more: bool,
}

impl<S: Speak> SseBody<S> {
    /// Gives a speaker the word.
    pub(crate) fn new(speaker: S) -> Self {
        let turn = Box::new(Turn { speaker, out: BytesMut::new(), more: true });
        Self { turn: ReusableBoxFuture::new(wait(turn)), over: false }
    }
}

async fn wait<S: Speak>(mut turn: Box<Turn<S>>) -> Box<Turn<S>> {
    turn.more = turn.speaker.speak(&mut turn.out).await;
    turn
}

impl<S: Speak> Body for SseBody<S> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        while !self.over {
            let mut turn = ready!(self.turn.poll(cx));
            let out = std::mem::take(&mut turn.out);
            self.over = !turn.more;
            self.turn.set(wait(turn));
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.freeze()))));
            }
        }
        Poll::Ready(None)
    }
}
