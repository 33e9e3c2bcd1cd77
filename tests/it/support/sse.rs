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
    text: String,
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
        let mut all = vec![("accept", "text/event-stream")];
        all.extend(headers);
        let response = http::begin(address, "GET", path, &all, "").await;
        let (head, body) = response.into_parts();
        if head.status != 200 {
            let body = body.collect().await.unwrap().to_bytes();
            panic!("{path}: {} {}", head.status, String::from_utf8_lossy(&body));
        }
        let mut sse = Self {
            headers: head.headers,
            body,
            text: String::new(),
            blocks: VecDeque::new(),
            ready: Block::default(),
            last_id: String::new(),
        };
        sse.ready = sse.block().await;
        assert!(sse.ready.is("ready"), "{:?}", sse.ready);
        sse
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

    async fn read(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.blocks.pop_front() {
                if let Some(id) = &block.id {
                    self.last_id.clone_from(id);
                }
                return Some(block);
            }
            let frame = self.body.frame().await?.expect("a clean end of the body");
            let data = frame.into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                self.blocks.push_back(Block::parse(block));
                self.text = rest.to_owned();
            }
        }
    }
}
