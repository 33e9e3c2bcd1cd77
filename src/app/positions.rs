//! The key of event ids: from the configuration, else created once and shared by all replicas.

use std::time::Duration;

use bson::{Binary, Document, doc, spec::BinarySubtype};
use mongodb::{
    Client,
    error::ErrorKind,
    options::{ReturnDocument, WriteConcern},
};
use rand::RngCore;
use tokio::sync::watch;

use crate::{
    backoff::Backoff,
    change::PositionKey,
    config::{Config, Namespace},
    hub::KeyReceiver,
};

/// The one document of the settings collection.
const ID: &str = "positions";

/// Loads the key in the background: MongoDB may not be there yet.
pub(super) fn load(client: Client, config: &Config) -> KeyReceiver {
    let (announce, key) = watch::channel(None);
    let configured = config.position_key.as_ref().map(|key| key.as_bytes().to_vec());
    let settings = config.mongodb.settings.clone();
    tokio::spawn(async move {
        tokio::select! {
            found = find(&client, &settings, configured) => drop(announce.send(Some(found))),
            () = announce.closed() => {}
        }
    });
    key
}

/// Tries until MongoDB answers, one way or the other.
async fn find(client: &Client, settings: &Namespace, configured: Option<Vec<u8>>) -> PositionKey {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    loop {
        tokio::time::sleep(backoff.wait()).await;
        match stored(client, settings).await {
            Ok(Some((secret, epoch))) => {
                return PositionKey::new(configured.as_deref().unwrap_or(&secret), epoch);
            }
            Err(error) if !is_refusal(&error) => {
                if backoff.attempts() == 1 {
                    tracing::warn!("MongoDB cannot be reached; streams open once it can");
                }
            }
            Ok(None) | Err(_) => return fallback(configured),
        }
    }
}

fn fallback(configured: Option<Vec<u8>>) -> PositionKey {
    let secret = configured.unwrap_or_else(|| {
        tracing::warn!(
            "the settings collection cannot be written: event ids will not survive a restart; \
             grant readWrite on it or set position_key"
        );
        random::<32>().to_vec()
    });
    PositionKey::new(&secret, [0; 4])
}

/// Reads the stored key, creating it when there is none: whichever replica comes first wins.
async fn stored(
    client: &Client,
    settings: &Namespace,
) -> mongodb::error::Result<Option<(Vec<u8>, [u8; 4])>> {
    let database = client.database(&settings.database);
    let collection = database.collection::<Document>(&settings.collection);
    let (key, epoch) = (binary(random::<32>().to_vec()), binary(random::<4>().to_vec()));
    let found = collection
        .find_one_and_update(
            doc! { "_id": ID },
            doc! { "$setOnInsert": { "key": key, "epoch": epoch } },
        )
        .upsert(true)
        .return_document(ReturnDocument::After)
        .write_concern(WriteConcern::majority())
        .await?;
    Ok(found.and_then(|found| read(&found)))
}

fn read(found: &Document) -> Option<(Vec<u8>, [u8; 4])> {
    let key = found.get_binary_generic("key").ok()?.clone();
    let epoch = found.get_binary_generic("epoch").ok()?.as_slice().try_into().ok()?;
    (key.len() >= 16).then_some((key, epoch))
}

fn binary(bytes: Vec<u8>) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// MongoDB answered, and trying again will not change the answer.
fn is_refusal(error: &mongodb::error::Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Command(command) if matches!(command.code, 13 | 18 | 8000))
        || matches!(error.kind.as_ref(), ErrorKind::Authentication { .. })
}
