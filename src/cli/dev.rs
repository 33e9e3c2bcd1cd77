//! `tailwater dev`: everything needed to see an event, in one command.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use mongodb::Client;
use tokio_util::sync::CancellationToken;

use super::{administrator, apply, definitions, load, print, report, serve, signals, writer};
use crate::{
    app,
    config::{CommonArgs, Secret},
    definition::file::CollectionStreams,
    mongod::Mongod,
};

#[derive(Debug, Args)]
pub(super) struct DevArgs {
    /// Where MongoDB keeps its data between runs
    #[arg(long, value_name = "FOLDER", default_value = ".tailwater/data")]
    data: PathBuf,
    /// Definitions to install at the start
    #[arg(long, value_name = "FOLDER", default_value = "stream-defs")]
    definitions: PathBuf,
    /// Entities to serve, unless the configuration names others
    #[arg(long, value_name = "FOLDER", default_value = "entity-defs")]
    entity_definitions: PathBuf,
    /// Write no sample documents
    #[arg(long)]
    no_writer: bool,
}

pub(super) async fn run(common: &CommonArgs, args: &DevArgs) -> anyhow::Result<ExitCode> {
    let mut common = common.clone();
    // Refused before anything is started: the sample data and its writer are nobody else's business.
    let config = load(&common)?;
    config.check_loopback().context("dev serves this machine only")?;
    let declared = read_definitions(&args.definitions)?;
    if config.entities.is_none() && args.entity_definitions.is_dir() {
        common.entities = Some(args.entity_definitions.clone());
    }
    let listener = serve::bind(&config).await?;
    report("tailwater: starting MongoDB (the first run fetches it)");
    let mongod = Mongod::builder().data_dir(&args.data).start().await?;
    common.mongodb_uri = Some(Secret::new(mongod.uri()));
    let outcome = with_mongod(&common, args, &declared, listener, &mongod).await;
    mongod.stop().await?;
    report("tailwater: stopped, nothing is left running");
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Read before anything is started: outside a clone there are none.
fn read_definitions(folder: &Path) -> anyhow::Result<Vec<CollectionStreams>> {
    if !folder.is_dir() {
        bail!("{} is no folder; name one with --definitions", folder.display());
    }
    definitions::read(folder)
}

async fn with_mongod(
    common: &CommonArgs,
    args: &DevArgs,
    declared: &[CollectionStreams],
    listener: tokio::net::TcpListener,
    mongod: &Mongod,
) -> anyhow::Result<()> {
    let config = load(common)?;
    let client = Client::with_uri_str(mongod.uri()).await?;
    let installed = apply::install(&client, declared).await?;
    let stop = CancellationToken::new();
    let writing =
        (!args.no_writer).then(|| tokio::spawn(writer::run(client.clone(), stop.clone())));
    let password = administrator::ensure(&client, &config, &args.data).await?;
    let address = listener.local_addr()?.to_string();
    let feed = config.entities.is_some() && password.is_some();
    print(&banner(&address, args, mongod, &installed, password.as_deref(), feed));
    serve::announce(&address);
    let served = app::run(config, listener, signals::shutdown()).await;
    stop.cancel();
    if let Some(writing) = writing {
        writing.await.context("the sample writer failed")??;
    }
    client.shutdown().await;
    served
}

fn banner(
    address: &str,
    args: &DevArgs,
    mongod: &Mongod,
    installed: &[String],
    password: Option<&str>,
    feed: bool,
) -> String {
    let streams = installed.join("\n             ");
    let (data, uri) = (args.data.display(), mongod.uri());
    let login = password.map(|password| format!("{}:{password}", administrator::NAME));
    let curl = login.as_ref().map_or_else(String::new, |login| format!("-u {login} "));
    let websocat = login.as_ref().map_or_else(String::new, |login| format!("{login}@"));
    let accept = "-N -H 'Accept: text/event-stream'";
    let feed = match feed {
        true => format!("\n  entities   curl {curl}{accept} http://{address}/api/subscribe/Order"),
        false => String::new(),
    };
    let login = login.map_or_else(String::new, |login| format!("\n  log in as  {login}"));
    format!(
        "
  tailwater  http://{address}
  console    http://{address}/_/console/{login}
  MongoDB    {uri}
             data in {data}, kept between runs
  streams    {streams}

  watch      curl {curl}-N -H 'Accept: text/event-stream' http://{address}/demo/orders/_streams/all
  or         websocat ws://{websocat}{address}/demo/orders/_streams/all
  one tenant curl {curl}-N -H 'Accept: text/event-stream' 'http://{address}/demo/orders/_streams/by-tenant?tid=acme'{feed}
  resume     add -H 'Last-Event-ID: <the id of the last event you saw>': what you missed comes first
  stop       Ctrl-C
"
    )
}
