//! `tailwater hash-password`

use std::{io::Read, process::ExitCode};

use anyhow::{Context, bail};
use clap::Args;

use super::print;
use crate::access::hash_password;

#[derive(Debug, Args)]
pub(super) struct PasswordArgs {
    /// bcrypt's cost
    #[arg(long, default_value_t = 12)]
    cost: u32,
}

/// Reads the password from standard input, so that it is in no history and in no list of processes.
pub(super) fn run(args: &PasswordArgs) -> anyhow::Result<ExitCode> {
    let mut password = String::new();
    std::io::stdin()
        .take(4096)
        .read_to_string(&mut password)
        .context("cannot read the password")?;
    let password = password.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        bail!("the password is empty; give it on standard input");
    }
    print(&hash_password(password, args.cost)?);
    Ok(ExitCode::SUCCESS)
}
