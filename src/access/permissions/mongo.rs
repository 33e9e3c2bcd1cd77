//! Permissions as MongoDB stores them.

use bson::Document;
use futures_util::TryStreamExt;
use mongodb::Client;
use mongodb::error::Error;

use crate::config::Namespace;

/// All documents of the collection, for [`Permissions::replace`](super::Permissions::replace).
///
/// # Errors
/// When MongoDB cannot be asked: what was in place had better stay.
pub async fn load(client: &Client, namespace: &Namespace) -> Result<Vec<Document>, Error> {
    let database = client.database(&namespace.database);
    let collection = database.collection::<Document>(&namespace.collection);
    collection.find(Document::new()).await?.try_collect().await
}
