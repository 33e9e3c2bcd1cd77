//! One direction of one connection.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::tcp::{ReadHalf, WriteHalf},
    sync::watch,
    time::sleep,
};

use super::{Flow, Wire};

/// Small, so that a limit on the bandwidth is smooth and a stall holds little back.
const PIECE_BYTES: usize = 4096;

/// Carries bytes from one socket to another until the sender ends or either fails.
pub(super) async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut wire: watch::Receiver<Wire>,
    flow: fn(&Wire) -> Flow,
    rename: fn(&Wire) -> Option<(&'static str, &'static str)>,
) -> io::Result<()> {
    let mut piece = [0; PIECE_BYTES];
    loop {
        unstalled(&mut wire, flow).await?;
        let length = from.read(&mut piece).await?;
        // It may have been stalled or lost while this waited for bytes.
        let now = unstalled(&mut wire, flow).await?;
        if flow(&now) == Flow::Swallow {
            if length == 0 {
                return std::future::pending().await;
            }
            continue;
        }
        sleep(now.delay + transmission(length, now.bytes_per_second)).await;
        if length == 0 {
            return to.shutdown().await;
        }
        if let Some((word, other)) = rename(&now) {
            replace(&mut piece[..length], word.as_bytes(), other.as_bytes());
        }
        to.write_all(&piece[..length]).await?;
    }
}

fn replace(piece: &mut [u8], word: &[u8], other: &[u8]) {
    let starts = piece.windows(word.len()).enumerate().filter(|(_, window)| *window == word);
    let starts: Vec<_> = starts.map(|(start, _)| start).collect();
    starts.into_iter().for_each(|start| piece[start..start + other.len()].copy_from_slice(other));
}

/// Waits while the direction is stalled; gives what holds now.
async fn unstalled(wire: &mut watch::Receiver<Wire>, flow: fn(&Wire) -> Flow) -> io::Result<Wire> {
    let wire = wire.wait_for(|wire| flow(wire) != Flow::Stall).await.map_err(io::Error::other)?;
    Ok(*wire)
}

fn transmission(length: usize, bytes_per_second: Option<u32>) -> Duration {
    let length = u32::try_from(length).unwrap();
    bytes_per_second.map_or(Duration::ZERO, |rate| Duration::from_secs(1) * length / rate.max(1))
}
