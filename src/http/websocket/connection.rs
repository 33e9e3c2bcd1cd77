//! One client's socket after the handshake: listening and speaking, in one task.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, WriteHalf, split},
    sync::{Notify, mpsc},
    time::{Instant, Sleep, sleep_until, timeout},
};
use tungstenite::protocol::frame::coding::Control;

use super::{
    format::{Queued, WsFormat},
    inbound::{Inbound, Listener, Violation},
    own::Own,
    subscriptions::{Follows, Subscriptions},
    wire::Outbox,
};
use crate::{backoff::jitter, http::outgoing::Outgoing, hub::CloseReason, telemetry::Cause};

/// How long a closing peer may take to answer the close frame.
const CLOSING: Duration = Duration::from_secs(2);

/// Pings in a row that may go unanswered; the next one is not sent, the connection is dropped.
const UNANSWERED_PINGS: u32 = 2;

/// All that a socket is about, before it speaks.
pub(super) struct Conversation {
    pub(super) own: Own,
    pub(super) format: WsFormat,
    /// Streams that the client opens besides; clients without the subprotocol cannot.
    pub(super) subscriptions: Option<Subscriptions>,
    /// Where the client's messages go. `None`: they are ignored.
    pub(super) requests: Option<mpsc::Sender<Bytes>>,
    /// How long a write may take before the peer counts as gone.
    pub(super) write_timeout: Duration,
    /// Largest message of the client, bytes.
    pub(super) inbound_message: usize,
}

/// What the listening half asks of the speaking half.
#[derive(Debug, Default)]
struct Desk {
    /// The newest ping that wants a pong; older ones need none (RFC 6455 §5.5.3).
    pong: Mutex<Option<Bytes>>,
    asked: Notify,
    /// Pings since the last pong.
    unanswered: AtomicU32,
    /// Where messages go.
    requests: Option<mpsc::Sender<Bytes>>,
}

/// How a conversation came to its end.
enum Ended {
    /// We sent a close frame.
    Spoken,
    /// The peer takes no more bytes, or shows no sign of life.
    Dead(Cause),
    /// The client closed, or cannot be listened to any longer.
    Heard(Option<Violation>),
}

impl Ended {
    fn cause(&self) -> Cause {
        match self {
            // The reason was noted when it was queued.
            Self::Spoken | Self::Heard(None) => Cause::CLIENT_CLOSED,
            Self::Dead(cause) => *cause,
            Self::Heard(Some(Violation::Gone)) => Cause::CLIENT_GONE,
            Self::Heard(Some(Violation::TooBig)) => CloseReason::MessageTooBig.into(),
            Self::Heard(Some(Violation::Protocol | Violation::NotUtf8)) => Cause::PROTOCOL,
        }
    }
}

/// Serves a client until either side ends the conversation. A write that takes too long ends it too.
pub(super) async fn serve<I>(io: I, conversation: Conversation)
where
    I: AsyncRead + AsyncWrite + Send + Unpin,
{
    let (read, write) = split(io);
    let desk = Desk { requests: conversation.requests.clone(), ..Desk::default() };
    let listener = Listener::new(read, conversation.inbound_message);
    let mut speaker = Speaker::new(write, conversation);
    let mut listening = std::pin::pin!(listen(listener, &desk));
    let ended = tokio::select! {
        ended = speaker.speak(&desk) => ended,
        violation = &mut listening => Ended::Heard(violation),
    };
    speaker.own.ends(ended.cause());
    match ended {
        // The peer's own close frame ends the conversation in order.
        Ended::Spoken => drop(timeout(CLOSING, listening).await),
        Ended::Dead(_) | Ended::Heard(Some(Violation::Gone)) => return,
        Ended::Heard(None) => speaker.answer_close(1000, "").await,
        Ended::Heard(Some(violation)) => {
            speaker.answer_close(violation.code().unwrap_or(1002), &violation.to_string()).await;
        }
    }
    drop(timeout(CLOSING, speaker.io.shutdown()).await);
}

/// Hears the client until it closes (`None`) or cannot be heard any more.
async fn listen<R: AsyncRead + Unpin>(mut listener: Listener<R>, desk: &Desk) -> Option<Violation> {
    loop {
        match listener.next().await {
            Ok(Inbound::Ping(payload)) => desk.answer(payload),
            Ok(Inbound::Pong) => desk.unanswered.store(0, Ordering::Relaxed),
            Ok(Inbound::Message(message)) => desk.ask(message).await,
            Ok(Inbound::Close) => return None,
            Err(violation) => return Some(violation),
        }
    }
}

