//! Several sessions on one response: each event says whose it is, and each id is a place of them all.

use bytes::{BufMut, BytesMut};
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use serde_json::{Value, json};

use crate::{
    change::{ChangeEvent, Shape, View},
    http::{
        joined::Joined,
        lifetime::{Lifetime, Tick},
        outgoing::Outgoing,
        record::Record,
        session::Session,
        sse::{Speak, put, put_retry, shown},
        turn::{Turn, is_of_connection},
    },
    hub::CloseReason,
};

/// Speaks for the streams of a connection, fairly: a stream that has spoken waits behind the others.
pub(super) struct ManySpeaker {
    waiting: FuturesUnordered<BoxFuture<'static, Box<Turn<usize>>>>,
    streams: Vec<Stream>,
    joined: Joined,
    lifetime: Lifetime,
    named_heartbeat: bool,
    /// What an operator sees of the connection; its streams have records of their own.
    record: Record,
    /// Whether the client was told how long to stay away when it is cut.
    told_retry: bool,
}

/// One stream, as it is told of.
struct Stream {
    /// Its name as JSON text.
    name: String,
    shape: Shape,
    is_open: bool,
    /// Its source is down, so that its position stands still.
    is_degraded: bool,
}

impl ManySpeaker {
    pub(super) fn new<'a>(
        streams: impl Iterator<Item = (&'a &'a str, Shape)>,
        joined: Joined,
        lifetime: Lifetime,
        named_heartbeat: bool,
        record: Record,
    ) -> Self {
        let stream = |(name, shape): (&&str, Shape)| Stream {
            name: json!(name).to_string(),
            shape,
            is_open: false,
            is_degraded: false,
        };
        Self {
            waiting: FuturesUnordered::new(),
            streams: streams.map(stream).collect(),
            joined,
            lifetime,
            named_heartbeat,
            record,
            told_retry: false,
        }
    }

    /// Gives a stream its session.
    pub(super) fn add(&mut self, index: usize, session: Session) {
        if let Some(stream) = self.streams.get_mut(index) {
            stream.is_open = true;
            self.waiting.push(Box::pin(Box::new(Turn::new(index, session)).take()));
        }
    }

    /// Writes what a stream says. `Some`: the connection ends.
    fn write_turn(&mut self, turn: &mut Turn<usize>, out: &mut BytesMut) -> Option<CloseReason> {
        for message in std::mem::take(&mut turn.messages) {
            let before = out.len();
            let encoded = self.write(turn.key, &message, out);
            turn.said(&message, encoded, out.len() - before);
            if let Outgoing::Close(reason) = message {
                self.end(turn.key);
                if !self.streams.iter().any(|stream| stream.is_open) {
                    self.record.ends(reason.into());
                }
                return is_of_connection(reason).then_some(reason);
            }
        }
        None
    }

    /// False: it is a change that cannot be encoded, which is said instead.
    fn write(&mut self, index: usize, message: &Outgoing, out: &mut BytesMut) -> bool {
        if let Some(id) = message.id() {
            self.joined.set(index, Some(id.clone()));
        }
        let Some(stream) = self.streams.get_mut(index) else { return true };
        match message {
            // Told of all streams together, when the connection has its heartbeat.
            Outgoing::Heartbeat(_) => stream.is_degraded = false,
            Outgoing::Change(event, view) => {
                let id = self.joined.id();
                return stream.write_change(&id, event, *view, message.event(), out);
            }
            Outgoing::Document(event, view) => stream.write_document(event, *view, out),
            _ => {
                if let Outgoing::Status(status) = message {
                    stream.is_degraded = !status.healthy;
                }
                if !std::mem::replace(&mut self.told_retry, true) {
                    put_retry(out);
                }
                if message.id().is_some() {
                    put(out, &["id: ", &self.joined.id(), "\n"]);
                }
                stream.write_data(
                    message.id().map(|id| id.as_str()),
                    message.event(),
                    &message.data(),
                    out,
                );
            }
        }
        true
    }

    /// A position that stands still is no sign of life: what is down says so itself.
    fn beat(&self, out: &mut BytesMut) {
        if self.streams.iter().all(|stream| stream.is_degraded || !stream.is_open) {
            return;
        }
        let id = self.joined.id();
        if self.named_heartbeat {
            put(out, &["id: ", &id, "\nevent: heartbeat\ndata: {\"id\":\"", &id, "\"}\n\n"]);
        } else {
            put(out, &[": heartbeat\nid: ", &id, "\n\n"]);
        }
    }

    fn end(&mut self, index: usize) {
        if let Some(stream) = self.streams.get_mut(index) {
            stream.is_open = false;
        }
    }

    /// Tells each stream that is still open what concerns the connection.
    fn tell_all(&self, message: &Outgoing, out: &mut BytesMut) {
        for stream in self.streams.iter().filter(|stream| stream.is_open) {
            stream.write_data(None, message.event(), &message.data(), out);
        }
    }

    /// The last words.
    fn close_all(&mut self, reason: CloseReason, out: &mut BytesMut) {
        self.tell_all(&Outgoing::Close(reason), out);
        self.streams.iter_mut().for_each(|stream| stream.is_open = false);
    }
}

