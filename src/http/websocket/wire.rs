//! Frames on their way out: small heads, shared bodies, written together.

use std::{collections::VecDeque, io::IoSlice};

use bytes::{Buf, Bytes, BytesMut};
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// Longest frame. Longer messages go out in fragments, so that a pong can pass between them.
const FRAGMENT: usize = 64 * 1024;

/// Most bytes offered to one write: after each, control frames get their turn.
const WRITE: usize = 64 * 1024;

/// Most slices offered to one write.
const SLICES: usize = 64;

/// Frames in the order in which they leave.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    frames: VecDeque<Wire>,
    /// Part of the first frame has left: nothing may be put before its rest.
    started: bool,
    pushed: usize,
}

#[derive(Debug)]
struct Wire {
    parts: VecDeque<Bytes>,
}

impl Outbox {
    /// Queues a text message, given in parts that are sent as one.
    pub(super) fn push_text(&mut self, parts: &[Bytes]) {
        let parts = parts.iter().filter(|part| !part.is_empty()).cloned().collect();
        self.push_message(Data::Text, parts);
    }

    /// Queues a binary message.
    pub(super) fn push_binary(&mut self, bytes: Bytes) {
        self.push_message(Data::Binary, VecDeque::from([bytes]));
    }

    fn push_message(&mut self, kind: Data, mut rest: VecDeque<Bytes>) {
        let mut opcode = OpCode::Data(kind);
        loop {
            let body = take(&mut rest, FRAGMENT);
            let frame = Wire::new(opcode, rest.is_empty(), body);
            self.pushed += frame.len();
            self.frames.push_back(frame);
            opcode = OpCode::Data(Data::Continue);
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Puts a control frame before everything that has not begun to leave.
    pub(super) fn push_control(&mut self, control: Control, payload: Bytes) {
        let frame = Wire::new(OpCode::Control(control), true, VecDeque::from([payload]));
        let at = usize::from(self.started).min(self.frames.len());
        self.frames.insert(at, frame);
    }

    /// Queues the frame that ends the conversation.
    pub(super) fn push_close(&mut self, code: u16, reason: &str) {
        let mut payload = BytesMut::with_capacity(2 + reason.len());
        payload.extend_from_slice(&code.to_be_bytes());
        payload.extend_from_slice(reason.as_bytes());
        let body = VecDeque::from([payload.freeze()]);
        self.frames.push_back(Wire::new(OpCode::Control(Control::Close), true, body));
    }

    /// Drops every frame that has not begun to leave.
    pub(super) fn clear_unstarted(&mut self) {
        self.frames.truncate(usize::from(self.started));
    }

    /// Bytes of messages that were ever queued.
    pub(super) fn pushed(&self) -> usize {
        self.pushed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// What the next write may take.
    pub(super) fn slices(&self) -> Vec<IoSlice<'_>> {
        let mut bytes = 0;
        let parts = self.frames.iter().flat_map(|frame| &frame.parts);
        let fitting = parts.take_while(|part| {
            let fits = bytes < WRITE;
            bytes += part.len();
            fits
        });
        fitting.take(SLICES).map(|part| IoSlice::new(part)).collect()
    }

    /// The socket took `count` bytes.
    pub(super) fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let Some(frame) = self.frames.front_mut() else { return };
            let Some(part) = frame.parts.front_mut() else {
                self.frames.pop_front();
                continue;
            };
            let taken = count.min(part.len());
            part.advance(taken);
            count -= taken;
            self.started = true;
            if part.is_empty() {
                frame.parts.pop_front();
            }
            if frame.parts.iter().all(Bytes::is_empty) {
                self.frames.pop_front();
                self.started = false;
            }
        }
    }
}

impl Wire {
    fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    fn new(opcode: OpCode, last: bool, body: VecDeque<Bytes>) -> Self {
        let length = body.iter().map(Bytes::len).sum();
        let mut parts = body;
        parts.push_front(head(opcode, last, length));
        Self { parts }
    }
}

/// The head of an unmasked frame, as servers send them.
fn head(opcode: OpCode, last: bool, length: usize) -> Bytes {
    let mut head = Vec::with_capacity(10);
    head.push(u8::from(opcode) | if last { 0x80 } else { 0 });
    match length {
        0..=125 => head.push(length as u8),
        126..=0xFFFF => {
            head.push(126);
            head.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            head.push(127);
            head.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    head.into()
}

/// Splits the first `most` bytes off a list of parts, without copying.
fn take(parts: &mut VecDeque<Bytes>, most: usize) -> VecDeque<Bytes> {
    let mut taken = VecDeque::new();
    let mut room = most;
    while room > 0 {
        let Some(part) = parts.front_mut() else { break };
        let piece = part.split_to(room.min(part.len()));
        room -= piece.len();
        if part.is_empty() {
            parts.pop_front();
        }
        taken.push_back(piece);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes everything, `step` bytes at a time.
    fn drain(outbox: &mut Outbox, step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while !outbox.is_empty() {
            let offered: Vec<u8> = outbox.slices().iter().flat_map(|s| s.to_vec()).collect();
            let count = step.min(offered.len());
            out.extend_from_slice(&offered[..count]);
            outbox.advance(count);
        }
        out
    }

    #[test]
    fn lengths_take_the_shortest_form() {
        for (length, expected) in [(0, 2), (125, 2), (126, 4), (0xFFFF, 4), (0x1_0000, 10)] {
            assert_eq!(head(OpCode::Data(Data::Text), true, length).len(), expected, "{length}");
        }
    }

    #[test]
    fn a_message_in_parts_is_one_frame_however_it_is_written() {
        for step in [1, 3, 1000] {
            let mut outbox = Outbox::default();
            outbox.push_text(&[Bytes::from("{\"a\":"), Bytes::new(), Bytes::from("1}")]);
            assert_eq!(drain(&mut outbox, step), b"\x81\x07{\"a\":1}");
        }
    }

    #[test]
    fn a_pong_passes_between_the_fragments_of_a_large_message() {
        let mut outbox = Outbox::default();
        outbox.push_text(&[Bytes::from(vec![b'x'; FRAGMENT * 2 + 1])]);
        outbox.advance(5);
        outbox.push_control(Control::Pong, Bytes::from("hi"));
        let out = drain(&mut outbox, 4096);
        let pong = FRAGMENT + 10 - 5;
        assert_eq!(out[pong..pong + 4], *b"\x8a\x02hi");
        // The rest: a full continuation and the last one.
        assert_eq!(out[pong + 4], 0x00);
        assert_eq!(out[pong + 4 + 10 + FRAGMENT..], *b"\x80\x01x");
    }
}
