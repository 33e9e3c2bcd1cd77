//! A socket on which a stalled write ends the connection.
//!
//! A response body is not polled while its socket is stalled, so the deadline has to live here.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

/// Wraps a socket. Reads are not bounded: a silent client is a healthy one.
#[derive(Debug)]
pub(super) struct Deadline<I> {
    io: I,
    limit: Duration,
    /// Armed while a write waits for the peer.
    waiting: Option<Pin<Box<Sleep>>>,
    stalled: Stalled,
}

/// Tells whoever writes to a socket that its end was a stalled write.
#[derive(Debug, Clone, Default)]
pub(super) struct Stalled(pub(super) Arc<AtomicBool>);

impl<I> Deadline<I> {
    pub(super) fn new(io: I, limit: Duration, stalled: Stalled) -> Self {
        Self { io, limit, waiting: None, stalled }
    }

    /// Passes the outcome of a write on, unless the peer has taken nothing for too long.
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let limit = self.limit;
        let waiting =
            self.waiting.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + limit)));
        ready!(waiting.as_mut().poll(cx));
        self.stalled.0.store(true, Ordering::Relaxed);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Deadline<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Deadline<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.judge(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.judge(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(cx);
        self.judge(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_shutdown(cx);
        self.judge(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_fails_after_the_limit() {
        let (near, _far) = tokio::io::duplex(4);
        let limit = Duration::from_secs(30);
        let stalled = Stalled::default();
        let mut socket = Deadline::new(near, limit, stalled.clone());
        let start = Instant::now();
        let error = socket.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), limit);
        assert!(stalled.0.load(Ordering::Relaxed), "and its writer learns why");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_progress_is_progress() {
        use tokio::io::AsyncReadExt;
        let (near, mut far) = tokio::io::duplex(1);
        let limit = Duration::from_secs(30);
        let mut socket = Deadline::new(near, limit, Stalled::default());
        let reading = tokio::spawn(async move {
            let mut byte = [0];
            for _ in 0..5 {
                tokio::time::sleep(limit / 2).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        });
        socket.write_all(b"slow!").await.unwrap();
        reading.await.unwrap();
    }
}
