//! `tailwater doctor`: whether this deployment can be served, and what to do where it cannot. Changes nothing.

mod access;
mod deployment;
mod findings;
mod streams;

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Args;
use mongodb::{Client, options::ClientOptions};

use self::findings::Findings;
use super::load;
use crate::config::{CommonArgs, Config};

/// How long MongoDB is looked for.
const SELECTION: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Databases whose streams are looked at [default: all that hold metadata]
    databases: Vec<String>,
}

pub(super) async fn run(common: &CommonArgs, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let client = connect(&config).await?;
    let mut findings = Findings::default();
    if deployment::examine(&client, &config, &mut findings).await {
        access::examine(&client, &config, &mut findings).await;
        streams::examine(&client, &args.databases, &mut findings).await;
    }
    client.shutdown().await;
    Ok(findings.conclude())
}

async fn connect(config: &Config) -> anyhow::Result<Client> {
    let uri = config.mongodb.uri.expose();
    let options = ClientOptions::parse(uri).await;
    let mut options = options.context("the MongoDB connection string is unusable")?;
    options.server_selection_timeout.get_or_insert(SELECTION);
    Ok(Client::with_options(options)?)
}
