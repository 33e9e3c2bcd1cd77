//! `tailwater check`: what would be served, and everything that is wrong with it. Offline.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use super::{definitions, entities, load, print, report};
use crate::{
    config::{CommonArgs, Config},
    definition::{StreamDef, VariableUse, file::CollectionStreams},
};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Folders of stream definitions
    folders: Vec<PathBuf>,
    /// Accepted for symmetry with apply: check never changes anything
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(common: &CommonArgs, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let mut sound = true;
    // A folder that is named is looked at also when the rest of the configuration is wrong.
    let mut declared = common.entities.clone();
    match load(common) {
        Ok(config) => {
            print(&effective(&config));
            declared = config.entities;
        }
        Err(error) => {
            report(&format!("error: {error}"));
            sound = false;
        }
    }
    if let Some(folder) = &declared {
        match entities::read(folder) {
            Ok(found) => print(&entities::describe(folder, &found)),
            Err(error) => {
                report(&format!("error: {error}"));
                sound = false;
            }
        }
    }
    for folder in &args.folders {
        match definitions::read(folder) {
            Ok(collections) => collections.iter().for_each(|found| print(&describe(found))),
            Err(error) => {
                report(&format!("error: {error}"));
                sound = false;
            }
        }
    }
    print(if sound { "ok" } else { "not ok" });
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every setting with its value and where it comes from.
fn effective(config: &Config) -> String {
    let widest = config.effective().iter().map(|line| line.key.len()).max().unwrap_or_default();
    let lines = config
        .effective()
        .iter()
        .map(|line| format!("{:widest$}  {}  ({})", line.key, line.value, line.origin));
    lines.collect::<Vec<_>>().join("\n")
}

/// What `apply` would install.
fn describe(collection: &CollectionStreams) -> String {
    let streams = collection.streams.iter().filter_map(|stream| StreamDef::parse(stream).ok());
    let lines: Vec<_> = streams.map(|stream| describe_stream(&stream)).collect();
    format!("{}.{}: would install\n{}", collection.db, collection.coll, lines.join("\n"))
}

fn describe_stream(stream: &StreamDef) -> String {
    let variables: Vec<_> = stream.variables().iter().map(describe_variable).collect();
    match variables.as_slice() {
        [] => format!("  {}", stream.uri),
        variables => format!("  {} ({})", stream.uri, variables.join(", ")),
    }
}

fn describe_variable(variable: &VariableUse) -> String {
    let kind = if variable.required { "required" } else { "optional" };
    format!("{} {kind}", variable.name)
}
