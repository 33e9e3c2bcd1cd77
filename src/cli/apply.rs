//! `tailwater apply`: definitions of a folder into collection metadata.

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use anyhow::Context;
use bson::{Array, Bson, Document, doc, oid::ObjectId};
use clap::Args;
use mongodb::{Client, options::WriteConcern};

use super::{definitions, entities, load, print};
use crate::{
    catalog::{PROPERTIES, properties_id, streams_of},
    config::CommonArgs,
    definition::{StreamDef, file::CollectionStreams},
};

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// Folder of definitions (YAML or JSON)
    #[arg(required_unless_present = "entities")]
    folder: Option<PathBuf>,
    /// Say what would change, change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also remove streams that the folder does not declare, in the collections that it names
    #[arg(long)]
    prune: bool,
}

pub(super) async fn run(common: &CommonArgs, args: &ApplyArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let declared = match &args.folder {
        Some(folder) => definitions::read(folder)?,
        None => Vec::new(),
    };
    // Pre-images cost storage: only a folder that is named here switches them on.
    let entities = common.entities.as_deref().map(entities::read).transpose()?;
    let client = Client::with_uri_str(config.mongodb.uri.expose()).await?;
    for collection in &declared {
        let plan = Plan::make(&client, collection, args.prune).await?;
        print(&plan.describe(args.dry_run));
        if !args.dry_run {
            plan.install(&client).await?;
        }
    }
    if let Some(entities) = &entities {
        entities::apply(&client, entities, args.dry_run).await?;
    }
    client.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

/// Installs a folder's definitions and names the streams, for `dev`. A missing folder installs nothing.
pub(super) async fn install(
    client: &Client,
    declared: &[CollectionStreams],
) -> anyhow::Result<Vec<String>> {
    for collection in declared {
        Plan::make(client, collection, false).await?.install(client).await?;
    }
    Ok(declared.iter().map(names).collect())
}

fn names(collection: &CollectionStreams) -> String {
    let uris: Vec<_> = collection.streams.iter().map(uri_of).collect();
    format!("{}/{}: {}", collection.db, collection.coll, uris.join(", "))
}

/// What happens to the metadata of one collection.
struct Plan<'a> {
    collection: &'a CollectionStreams,
    /// The streams to be stored.
    streams: Array,
    /// One line for each stream that is new, changed or removed.
    changes: Vec<String>,
}

impl<'a> Plan<'a> {
    async fn make(
        client: &Client,
        collection: &'a CollectionStreams,
        prune: bool,
    ) -> anyhow::Result<Self> {
        let CollectionStreams { db, coll, .. } = collection;
        let stored = client.database(db).collection::<Document>(PROPERTIES);
        let found = stored.find_one(doc! { "_id": properties_id(coll) }).await;
        let found = found.with_context(|| format!("cannot read the metadata of {db}.{coll}"))?;
        Ok(Self::compare(collection, &found.unwrap_or_default(), prune))
    }

    fn compare(collection: &'a CollectionStreams, stored: &Document, prune: bool) -> Self {
        let current = streams_of(stored);
        let mut changes = Vec::new();
        for declared in &collection.streams {
            let uri = uri_of(declared);
            match (current.find(&uri), StreamDef::parse(declared)) {
                (None, _) => changes.push(format!("+ {uri}")),
                (Some(known), Ok(new)) if *known == new && known.description == new.description => {
                }
                (Some(_), _) => changes.push(format!("~ {uri}")),
            }
        }
        let mut streams = collection.streams.clone();
        let ours: BTreeSet<_> = collection.streams.iter().map(uri_of).collect();
        for other in stored.get_array("streams").map(Vec::as_slice).unwrap_or_default() {
            let uri = uri_of(other);
            if ours.contains(&uri) {
                continue;
            }
            if prune {
                changes.push(format!("- {uri}"));
            } else {
                streams.push(other.clone());
            }
        }
        Self { collection, streams, changes }
    }

    fn describe(&self, dry_run: bool) -> String {
        let CollectionStreams { db, coll, .. } = self.collection;
        if self.changes.is_empty() {
            return format!("{db}.{coll}: nothing to change");
        }
        let verb = if dry_run { "would change" } else { "changed" };
        format!("{db}.{coll}: {verb}\n  {}", self.changes.join("\n  "))
    }

    /// Sets the streams and leaves all other metadata alone.
    async fn install(&self, client: &Client) -> anyhow::Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let CollectionStreams { db, coll, .. } = self.collection;
        let stored = client.database(db).collection::<Document>(PROPERTIES);
        let set = doc! { "streams": self.streams.clone(), "_etag": ObjectId::new() };
        stored
            .update_one(doc! { "_id": properties_id(coll) }, doc! { "$set": set })
            .upsert(true)
            .write_concern(WriteConcern::majority())
            .await
            .with_context(|| format!("cannot write the metadata of {db}.{coll}"))?;
        Ok(())
    }
}

fn uri_of(stream: &Bson) -> String {
    let uri = stream.as_document().and_then(|stream| stream.get_str("uri").ok());
    uri.unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use bson::bson;

    use super::*;

    fn declared(streams: Vec<Bson>) -> CollectionStreams {
        let (db, coll) = ("d".to_owned(), "c".to_owned());
        CollectionStreams { db, coll, streams, origin: Vec::new(), warnings: Vec::new() }
    }

    #[track_caller]
    fn check(declare: Vec<Bson>, stored: Vec<Bson>, prune: bool, expected: &[&str]) -> Array {
        let collection = declared(declare);
        let plan = Plan::compare(&collection, &doc! { "streams": stored }, prune);
        assert_eq!(plan.changes, expected);
        plan.streams
    }

    #[test]
    fn only_differences_are_changes() {
        let raw = bson!({ "uri": "a", "stages": [{ "$match": { "operationType": "insert" } }] });
        let escaped =
            bson!({ "uri": "a", "stages": [{ "_$match": { "operationType": "insert" } }] });
        let empty = bson!({ "uri": "a", "stages": [] });
        check(vec![escaped], vec![raw.clone()], false, &[]);
        check(vec![empty.clone()], vec![raw], false, &["~ a"]);
        check(vec![empty], vec![], false, &["+ a"]);
    }

    #[test]
    fn other_streams_stay_unless_pruned() {
        let (a, b) = (bson!({ "uri": "a", "stages": [] }), bson!({ "uri": "b", "stages": [] }));
        let kept = check(vec![a.clone()], vec![a.clone(), b.clone()], false, &[]);
        assert_eq!(kept, vec![a.clone(), b.clone()]);
        let pruned = check(vec![a.clone()], vec![b, a.clone()], true, &["- b"]);
        assert_eq!(pruned, vec![a]);
    }
}
