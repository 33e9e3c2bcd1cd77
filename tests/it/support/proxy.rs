//! A TCP proxy that does to a connection what networks do: delay, stalls, lost peers, resets.

mod pump;

use std::{net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

use self::pump::pump;

/// One way through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// What happens to the bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Flow {
    #[default]
    Pass,
    /// Nothing is read: the sender's buffers fill, and then its writes wait.
    Stall,
    /// All is read and nothing arrives, the end included: the receiver knows of no fault.
    Swallow,
}

/// What the proxy does now, to open connections too.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wire {
    up: Flow,
    down: Flow,
    /// Added to each piece of up to 4 KiB, in each direction.
    delay: Duration,
    /// In each direction.
    bytes_per_second: Option<u32>,
    /// New connections are closed at once.
    refuse: bool,
    /// A word on its way up that becomes another one of the same length: the server does not know it.
    rename: Option<(&'static str, &'static str)>,
}

/// How all connections end; `number` tells one such order from the next.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    number: u64,
    reset: bool,
}

/// A proxy before one server. Dropping it ends all its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    wire: watch::Sender<Wire>,
    cut: watch::Sender<Cut>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of the loopback interface and connects to `server` for each client.
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (wire, cut) = (watch::Sender::default(), watch::Sender::default());
        let accepting = tokio::spawn(accept(listener, server, wire.subscribe(), cut.subscribe()));
        Self { address, wire, cut, accepting }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets one direction pass, stall or vanish.
    pub(crate) fn set_flow(&self, direction: Direction, flow: Flow) {
        self.wire.send_modify(|wire| match direction {
            Direction::Up => wire.up = flow,
            Direction::Down => wire.down = flow,
        });
    }

    /// Both directions at once. `Swallow` is the half-open connection: each side believes that the
    /// other is there, though neither hears of it again.
    pub(crate) fn set_both(&self, flow: Flow) {
        self.set_flow(Direction::Up, flow);
        self.set_flow(Direction::Down, flow);
    }

    pub(crate) fn set_delay(&self, delay: Duration) {
        self.wire.send_modify(|wire| wire.delay = delay);
    }

    pub(crate) fn set_bandwidth(&self, bytes_per_second: Option<u32>) {
        self.wire.send_modify(|wire| wire.bytes_per_second = bytes_per_second);
    }

    /// Whether new connections are closed at once.
    pub(crate) fn set_refuse(&self, refuse: bool) {
        self.wire.send_modify(|wire| wire.refuse = refuse);
    }

    /// Makes the server read another word of the same length in the place of one, where it comes within a
    /// piece of what is sent.
    pub(crate) fn rename(&self, word: &'static str, other: &'static str) {
        assert_eq!(word.len(), other.len());
        self.wire.send_modify(|wire| wire.rename = Some((word, other)));
    }

    /// Closes every connection in good order (FIN) on both sides.
    pub(crate) fn cut_all(&self) {
        self.end_all(false);
    }

    /// Resets every connection (RST) on both sides.
    pub(crate) fn reset_all(&self) {
        self.end_all(true);
    }

    /// The connections that are open now.
    pub(crate) fn connections(&self) -> usize {
        // Each connection watches, and so does the task that accepts.
        self.cut.receiver_count().saturating_sub(1)
    }

    fn end_all(&self, reset: bool) {
        self.cut.send_modify(|cut| *cut = Cut { number: cut.number + 1, reset });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    wire: watch::Receiver<Wire>,
    cut: watch::Receiver<Cut>,
) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if !wire.borrow().refuse {
            let mut cut = cut.clone();
            cut.mark_unchanged();
            tokio::spawn(carry(client, server, wire.clone(), cut));
        }
    }
}

/// Carries one connection until both sides have ended, or it is cut, or the proxy is gone.
async fn carry(
    mut client: TcpStream,
    server: SocketAddr,
    wire: watch::Receiver<Wire>,
    mut cut: watch::Receiver<Cut>,
) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let up = pump(from_client, to_server, wire.clone(), |wire| wire.up, |wire| wire.rename);
    let down = pump(from_server, to_client, wire, |wire| wire.down, |_| None);
    let reset = tokio::select! {
        // A side that fails ends its own direction; that is what a proxy of faults is for.
        _ = async { tokio::join!(up, down) } => false,
        changed = cut.changed() => changed.is_ok() && cut.borrow().reset,
    };
    if reset {
        client.set_zero_linger().unwrap();
        server.set_zero_linger().unwrap();
    }
}

#[cfg(test)]
mod tests;
