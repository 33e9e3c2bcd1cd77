//! `tailwater dev`: everything needed to see an event, in one command.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use mongodb::Client;
use tokio_util::sync::CancellationToken;

use super::{apply, load, print, report, serve, signals, writer};
use crate::{
    app,
    config::{CommonArgs, Secret},
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
    /// Write no sample documents
    #[arg(long)]
    no_writer: bool,
}

pub(super) async fn run(common: &CommonArgs, args: &DevArgs) -> anyhow::Result<ExitCode> {
    let mut common = common.clone();
    // Refused before anything is started: `dev` has no authentication worth exposing.
    let config = load(&common)?;
    config.listen.check_loopback().context("dev serves this machine only")?;
    let listener = serve::bind(&config).await?;
    report("tailwater: starting MongoDB (the first run fetches it)");
    let mongod = Mongod::builder().data_dir(&args.data).start().await?;
    common.mongodb_uri = Some(Secret::new(mongod.uri()));
    let outcome = with_mongod(&common, args, listener, &mongod).await;
    mongod.stop().await?;
    report("tailwater: stopped, nothing is left running");
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn with_mongod(
    common: &CommonArgs,
    args: &DevArgs,
    listener: tokio::net::TcpListener,
    mongod: &Mongod,
) -> anyhow::Result<()> {
    let config = load(common)?;
    let client = Client::with_uri_str(mongod.uri()).await?;
    let installed = apply::install(&client, &args.definitions).await?;
    let stop = CancellationToken::new();
    let writing =
        (!args.no_writer).then(|| tokio::spawn(writer::run(client.clone(), stop.clone())));
    print(&banner(&listener.local_addr()?.to_string(), args, mongod, &installed));
    let served = app::run(config, listener, signals::shutdown()).await;
    stop.cancel();
    if let Some(writing) = writing {
        writing.await.context("the sample writer failed")??;
    }
    client.shutdown().await;
    served
}

fn banner(address: &str, args: &DevArgs, mongod: &Mongod, installed: &[String]) -> String {
    let streams = installed.join("\n             ");
    let (data, uri) = (args.data.display(), mongod.uri());
    format!(
        "
  tailwater  http://{address}
  MongoDB    {uri}
             data in {data}, kept between runs
  streams    {streams}

  watch      curl -N -H 'Accept: text/event-stream' http://{address}/demo/orders/_streams/all
  or         websocat ws://{address}/demo/orders/_streams/all
  one tenant curl -N -H 'Accept: text/event-stream' 'http://{address}/demo/orders/_streams/by-tenant?tid=acme'
  resume     add -H 'Last-Event-ID: <the id of the last event you saw>': what you missed comes first
  stop       Ctrl-C
"
    )
}
