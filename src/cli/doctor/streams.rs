//! The declared streams: whether they can be opened, and whether their images are recorded.

use bson::{Document, doc};
use futures_util::TryStreamExt;
use mongodb::{Client, Database, error::Error};

use super::{deployment::reason, findings::Findings};
use crate::{
    binding::Namespace,
    catalog::{PROPERTIES, records_images, streams_of},
    definition::{FullDocument, FullDocumentBeforeChange, StreamDefs},
};

pub(super) async fn examine(client: &Client, databases: &[String], findings: &mut Findings) {
    let named = match databases {
        [] => client.list_database_names().await,
        named => Ok(named.to_vec()),
    };
    match named {
        Ok(named) => {
            for name in
                named.iter().filter(|name| !["admin", "config", "local"].contains(&name.as_str()))
            {
                if let Err(error) = database(&client.database(name), findings).await {
                    let text =
                        format!("the metadata of `{name}` cannot be read: {}", reason(&error));
                    findings.fail(&text, &format!("grant find on {name}.{PROPERTIES}"));
                }
            }
        }
        Err(error) => {
            let text = format!("the databases cannot be listed: {}", reason(&error));
            findings.warn(&format!("{text}; name those that have streams"));
        }
    }
}

async fn database(database: &Database, findings: &mut Findings) -> Result<(), Error> {
    let stored = database.collection::<Document>(PROPERTIES);
    let stored: Vec<Document> =
        stored.find(doc! { "streams": { "$exists": true } }).await?.try_collect().await?;
    for properties in stored {
        let id = properties.get_str("_id").unwrap_or_default();
        let coll = id.strip_prefix("_properties.").unwrap_or(id);
        collection(database, coll, &streams_of(&properties), findings).await;
    }
    Ok(())
}

async fn collection(
    database: &Database,
    coll: &str,
    streams: &StreamDefs,
    findings: &mut Findings,
) {
    let place = format!("{}.{coll}", database.name());
    for bad in &streams.bad {
        let uri = bad.uri.as_deref().unwrap_or("?");
        let text = format!("stream `{uri}` of {place} cannot be opened: {}", bad.error);
        findings.fail(&text, "mend its definition");
    }
    if streams.good.is_empty() {
        return;
    }
    // Opened and closed again: what the service's user may not do is refused here.
    let watched = database.collection::<Document>(coll).watch().batch_size(1).await;
    if let Err(error) = watched {
        let text = format!("{place} cannot be watched: {}", reason(&error));
        return findings.fail(&text, &format!("it takes find and changeStream on {place}"));
    }
    findings.fine(&format!("{place} can be watched; streams: {}", streams.good.len()));
    images(database, coll, streams, findings).await;
}

async fn images(database: &Database, coll: &str, streams: &StreamDefs, findings: &mut Findings) {
    let namespace = Namespace::new(database.name(), coll);
    // What cannot be looked at is taken to record none.
    if records_images(database.client(), &namespace).await.unwrap_or(false) {
        return;
    }
    let place = format!("{}.{coll}", database.name());
    for stream in &streams.good {
        let required = stream.full_document == FullDocument::Required
            || stream.full_document_before_change == FullDocumentBeforeChange::Required;
        let available = stream.full_document == FullDocument::WhenAvailable
            || stream.full_document_before_change == FullDocumentBeforeChange::WhenAvailable;
        let text = format!("stream `{}` asks for images that {place} does not record", stream.uri);
        let remedy = format!(
            "db.runCommand({{ collMod: \"{coll}\", changeStreamPreAndPostImages: {{ enabled: true }} }})"
        );
        if required {
            findings.fail(&text, &remedy);
        } else if available || stream.leave {
            findings.warn(&format!("{text}; {remedy}"));
        }
    }
}