impl Speak for ManySpeaker {
    async fn speak(&mut self, out: &mut BytesMut) -> bool {
        let before = out.len();
        let ended = tokio::select! {
            biased;
            tick = self.lifetime.tick() => match tick {
                Tick::Beat => {
                    self.beat(out);
                    None
                }
                Tick::Expiring(at) => {
                    self.tell_all(&Outgoing::Expiring(at), out);
                    None
                }
                Tick::End(reason) => Some(reason),
            },
            turn = self.waiting.next() => {
                let Some(mut turn) = turn else { return false };
                let ended = self.write_turn(&mut turn, out);
                if self.streams.get(turn.key).is_some_and(|stream| stream.is_open) {
                    self.waiting.push(Box::pin(turn.take()));
                }
                ended
            }
        };
        if let Some(reason) = ended {
            self.record.ends(reason.into());
            self.close_all(reason, out);
        }
        self.record.sent(out.len() - before);
        self.streams.iter().any(|stream| stream.is_open)
    }
}

impl Stream {
    fn write_document(&self, event: &ChangeEvent, view: View, out: &mut BytesMut) {
        if let Some(document) = shown(event, &self.shape, view) {
            put(
                out,
                &["event: snapshot\ndata: {\"stream\":", &self.name, ",\"id\":null,\"data\":"],
            );
            out.put_slice(&document);
            put(out, &["}\n\n"]);
        }
    }

    fn write_change(
        &self,
        id: &str,
        event: &ChangeEvent,
        view: View,
        name: &str,
        out: &mut BytesMut,
    ) -> bool {
        match event.frame(&self.shape, view) {
            Ok(frame) => {
                put(out, &["id: ", id, "\nevent: ", name, "\ndata: {\"stream\":", &self.name]);
                put(out, &[",\"id\":\"", event.id().as_str(), "\",\"data\":"]);
                out.put_slice(&frame.json);
                put(out, &["}\n\n"]);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "an event cannot be encoded and is skipped");
                let data = json!({ "reason": error.notice() });
                put(out, &["id: ", id, "\n"]);
                self.write_data(Some(event.id().as_str()), "skipped", &data, out);
                false
            }
        }
    }

    fn write_data(&self, id: Option<&str>, event: &str, data: &Value, out: &mut BytesMut) {
        let (id, data) = (json!(id).to_string(), data.to_string());
        put(out, &["event: ", event, "\ndata: {\"stream\":", &self.name, ",\"id\":", &id]);
        put(out, &[",\"data\":", &data, "}\n\n"]);
    }
}
