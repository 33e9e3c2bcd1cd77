//! What a client sends: frames, unmasked and put together, bounded.

use std::io::Cursor;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tungstenite::protocol::frame::{
    FrameHeader,
    coding::{Control, Data, OpCode},
};

/// Longest payload of a control frame, by RFC 6455 §5.5.
const MAX_CONTROL: usize = 125;

/// One thing that a client said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inbound {
    /// A whole message.
    Message(Bytes),
    /// To be answered with a pong of the same payload.
    Ping(Bytes),
    /// The answer to a ping of ours.
    Pong,
    /// The client ends the conversation.
    Close,
}

/// Why a client cannot be listened to any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    /// The connection is gone; there is nobody to tell.
    #[error("the connection ended")]
    Gone,
    /// Not RFC 6455.
    #[error("protocol error")]
    Protocol,
    /// A text message that is not UTF-8.
    #[error("invalid payload data")]
    NotUtf8,
    /// Beyond the listener's bound.
    #[error("message too big")]
    TooBig,
}

impl Violation {
    /// The close code that names it.
    pub(super) fn code(self) -> Option<u16> {
        match self {
            Self::Gone => None,
            Self::Protocol => Some(1002),
            Self::NotUtf8 => Some(1007),
            Self::TooBig => Some(1009),
        }
    }
}

/// Reads from one client.
#[derive(Debug)]
pub(super) struct Listener<R> {
    io: R,
    /// Largest message, bytes.
    most: usize,
    buffer: BytesMut,
    /// A message that has begun: its kind and what came of it.
    message: Option<(Data, BytesMut)>,
}

impl<R: AsyncRead + Unpin> Listener<R> {
    /// Listens to messages of up to `most` bytes.
    pub(super) fn new(io: R, most: usize) -> Self {
        Self { io, most, buffer: BytesMut::new(), message: None }
    }

    /// The next thing that the client says.
    pub(super) async fn next(&mut self) -> Result<Inbound, Violation> {
        loop {
            let (header, payload) = self.frame().await?;
            if let Some(inbound) = self.take(&header, payload)? {
                return Ok(inbound);
            }
        }
    }

    async fn frame(&mut self) -> Result<(FrameHeader, Bytes), Violation> {
        loop {
            if let Some(frame) = self.parse()? {
                return Ok(frame);
            }
            match self.io.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Err(Violation::Gone),
                Ok(_) => {}
            }
        }
    }

    fn parse(&mut self) -> Result<Option<(FrameHeader, Bytes)>, Violation> {
        let mut cursor = Cursor::new(&self.buffer[..]);
        let parsed = FrameHeader::parse(&mut cursor).map_err(|_| Violation::Protocol)?;
        let Some((header, length)) = parsed else { return Ok(None) };
        let start = usize::try_from(cursor.position()).map_err(|_| Violation::TooBig)?;
        let length = check(&header, length, self.most)?;
        if self.buffer.len() < start + length {
            return Ok(None);
        }
        self.buffer.advance(start);
        let mut payload = self.buffer.split_to(length);
        if let Some(mask) = header.mask {
            payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        }
        Ok(Some((header, payload.freeze())))
    }

    fn take(&mut self, header: &FrameHeader, payload: Bytes) -> Result<Option<Inbound>, Violation> {
        match header.opcode {
            OpCode::Control(Control::Ping) => Ok(Some(Inbound::Ping(payload))),
            OpCode::Control(Control::Pong) => Ok(Some(Inbound::Pong)),
            OpCode::Control(Control::Close) => Ok(Some(Inbound::Close)),
            OpCode::Data(kind) => self.assemble(kind, header.is_final, &payload),
            OpCode::Control(Control::Reserved(_)) => Err(Violation::Protocol),
        }
    }

    fn assemble(
        &mut self,
        kind: Data,
        last: bool,
        payload: &[u8],
    ) -> Result<Option<Inbound>, Violation> {
        let (kind, mut message) = match (self.message.take(), kind) {
            (Some(begun), Data::Continue) => begun,
            (None, Data::Text | Data::Binary) => (kind, BytesMut::new()),
            _ => return Err(Violation::Protocol),
        };
        if message.len() + payload.len() > self.most {
            return Err(Violation::TooBig);
        }
        message.extend_from_slice(payload);
        if !last {
            self.message = Some((kind, message));
            return Ok(None);
        }
        if kind == Data::Text && std::str::from_utf8(&message).is_err() {
            return Err(Violation::NotUtf8);
        }
        Ok(Some(Inbound::Message(message.freeze())))
    }
}

