//! A client that never gives up: comes back after every fault, with its id, and records what it sees.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt;
use rand::{Rng, rngs::StdRng};
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::{
    journal::{Journal, LAST},
    verdict::{Seen, Wants},
    world::World,
};
use crate::support::{client::Transport, sse::Sse, websocket::Socket};

/// Several heartbeats: a connection that says nothing for so long is dead.
const SILENCE: Duration = Duration::from_secs(3);

/// What one client is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    pub(super) transport: Transport,
    /// The tag that it asks for; `None`: all.
    pub(super) tag: Option<char>,
    /// How long it takes over a frame now and then.
    pub(super) dawdles: Option<Duration>,
}

impl Habits {
    /// What a client with these habits is to be told.
    pub(super) fn wants(self, resets: usize) -> Wants {
        Wants { tag: self.tag, notices: self.transport != Transport::Plain, resets }
    }
}

pub(super) struct Watcher {
    pub(super) habits: Habits,
    pub(super) seen: Arc<Mutex<Vec<Seen>>>,
    pub(super) journal: Arc<Journal>,
    pub(super) rng: StdRng,
    /// What it would come back with.
    pub(super) last_id: Option<String>,
}

/// An open stream.
enum Stream {
    Sse(Sse),
    Socket(Socket, Transport),
}

/// One frame: its name, its id and its data.
struct Frame {
    event: String,
    id: Option<String>,
    data: Value,
}

impl Watcher {
    /// Watches until it has seen the last write that it asked for.
    pub(super) async fn run(&mut self, world: &World) {
        loop {
            let address = world.address(self.rng.random_range(0..World::REPLICAS));
            let opened = timeout(SILENCE, self.open(address)).await;
            if let Ok(Some(stream)) = opened
                && self.read(stream).await
            {
                return;
            }
            sleep(Duration::from_millis(self.rng.random_range(10..200))).await;
        }
    }

    async fn open(&self, address: SocketAddr) -> Option<Stream> {
        let mut path = match self.habits.tag {
            Some(tag) => format!("/d/c/_streams/tag?t={tag}"),
            None => "/d/c/_streams/all".to_owned(),
        };
        if let Some(id) = &self.last_id {
            path += if path.contains('?') { "&" } else { "?" };
            path += &format!("lastEventId={id}");
        }
        let protocol = match self.habits.transport {
            Transport::Sse => return Some(Stream::Sse(Sse::try_begin(address, &path).await?)),
            Transport::Plain => None,
            Transport::Enveloped => Some("tailwater.v1"),
        };
        let socket = Socket::try_open(address, &path, protocol).await.ok()?;
        Some(Stream::Socket(socket, self.habits.transport))
    }

    /// True: it has seen its last write.
    async fn read(&mut self, mut stream: Stream) -> bool {
        // A plain socket says nothing before the first change: the response was the signal.
        if self.habits.transport == Transport::Plain {
            self.note(Seen::Began { due: self.journal.due() });
            if self.journal.is_complete() {
                return true;
            }
        }
        while let Ok(Some(frame)) = timeout(SILENCE, stream.next()).await {
            if frame.id.is_some() && frame.event != "ready" {
                self.last_id.clone_from(&frame.id);
            }
            if self.look_at(frame) {
                return true;
            }
            if let Some(dawdles) = self.habits.dawdles
                && self.rng.random_bool(0.01)
            {
                sleep(dawdles).await;
            }
        }
        false
    }

    fn look_at(&mut self, frame: Frame) -> bool {
        match frame.event.as_str() {
            "ready" if self.last_id.is_some() => {
                if frame.id != self.last_id {
                    self.note(Seen::Odd("ready has another id than was asked for".to_owned()));
                }
                self.note(Seen::Resumed);
            }
            "ready" => {
                self.last_id = frame.id;
                self.note(Seen::Began { due: self.journal.due() });
            }
            "change" => {
                let Some(n) = number(&frame.data) else {
                    self.note(Seen::Odd(format!("a foreign change: {}", frame.data)));
                    return false;
                };
                self.note(Seen::Event { n, id: frame.id });
                let document = &frame.data["fullDocument"];
                let tag = self.habits.tag.unwrap_or(LAST).to_string();
                return document["last"] == true && document["t"] == tag;
            }
            "skipped" => self.note(Seen::Skipped),
            "reset" => self.note(Seen::Reset { due: self.journal.due() }),
            "heartbeat" | "status" | "close" => {}
            other => self.note(Seen::Odd(format!("{other}: {}", frame.data))),
        }
        false
    }

    fn note(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }
}

/// The number of the write that a change shows. An update's document is looked up later and may be newer.
fn number(change: &Value) -> Option<i64> {
    let updated = &change["updateDescription"]["updatedFields"]["n"];
    updated.as_i64().or_else(|| change["fullDocument"]["n"].as_i64())
}

impl Frame {
    fn named(event: &str, id: Option<String>, data: Value) -> Self {
        Self { event: event.to_owned(), id, data }
    }
}

impl Stream {
    /// The next frame; `None` when the connection has ended, in whatever way.
    async fn next(&mut self) -> Option<Frame> {
        match self {
            Self::Sse(sse) => {
                let block = sse.try_block().await?;
                let data = block.data.as_deref().map(serde_json::from_str).transpose().ok()?;
                let event = block.event.as_deref().unwrap_or("heartbeat");
                Some(Frame::named(event, block.id, data.unwrap_or_default()))
            }
            Self::Socket(socket, transport) => {
                let text = match socket.stream.next().await?.ok()? {
                    Message::Text(text) => text,
                    Message::Close(_) => return None,
                    _ => return Some(Frame::named("heartbeat", None, Value::Null)),
                };
                let mut message: Value = serde_json::from_str(&text).ok()?;
                if *transport == Transport::Plain {
                    return Some(Frame::named("change", None, message));
                }
                let id = message["id"].as_str().map(str::to_owned);
                let data = message["data"].take();
                Some(Frame::named(message["event"].as_str()?, id, data))
            }
        }
    }
}
