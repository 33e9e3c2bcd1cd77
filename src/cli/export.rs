//! `tailwater export`: documents that describe the service.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mongodb::Client;

use super::{load, print};
use crate::{
    binding::Namespace,
    catalog,
    config::{CommonArgs, Config},
    contract::{Served, ServedFeed},
    entity::Entities,
};

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Which document
    document: Exported,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Exported {
    /// A commented configuration file with every setting
    Config,
    /// Every stream that the deployment declares, as AsyncAPI 3.0
    Asyncapi,
    /// What is asked and answered, as OpenAPI 3.1
    Openapi,
}

pub(super) async fn run(common: &CommonArgs, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    match args.document {
        Exported::Config => print(&Config::example_yaml()),
        Exported::Asyncapi => {
            let config = load(common)?;
            let client = Client::with_uri_str(config.mongodb.uri.expose()).await?;
            let declared = catalog::declared(&client).await?;
            client.shutdown().await;
            let settings = &config.mongodb.settings;
            let out_of_reach = Namespace::new(&settings.database, &settings.collection);
            let declared = declared.into_iter().filter(|(found, _)| *found != out_of_reach);
            let streams = Served::streams_of(declared, &config.mounts);
            let served = Served { streams, feeds: feeds(&config)?, ..described(&config) };
            print(&serde_json::to_string_pretty(&served.asyncapi())?);
        }
        Exported::Openapi => {
            let served = described(&load(common)?);
            print(&serde_json::to_string_pretty(&served.openapi())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn described(config: &Config) -> Served {
    Served { host: Some(config.listen.address.to_string()), ..Served::default() }
}

/// The feeds of the declared entities, which have to be sound.
fn feeds(config: &Config) -> anyhow::Result<Vec<ServedFeed>> {
    let folder = config.entities.as_ref().filter(|_| config.auth.tells_callers_apart());
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let entities = Entities::load(folder).map_err(|notes| {
        let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the declarations of entities cannot be used:\n  {}", notes.join("\n  "))
    })?;
    Ok(ServedFeed::all(&entities, &config.prefix))
}
