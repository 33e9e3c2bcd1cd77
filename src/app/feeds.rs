//! Entity feeds: what is declared, where it is served, and whether anybody can be told apart.

use anyhow::bail;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::{Declarations, declarations},
    config::Config,
    http::surface::Feeds,
};

/// What the configuration says of entity feeds; `None`: nothing. `host_knows`: the program around the
/// service says who is calling.
///
/// # Errors
/// Declarations that are invalid at the start, each with its place.
pub(super) fn feeds(
    config: &Config,
    stop: CancellationToken,
    host_knows: bool,
) -> anyhow::Result<Option<Feeds>> {
    let Some(folder) = &config.entities else { return Ok(None) };
    let declared = Declarations::follow(folder, stop).or_else(|notes| {
        let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
        bail!("the declarations of entities cannot be used:\n  {}", notes.join("\n  "))
    })?;
    declarations::log(&declared.current());
    let identity = host_knows || config.auth.tells_callers_apart();
    if !identity {
        tracing::warn!(
            "entity feeds are not opened: subscriptions require an identity, and no \
            authentication is configured"
        );
    }
    Ok(Some(Feeds { prefix: config.prefix.clone(), declarations: declared, identity }))
}
