//! Accepts connections and serves them until told to stop.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use super::{
    caps::{Caps, Crowded},
    deadline::{Deadline, Stalled},
};
use crate::telemetry::Cap;

/// Bounds of a listener.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Most open connections; further ones are told so.
    pub connections: usize,
    /// Time that a client has for its first request's head.
    pub header_timeout: Duration,
    /// Time that one write may take.
    pub write_timeout: Duration,
    /// Time after which unacknowledged bytes end the connection: a sleeping laptop, a dead network.
    pub dead_after: Duration,
}

/// Time that a connection may wait for its next request, and that request for the rest of its head.
/// Balancers keep idle connections for 60 s: whoever closes first must not be this side.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// Who is at the other end of a connection; every request carries it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// The address that a connection came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local(pub(super) SocketAddr);

/// Connections beyond the cap that are served long enough to be told so. Yet further ones wait in the
/// kernel's queue.
const TURNED_AWAY: usize = 256;

/// Accepts until `stop`, then no more; connections end by themselves, and `tasks` knows them.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    caps: Caps,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    let room = Arc::new(Semaphore::new(limits.connections.saturating_add(TURNED_AWAY)));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            () = stop.cancelled() => return,
        };
        let Some((socket, peer, permit)) = accepted else { continue };
        if let Err(error) = tune(&socket, limits) {
            tracing::debug!(%error, %peer, "a socket cannot be tuned");
        }
        let seat = caps.connect(peer.ip());
        let (local, crowded) = (socket.local_addr().ok(), seat.as_ref().err().copied());
        let marks = Marks { peer, local, crowded };
        let connection = connection(socket, marks, router.clone(), limits, stop.clone());
        tasks.spawn(async move {
            connection.await;
            drop((seat, permit));
        });
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, peer)) => Some((socket, peer, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection cannot be accepted");
            // Out of file descriptors: the next try would fail at once too.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

fn tune(socket: &TcpStream, limits: ServerLimits) -> std::io::Result<()> {
    // Small frames must not wait for the acknowledgement of the one before.
    socket.set_nodelay(true)?;
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(limits.dead_after / 2))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits.dead_after))?;
    Ok(())
}

/// What every request of a connection carries.
#[derive(Debug, Clone, Copy)]
struct Marks {
    peer: SocketAddr,
    local: Option<SocketAddr>,
    crowded: Option<Cap>,
}

async fn connection(
    socket: TcpStream,
    marks: Marks,
    router: Router,
    limits: ServerLimits,
    stop: CancellationToken,
) {
    let stalled = Stalled::default();
    let io = TokioIo::new(Deadline::new(socket, limits.write_timeout, stalled.clone()));
    let begun = CancellationToken::new();
    let first = begun.clone();
    let service = router.map_request(move |mut request: Request<Incoming>| {
        first.cancel();
        let extensions = request.extensions_mut();
        extensions.insert(Peer(marks.peer));
        marks.local.map(|local| extensions.insert(Local(local)));
        extensions.insert(stalled.clone());
        if let Some(cap) = marks.crowded {
            extensions.insert(Crowded(cap));
        }
        request.map(Body::new)
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(KEEP_ALIVE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
    let served = builder.serve_connection_with_upgrades(io, TowerToHyperService::new(service));
    let mut served = std::pin::pin!(served);
    let outcome = tokio::select! {
        outcome = served.as_mut() => outcome,
        () = nothing_begins(&begun, limits.header_timeout) => return,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(error = error.as_ref() as &dyn std::error::Error, "a connection ended");
    }
}

/// Ends when the first request has not come in time; otherwise never.
async fn nothing_begins(begun: &CancellationToken, limit: Duration) {
    if tokio::time::timeout(limit, begun.cancelled()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
