//! `tailwater serve`

use std::process::ExitCode;

use anyhow::Context;
use tokio::net::TcpListener;

use super::{load, report, signals};
use crate::{
    app,
    config::{CommonArgs, Config},
};

pub(super) async fn run(common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let listener = listen(&config).await?;
    app::run(config, listener, signals::shutdown()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Binds the listener, and says so.
pub(super) async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let listener = bind(config).await?;
    let bound = listener.local_addr()?;
    if config.auth.insecure_no_auth {
        report(&format!(
            "tailwater: authentication is off (insecure_no_auth): whoever reaches {bound} may open every stream"
        ));
    }
    announce(&bound.to_string());
    Ok(listener)
}

/// Says where it listens, on standard error.
pub(super) fn announce(address: &str) {
    report(&format!("tailwater: ready on http://{address}"));
}

/// Binds the listener.
pub(super) async fn bind(config: &Config) -> anyhow::Result<TcpListener> {
    let address = config.listen.address;
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen"))
}
