//! The signals that end the process.

/// Resolves on SIGTERM or Ctrl-C. A second one ends the process at once.
pub(super) async fn shutdown() {
    first().await;
    tokio::spawn(async {
        first().await;
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn first() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn first() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
