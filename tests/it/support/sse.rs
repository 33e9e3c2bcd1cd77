//! A client of server-sent events that keeps what a browser hides: comments, ids, the blocks as sent.

use std::{collections::VecDeque, net::SocketAddr};

use http_body_util::BodyExt;
use hyper::{HeaderMap, body::Incoming};
use serde_json::Value;
use tokio::time::timeout;

use super::{PATIENCE, http};

/// An open stream.
pub(crate) struct Sse {
    pub(crate) headers: HeaderMap,
    body: Incoming,
    /// What arrived and is no whole block yet; up to `searched` it holds no end of one.
    text: Vec<u8>,
    searched: usize,
    blocks: VecDeque<Block>,
    /// The first frame.
    pub(crate) ready: Block,
    /// What a browser would send when it comes back.
    pub(crate) last_id: String,
}

/// One block, as sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) comments: Vec<String>,
    pub(crate) retry: Option<String>,
}

impl Block {
    fn parse(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "" => block.comments.push(value),
                "id" => block.id = Some(value),
                "event" => block.event = Some(value),
                "retry" => block.retry = Some(value),
                "data" => assert!(block.data.replace(value).is_none(), "one data line: {text}"),
                other => panic!("unknown field {other:?} in {text:?}"),
            }
        }
        block
    }

    pub(crate) fn is(&self, event: &str) -> bool {
        self.event.as_deref() == Some(event)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.data.as_deref().unwrap()).unwrap()
    }
}

impl Sse {
    /// Opens a stream and reads its first frame, which has to be `ready`.
    pub(crate) async fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::begin(address, path, headers).await.ready().await
    }

    /// Opens a stream and reads the response's head, no more.
    pub(crate) async fn begin(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut all = vec![("accept", "text/event-stream")];
        all.extend(headers);
        let response = http::begin(address, "GET", path, &all, "").await;
        let (head, body) = response.into_parts();
        if head.status != 200 {
            let body = body.collect().await.unwrap().to_bytes();
            panic!("{path}: {} {}", head.status, String::from_utf8_lossy(&body));
        }
        Self::over(head.headers, body)
    }

    /// The same on a network that fails. `None`: there is no stream, for whatever reason.
    pub(crate) async fn try_begin(address: SocketAddr, path: &str) -> Option<Self> {
        let accept = [("accept", "text/event-stream")];
        let response = http::try_begin(address, "GET", path, &accept, "").await.ok()?;
        let (head, body) = response.into_parts();
        (head.status == 200).then(|| Self::over(head.headers, body))
    }

    fn over(headers: HeaderMap, body: Incoming) -> Self {
        Self {
            headers,
            body,
            text: Vec::new(),
            searched: 0,
            blocks: VecDeque::new(),
            ready: Block::default(),
            last_id: String::new(),
        }
    }

    /// Reads the first frame.
    pub(crate) async fn ready(mut self) -> Self {
        self.ready = self.block().await;
        assert!(self.ready.is("ready"), "{:?}", self.ready);
        self
    }

    /// The next block of any kind.
    pub(crate) async fn block(&mut self) -> Block {
        let block = timeout(PATIENCE, self.read()).await.expect("a block in time");
        block.expect("the stream goes on")
    }

    /// The next named event.
    pub(crate) async fn event(&mut self) -> Block {
        loop {
            let block = self.block().await;
            if block.event.is_some() {
                return block;
            }
        }
    }

    /// The next change, which has to be the next event.
    pub(crate) async fn change(&mut self) -> Value {
        let block = self.event().await;
        assert!(block.is("change"), "{block:?}");
        block.json()
    }

    /// The next event of a name, passing over others.
    pub(crate) async fn until(&mut self, event: &str) -> Block {
        loop {
            let block = self.event().await;
            if block.is(event) {
                return block;
            }
        }
    }

    /// Reads to the end of the body, which has to be a clean one.
    pub(crate) async fn rest(mut self) -> Vec<Block> {
        let mut rest = Vec::new();
        while let Some(block) = timeout(PATIENCE, self.read()).await.expect("an end in time") {
            rest.push(block);
        }
        rest
    }

    /// The next block; `None` when the connection has ended, in whatever way.
    pub(crate) async fn try_block(&mut self) -> Option<Block> {
        timeout(PATIENCE, self.try_read()).await.expect("a block or an end in time").ok()?
    }

    async fn read(&mut self) -> Option<Block> {
        self.try_read().await.expect("a clean end of the body")
    }

    async fn try_read(&mut self) -> Result<Option<Block>, hyper::Error> {
        loop {
            if let Some(block) = self.blocks.pop_front() {
                if let Some(id) = &block.id {
                    self.last_id.clone_from(id);
                }
                return Ok(Some(block));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let data = frame?.into_data().unwrap();
            self.text.extend_from_slice(&data);
            self.split();
        }
    }

    /// Takes the whole blocks out of what arrived.
    fn split(&mut self) {
        let mut start = 0;
        let mut at = self.searched;
        while let Some(found) = self.text[at..].windows(2).position(|two| two == b"\n\n") {
            let block = std::str::from_utf8(&self.text[start..at + found]).unwrap();
            self.blocks.push_back(Block::parse(block));
            start = at + found + 2;
            at = start;
        }
        self.text.drain(..start);
        self.searched = self.text.len().saturating_sub(1);
    }
}