/// The rules that a header can break by itself. Gives the length of the payload.
fn check(header: &FrameHeader, length: u64, most: usize) -> Result<usize, Violation> {
    let extended = header.rsv1 || header.rsv2 || header.rsv3;
    // RFC 6455 §5.1: a client masks every frame.
    if extended || header.mask.is_none() {
        return Err(Violation::Protocol);
    }
    let length = usize::try_from(length).map_err(|_| Violation::TooBig)?;
    match header.opcode {
        OpCode::Control(_) if length > MAX_CONTROL || !header.is_final => Err(Violation::Protocol),
        OpCode::Data(_) if length > most => Err(Violation::TooBig),
        _ => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_MESSAGE: usize = 64 * 1024;
    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![first, 0x80 | u8::try_from(payload.len().min(126)).unwrap()];
        if payload.len() > 125 {
            out.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes());
        }
        out.extend(MASK);
        out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
        out
    }

    async fn check(input: &[u8], expected: &[Result<Inbound, Violation>]) {
        let mut listener = Listener::new(input, MAX_MESSAGE);
        for wanted in expected {
            assert_eq!(listener.next().await, *wanted);
        }
    }

    fn message(text: &str) -> Result<Inbound, Violation> {
        Ok(Inbound::Message(Bytes::copy_from_slice(text.as_bytes())))
    }

    #[tokio::test]
    async fn whole_and_fragmented_messages_arrive_with_controls_between_them() {
        let mut input = frame(0x81, b"one");
        input.extend(frame(0x01, b"t"));
        input.extend(frame(0x89, b"ping"));
        input.extend(frame(0x80, b"wo"));
        input.extend(frame(0x8a, b""));
        input.extend(frame(0x88, b"\x03\xe8"));
        let ping = Ok(Inbound::Ping(Bytes::from("ping")));
        let expected =
            [message("one"), ping, message("two"), Ok(Inbound::Pong), Ok(Inbound::Close)];
        check(&input, &expected).await;
    }

    #[tokio::test]
    async fn what_breaks_the_protocol_is_named() {
        let unmasked = vec![0x81, 0x01, b'x'];
        let too_big = {
            let mut big = vec![0x81, 0x80 | 127];
            big.extend((MAX_MESSAGE as u64 + 1).to_be_bytes());
            big.extend(MASK);
            big
        };
        let rows = [
            (unmasked, Violation::Protocol),
            (frame(0xC1, b"x"), Violation::Protocol),
            (frame(0x80, b"x"), Violation::Protocol),
            (frame(0x83, b"x"), Violation::Protocol),
            (frame(0x8B, b"x"), Violation::Protocol),
            (frame(0x09, b"x"), Violation::Protocol),
            (frame(0x89, &[b'x'; 126]), Violation::Protocol),
            ([frame(0x01, b"x"), frame(0x81, b"y")].concat(), Violation::Protocol),
            (frame(0x81, b"\xff"), Violation::NotUtf8),
            (too_big, Violation::TooBig),
            (frame(0x81, b"abc")[..4].to_vec(), Violation::Gone),
            (Vec::new(), Violation::Gone),
        ];
        for (input, expected) in rows {
            check(&input, &[Err(expected)]).await;
        }
    }

    #[tokio::test]
    async fn fragments_together_are_bounded_too() {
        let half = vec![b'x'; MAX_MESSAGE / 2 - 1];
        let mut input = frame(0x01, &half);
        for _ in 0..2 {
            input.extend(frame(0x00, &half));
        }
        check(&input, &[Err(Violation::TooBig)]).await;
    }
}
