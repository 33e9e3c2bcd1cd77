//! Declarations of entities, for `check` and `apply`.

use std::path::Path;

use anyhow::Context;
use bson::{Document, doc};
use mongodb::Client;

use super::{definitions::Invalid, print, report};
use crate::{
    binding::Namespace,
    entity::{Entities, EntityDef, PreImages, SubscriptionDef},
};

/// NamespaceExists.
const EXISTS: i32 = 48;

/// Reads a folder. Prints every error and warning with its place.
pub(super) fn read(folder: &Path) -> anyhow::Result<Entities> {
    match Entities::load(folder) {
        Ok(entities) => {
            entities.warnings().iter().for_each(|note| report(&format!("warning: {note}")));
            Ok(entities)
        }
        Err(notes) => {
            notes.iter().for_each(|note| report(&format!("error: {note}")));
            Err(Invalid::new(notes.len(), folder).into())
        }
    }
}

/// What would be served, and what is missing for all of it to work.
pub(super) fn describe(folder: &Path, entities: &Entities) -> String {
    let mut lines = vec![format!("{}: would serve", folder.display())];
    lines.extend(entities.entities().iter().map(|entity| describe_entity(entity)));
    lines.extend(entities.subscriptions().iter().map(|it| describe_subscription(it)));
    let wanted = entities.pre_images();
    for PreImages { namespace, reasons } in &wanted {
        lines.push(format!("  {namespace} should record pre-images: {}", reasons.join("; ")));
    }
    if !wanted.is_empty() {
        let remedy = format!("tailwater apply --entities {}", folder.display());
        lines.push(format!("  `{remedy}` switches pre-images on"));
    }
    lines.join("\n")
}

fn describe_entity(entity: &EntityDef) -> String {
    let EntityDef { name, namespace, .. } = entity;
    let mut topics: Vec<&str> = entity.events.iter().map(|event| event.topic.as_str()).collect();
    topics.dedup();
    match topics.as_slice() {
        [] => format!("  entity {name} on {namespace}: no events, no feed"),
        topics => {
            let (operations, topics) = (entity.operations(), topics.join(", "));
            format!("  entity {name} on {namespace}: {operations}; topics {topics}")
        }
    }
}

fn describe_subscription(subscription: &SubscriptionDef) -> String {
    let source = match (&subscription.source, &subscription.entity) {
        (Some(topic), _) => format!("topic {topic}"),
        (None, entity) => format!("entity {}", entity.as_deref().unwrap_or("?")),
    };
    format!("  subscription {}: {source}", subscription.name)
}

/// Switches pre-images on where the declarations need them.
pub(super) async fn apply(
    client: &Client,
    entities: &Entities,
    dry_run: bool,
) -> anyhow::Result<()> {
    for PreImages { namespace, .. } in entities.pre_images() {
        if records_images(client, &namespace).await? {
            print(&format!("{namespace}: nothing to change"));
            continue;
        }
        if !dry_run {
            switch_on(client, &namespace).await?;
        }
        let verb = if dry_run { "would change" } else { "changed" };
        print(&format!("{namespace}: {verb}\n  + pre-images"));
    }
    Ok(())
}

async fn records_images(client: &Client, namespace: &Namespace) -> anyhow::Result<bool> {
    let database = client.database(&namespace.db);
    let listed = database.list_collections().filter(doc! { "name": &namespace.coll }).await;
    let mut listed = listed.with_context(|| format!("cannot look at {namespace}"))?;
    let found = match listed.advance().await? {
        true => Some(listed.deserialize_current()?),
        false => None,
    };
    let images = found.and_then(|found| found.options.change_stream_pre_and_post_images);
    Ok(images.is_some_and(|images| images.enabled))
}

/// A collection that is not there yet is created, so that its first delete has an image already.
async fn switch_on(client: &Client, namespace: &Namespace) -> anyhow::Result<()> {
    let database = client.database(&namespace.db);
    let with_images = |command: &str| -> Document {
        doc! { command: &namespace.coll, "changeStreamPreAndPostImages": { "enabled": true } }
    };
    let created = database.run_command(with_images("create")).await;
    let exists = |error: &mongodb::error::Error| matches!(error.kind.as_ref(), mongodb::error::ErrorKind::Command(it) if it.code == EXISTS);
    let outcome = match created {
        Err(error) if exists(&error) => database.run_command(with_images("collMod")).await,
        other => other,
    };
    outcome.map(drop).with_context(|| format!("cannot switch pre-images on for {namespace}"))
}
