//! `tailwater export`: documents that describe the service.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::print;
use crate::config::Config;

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Which document
    document: Exported,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Exported {
    /// A commented configuration file with every setting
    Config,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    match args.document {
        Exported::Config => print(&Config::example_yaml()),
    }
    Ok(ExitCode::SUCCESS)
}
