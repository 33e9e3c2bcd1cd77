//! Server-sent events, out of bytes as they arrive. The format is that of the HTML standard, section
//! 9.2; a line ends with a line feed, with or without a carriage return before it.

use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

/// Bytes that may be on their way in: some of the largest events that MongoDB has.
const MAX_PENDING: usize = 256 * 1024 * 1024;

/// One block.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// `None` in a block that only moves the id.
    pub(super) data: Option<String>,
}

/// What arrived and was not taken yet.
#[derive(Debug, Default)]
pub(super) struct Events {
    pending: Vec<u8>,
    /// Up to here there is no end of a line.
    searched: usize,
    event: Event,
}

impl Events {
    /// Adds bytes.
    ///
    /// # Errors
    /// When a line does not end.
    pub(super) fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        if self.pending.len() + bytes.len() > MAX_PENDING {
            bail!("a line of more than {MAX_PENDING} bytes is no event");
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole block. Comments and `retry` are passed over.
    pub(super) fn next(&mut self) -> Option<Event> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if event.id.is_some() || event.data.is_some() {
                    return Some(event);
                }
            }
            self.field(&line);
        }
        None
    }

    fn line(&mut self) -> Option<String> {
        let found = self.pending[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.pending.len();
            return None;
        };
        let rest = self.pending.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.pending, rest);
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    fn field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.event.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.event.name),
            "data" => match &mut self.event.data {
                None => self.event.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => {}
        }
    }
}

impl Event {
    /// The form of a WebSocket message.
    pub(super) fn to_json(&self) -> String {
        let data = self.data.as_deref().unwrap_or_default();
        let data = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
        json!({ "id": self.id, "event": self.name, "data": data }).to_string()
    }

    /// Whether a `close` invites to come back.
    pub(super) fn reconnect(&self) -> bool {
        self.member("reconnect").and_then(|value| value.as_bool()).unwrap_or(true)
    }

    /// The time between heartbeats that a `ready` announces.
    pub(super) fn heartbeat(&self) -> Option<Duration> {
        let named = (self.name == "ready").then(|| self.member("heartbeat")).flatten()?;
        named.as_u64().filter(|millis| *millis > 0).map(Duration::from_millis)
    }

    fn member(&self, name: &str) -> Option<Value> {
        let mut data: Value = serde_json::from_str(self.data.as_deref()?).ok()?;
        data.get_mut(name).map(Value::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, piece: usize) -> Vec<Event> {
        let mut events = Events::default();
        let mut read = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            events.push(bytes).unwrap();
            read.extend(std::iter::from_fn(|| events.next()));
        }
        read
    }

    fn event(id: Option<&str>, name: &str, data: Option<&str>) -> Event {
        Event { id: id.map(str::to_owned), name: name.to_owned(), data: data.map(str::to_owned) }
    }

    #[test]
    fn blocks_are_read_however_they_are_cut() {
        let text = "retry: 1\n\n: comment\nid: a\nevent: change\ndata: {\"ü\": 1}\n\nid:b\n\n\
                    data:x\r\ndata: y\r\n\r\nevent: no data\n\ndata\n\nid: cut";
        let expected = [
            event(Some("a"), "change", Some("{\"ü\": 1}")),
            event(Some("b"), "", None),
            event(None, "", Some("x\ny")),
            event(None, "", Some("")),
        ];
        for piece in [1, 2, 7, text.len()] {
            assert_eq!(read(text, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn frames_are_printed_as_messages() {
        let change = event(Some("a"), "change", Some("{\"x\": 1}"));
        assert_eq!(change.to_json(), r#"{"id":"a","event":"change","data":{"x":1}}"#);
        let plain = event(None, "change", Some("text"));
        assert_eq!(plain.to_json(), r#"{"id":null,"event":"change","data":"text"}"#);
        for (data, reconnect) in
            [(r#"{"reconnect": false}"#, false), (r#"{"reconnect": true}"#, true), ("{}", true)]
        {
            assert_eq!(event(None, "close", Some(data)).reconnect(), reconnect, "{data}");
        }
    }
}
