//! `tailwater explain`: the plan of a stream for somebody, from what MongoDB holds.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use super::{load, print};
use crate::{
    access::{StandIn, UNAUTHENTICATED},
    app,
    config::CommonArgs,
    json,
};

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The stream's path, with its variables: `/db/coll/_streams/uri?name=value`
    path: String,
    /// For whom; a stored user, or with --role anybody
    #[arg(long)]
    user: Option<String>,
    /// A role of the user, in place of those that are stored; may be repeated
    #[arg(long = "role")]
    roles: Vec<String>,
    /// What `@user` shows of a token, as a JSON object
    #[arg(long, value_name = "JSON")]
    claims: Option<String>,
    /// Print JSON, as `GET /_/explain` answers
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(common: &CommonArgs, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let plan = app::explain(&config, &args.path, &args.asked()?).await?;
    if args.json {
        print(&serde_json::to_string_pretty(&plan)?);
    } else {
        print(&in_words(&plan));
    }
    Ok(ExitCode::SUCCESS)
}

impl ExplainArgs {
    /// Without anything said, a stranger.
    fn asked(&self) -> anyhow::Result<StandIn> {
        let claims = self.claims.as_ref().map(|text| {
            json::parse_document(text, json::Limits::default())
                .context("--claims is no JSON object")
        });
        let mut roles = self.roles.clone();
        if self.user.is_none() && self.claims.is_none() && roles.is_empty() {
            roles.push(UNAUTHENTICATED.to_owned());
        }
        Ok(StandIn {
            user: self.user.clone().unwrap_or_default(),
            roles,
            claims: claims.transpose()?,
        })
    }
}

fn in_words(plan: &Value) -> String {
    let caller = match plan["principal"]["user"].as_str() {
        None => "a stranger".to_owned(),
        Some("") => format!("a user with the roles {}", plan["principal"]["roles"]),
        Some(name) => format!("{name}, with the roles {}", plan["principal"]["roles"]),
    };
    let permission = match plan["permission"].as_str() {
        Some(name) => format!(", by permission {name}"),
        None => String::new(),
    };
    let heading = format!("{} for {caller}{permission}", plan["path"].as_str().unwrap_or_default());
    let words = plan["words"].as_array().into_iter().flatten().filter_map(Value::as_str);
    std::iter::once(heading)
        .chain(words.map(|word| format!("  {word}")))
        .collect::<Vec<_>>()
        .join("\n")
}
