//! Which streams exist: collection metadata, read when asked for and watched while sessions depend on it.
//!
//! Metadata lies where RESTHeart keeps it: collection `_properties` of the same database, one document
//! per collection with `_id` `"_properties.<collection>"`, declared streams in its field `streams`.

pub mod declarations;
mod sessions;
mod watch;
pub mod write;

use std::{fmt, time::Duration};

use bson::{Bson, Document, doc};
use futures_util::TryStreamExt;
use mongodb::Client;

pub use declarations::{DeclarationGuard, Declarations, Problem};
pub use sessions::Guard;
pub use watch::Watch;
use watch::Watches;
pub use write::{Precondition, WriteError, Written};

use crate::{binding::Namespace, config::is_reserved_database, definition::StreamDefs, hub::Hub};

/// The collection that holds a database's metadata.
pub const PROPERTIES: &str = "_properties";

/// How long MongoDB may take to answer a question about metadata.
const PATIENCE: Duration = Duration::from_secs(10);

/// The declared streams of a deployment. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    client: Client,
    watches: Watches,
}

/// MongoDB did not answer a question about metadata.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The driver's error; not for clients.
    #[error("MongoDB is not available")]
    Unavailable(#[from] mongodb::error::Error),
    /// No answer in time.
    #[error("MongoDB did not answer in time")]
    Slow,
    /// The service's own user lacks a privilege.
    #[error(
        "the service's MongoDB user may not read the metadata of database '{0}'; grant it find on {0}.{PROPERTIES}"
    )]
    Privilege(String),
}

/// What exists under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// No such database.
    NoDatabase,
    /// The database exists, the collection does not.
    NoCollection,
    /// Both exist.
    Exists,
}

impl Catalog {
    /// `client` is the one for requests, not the one for cursors.
    pub fn new(client: Client, hub: Hub) -> Self {
        Self { watches: Watches::new(client.clone(), hub), client }
    }

    /// The metadata of a collection as stored.
    pub async fn properties(
        &self,
        namespace: &Namespace,
    ) -> Result<Option<Document>, CatalogError> {
        read_properties(&self.client, namespace).await
    }

    /// Every collection that declares streams.
    pub async fn all(&self) -> Result<Vec<(Namespace, StreamDefs)>, CatalogError> {
        declared(&self.client).await
    }

    /// Whether a collection and its database exist.
    pub async fn existence(&self, namespace: &Namespace) -> Result<Existence, CatalogError> {
        let database = self.client.database(&namespace.db);
        let names = within(&namespace.db, database.list_collection_names().into_future()).await?;
        Ok(if names.is_empty() {
            Existence::NoDatabase
        } else if names.contains(&namespace.coll) {
            Existence::Exists
        } else {
            Existence::NoCollection
        })
    }

    /// See [`records_images`].
    pub async fn records_images(&self, namespace: &Namespace) -> Result<bool, CatalogError> {
        records_images(&self.client, namespace).await
    }

    /// Whether the metadata of a database is being watched.
    pub fn is_watched(&self, db: &str) -> bool {
        self.watches.is_watched(db)
    }

    /// Watches the metadata of a database for as long as the result or a [`Guard`] made with it lives.
    pub async fn watch(&self, db: &str) -> Watch {
        self.watches.watch(db).await
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").finish_non_exhaustive()
    }
}

/// The `_id` of a collection's metadata.
pub fn properties_id(coll: &str) -> String {
    format!("{PROPERTIES}.{coll}")
}

/// The streams that metadata declares; none when the field is absent.
pub fn streams_of(properties: &Document) -> StreamDefs {
    StreamDefs::parse(properties.get("streams").unwrap_or(&Bson::Array(Vec::new())))
}

/// Whether a collection records pre- and post-images. One that is not there records none.
pub async fn records_images(client: &Client, namespace: &Namespace) -> Result<bool, CatalogError> {
    let database = client.database(&namespace.db);
    let listed = database.list_collections().filter(doc! { "name": &namespace.coll });
    let first = async { listed.await?.try_next().await };
    let found = match within(&namespace.db, first).await {
        // What cannot be looked at is taken to record none.
        Err(CatalogError::Privilege(_)) => return Ok(false),
        found => found?,
    };
    let images = found.and_then(|found| found.options.change_stream_pre_and_post_images);
    Ok(images.is_some_and(|images| images.enabled))
}

/// Every collection of a deployment that declares streams, by name.
///
/// # Errors
/// MongoDB does not answer, or does not let the service's user see which databases there are.
pub async fn declared(client: &Client) -> Result<Vec<(Namespace, StreamDefs)>, CatalogError> {
    let mut databases = within("admin", client.list_database_names().into_future()).await?;
    databases.retain(|db| !is_reserved_database(db));
    databases.sort_unstable();
    let mut found = Vec::new();
    for db in databases {
        let collection = client.database(&db).collection::<Document>(PROPERTIES);
        let filter = doc! { "_id": { "$type": "string" }, "streams": { "$exists": true } };
        let reading = async {
            let sorted = collection.find(filter).sort(doc! { "_id": 1 }).await?;
            sorted.try_collect::<Vec<_>>().await
        };
        let properties = within(&db, reading).await?;
        found.extend(properties.iter().filter_map(|properties| {
            let coll = properties.get_str("_id").ok()?.strip_prefix("_properties.")?;
            Some((Namespace::new(&db, coll), streams_of(properties)))
        }));
    }
    Ok(found)
}

async fn read_properties(
    client: &Client,
    namespace: &Namespace,
) -> Result<Option<Document>, CatalogError> {
    let collection = client.database(&namespace.db).collection::<Document>(PROPERTIES);
    let filter = doc! { "_id": properties_id(&namespace.coll) };
    within(&namespace.db, collection.find_one(filter).into_future()).await
}

/// Bounds a question in time and names what its failure means.
async fn within<T>(
    db: &str,
    question: impl Future<Output = mongodb::error::Result<T>>,
) -> Result<T, CatalogError> {
    let answer = tokio::time::timeout(PATIENCE, question).await.map_err(|_| CatalogError::Slow)?;
    answer.map_err(|error| match error.kind.as_ref() {
        mongodb::error::ErrorKind::Command(command) if command.code == 13 => {
            CatalogError::Privilege(db.to_owned())
        }
        _ => CatalogError::Unavailable(error),
    })
}
