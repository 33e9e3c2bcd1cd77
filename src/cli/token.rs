//! `tailwater token`: a bearer token for scripts and for trying things out.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use clap::Args;

use super::{load, print};
use crate::{access::sign_token, config::CommonArgs};

#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    /// Whom the token names
    #[arg(long)]
    user: String,
    /// A role of the user; may be repeated
    #[arg(long = "role")]
    roles: Vec<String>,
    /// Seconds until it expires [default: auth.tokens.ttl]
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u64>,
}

pub(super) fn run(common: &CommonArgs, args: &TokenArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let jwt = config.auth.jwt.as_ref();
    let jwt = jwt.context("auth.jwt is not configured; give it a key to sign tokens with")?;
    let ttl = args.ttl.map_or(config.auth.tokens.ttl, Duration::from_secs);
    print(&sign_token(jwt, &args.user, &args.roles, ttl, SystemTime::now())?);
    Ok(ExitCode::SUCCESS)
}