struct Speaker<I> {
    io: WriteHalf<I>,
    own: Own,
    format: WsFormat,
    subscriptions: Option<Subscriptions>,
    write_timeout: Duration,
    outbox: Outbox,
    messages: Vec<Outgoing>,
    ping: Pin<Box<Sleep>>,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Speaker<I> {
    fn new(io: WriteHalf<I>, conversation: Conversation) -> Self {
        let Conversation { own, format, subscriptions, write_timeout, .. } = conversation;
        let ping = Box::pin(sleep_until(next_ping(&own)));
        let (outbox, messages) = (Outbox::default(), Vec::new());
        Self { io, own, format, subscriptions, write_timeout, outbox, messages, ping }
    }

    /// Says what the session says, until it has said everything.
    async fn speak(&mut self, desk: &Desk) -> Ended {
        loop {
            let over = tokio::select! {
                more = self.own.next(&mut self.messages) => self.queue() || !more,
                follows = others(&mut self.subscriptions, &mut self.outbox) => match follows {
                    Follows::Nothing => false,
                    Follows::Renewal(expiry) => {
                        self.own.renew(expiry);
                        false
                    }
                    Follows::End(reason) => self.queue_end(reason),
                },
                () = desk.asked.notified() => false,
                () = &mut self.ping => match self.queue_ping(desk) {
                    true => false,
                    false => return Ended::Dead(Cause::PING_TIMEOUT),
                },
            };
            if let Err(error) = self.flush(desk).await {
                let stalled = error.kind() == std::io::ErrorKind::TimedOut;
                return Ended::Dead(if stalled {
                    Cause::WRITE_TIMEOUT
                } else {
                    Cause::CLIENT_GONE
                });
            }
            if over {
                return Ended::Spoken;
            }
        }
    }

    /// The end of one stream that is the end of all.
    fn queue_end(&mut self, reason: CloseReason) -> bool {
        self.messages.push(Outgoing::Close(reason));
        self.queue()
    }

    /// Ends the conversation from the client's side: what has not begun to leave stays.
    async fn answer_close(&mut self, code: u16, reason: &str) {
        self.outbox.clear_unstarted();
        self.outbox.push_close(code, reason);
        let quiet = Desk::default();
        drop(timeout(CLOSING, self.flush(&quiet)).await);
    }

    /// Frames the session's messages. True: the last one was a close.
    fn queue(&mut self) -> bool {
        for message in self.messages.drain(..) {
            let queued = self.format.push(&message, &mut self.outbox);
            self.own.said(&message, queued != Queued::Unsayable);
            if let Queued::Last(reason) = queued {
                self.own.ends(reason.into());
                self.outbox.push_close(reason.code(), reason.text());
                return true;
            }
        }
        false
    }

    /// False: the peer has not answered for too long.
    fn queue_ping(&mut self, desk: &Desk) -> bool {
        let next = next_ping(&self.own);
        self.ping.as_mut().reset(next);
        if desk.unanswered.fetch_add(1, Ordering::Relaxed) >= UNANSWERED_PINGS {
            return false;
        }
        self.outbox.push_control(Control::Ping, Bytes::new());
        true
    }

    /// Writes everything queued; pongs pass in between.
    async fn flush(&mut self, desk: &Desk) -> std::io::Result<()> {
        loop {
            if let Some(payload) = desk.take_pong() {
                self.outbox.push_control(Control::Pong, payload);
            }
            if self.outbox.is_empty() {
                break;
            }
            let written = timeout(self.write_timeout, self.write()).await;
            let count = written.map_err(|_| std::io::ErrorKind::TimedOut)??;
            if count == 0 {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            self.own.sent(count);
            self.outbox.advance(count);
            if !self.outbox.is_empty() {
                // A socket that takes everything at once must not keep us from hearing the client.
                tokio::task::yield_now().await;
            }
        }
        timeout(self.write_timeout, self.io.flush())
            .await
            .map_err(|_| std::io::ErrorKind::TimedOut)?
    }

    async fn write(&mut self) -> std::io::Result<usize> {
        let slices = self.outbox.slices();
        let io = &mut self.io;
        poll_fn(|cx| Pin::new(&mut *io).poll_write_vectored(cx, &slices)).await
    }
}

/// What the other streams of the socket say; never anything when there cannot be any.
async fn others(subscriptions: &mut Option<Subscriptions>, outbox: &mut Outbox) -> Follows {
    match subscriptions {
        Some(subscriptions) => subscriptions.next(outbox).await,
        None => std::future::pending().await,
    }
}

fn next_ping(own: &Own) -> Instant {
    let never = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + own.heartbeat().map_or(never, |every| jitter(every, 0.9, 1.1))
}

impl Desk {
    fn answer(&self, payload: Bytes) {
        *self.pong.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
        self.asked.notify_one();
    }

    /// Hands a message on; waits while the speaking half has too many.
    async fn ask(&self, message: Bytes) {
        if let Some(requests) = &self.requests {
            // Nobody takes it: the conversation is ending.
            drop(requests.send(message).await);
        }
    }

    fn take_pong(&self) -> Option<Bytes> {
        self.pong.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
