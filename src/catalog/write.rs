//! Writing metadata: validated by the caller, conditional on the tag when a client asks for that.

use std::time::Duration;

use bson::{Bson, Document, doc, oid::ObjectId};
use mongodb::{
    error::{ErrorKind, TRANSIENT_TRANSACTION_ERROR, WriteFailure},
    options::ReturnDocument,
};

use super::{Catalog, CatalogError, PATIENCE, PROPERTIES, properties_id, within};
use crate::{backoff::Backoff, binding::Namespace};

/// What a client requires of the stored tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    None,
    /// The tag has to be this one.
    Match(String),
    /// The client asks for a check but sends no tag.
    MissingTag,
}

/// A write that was done.
#[derive(Debug, Clone)]
pub struct Written {
    /// Whether nothing was there before.
    pub created: bool,
    /// The new tag.
    pub etag: ObjectId,
}

/// Why metadata was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The tag is required and missing; this is the current one.
    #[error("the ETag must be provided using the 'If-Match' header")]
    TagRequired(Option<String>),
    /// Another tag is stored.
    #[error("the ETag does not match the current one")]
    TagMismatch(Option<String>),
    /// MongoDB refuses the document.
    #[error("MongoDB refuses the metadata: {0}")]
    Refused(String),
    /// Another write of the same metadata came first.
    #[error("another write of the metadata came first; try again")]
    Conflict,
    /// MongoDB is not available.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Catalog {
    /// Replaces the metadata of a collection, and creates the collection when it does not exist.
    pub async fn replace_properties(
        &self,
        namespace: &Namespace,
        properties: Document,
        precondition: &Precondition,
    ) -> Result<Written, WriteError> {
        let id = properties_id(&namespace.coll);
        // The metadata first: a write that its condition forbids leaves no collection behind.
        let written = self.replace(&namespace.db, &id, properties, precondition).await?;
        self.create_collection(namespace).await?;
        Ok(written)
    }

    /// Applies an update (operators) to the metadata of a collection, if `check` accepts the outcome:
    /// its refusal is the inner error.
    pub async fn update_properties<E>(
        &self,
        namespace: &Namespace,
        update: Document,
        precondition: &Precondition,
        check: impl Fn(&Document) -> Result<(), E>,
    ) -> Result<Result<Written, E>, WriteError> {
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(200));
        let attempts = async {
            loop {
                let attempt = self.try_update(namespace, update.clone(), precondition, &check);
                match attempt.await {
                    // The outcome has to be checked anew: it builds on what the other one wrote.
                    Err(WriteError::Conflict) => tokio::time::sleep(backoff.wait()).await,
                    outcome => return outcome,
                }
            }
        };
        tokio::time::timeout(PATIENCE, attempts).await.map_err(|_| CatalogError::Slow)?
    }

    async fn try_update<E>(
        &self,
        namespace: &Namespace,
        mut update: Document,
        precondition: &Precondition,
        check: impl Fn(&Document) -> Result<(), E>,
    ) -> Result<Result<Written, E>, WriteError> {
        let etag = ObjectId::new();
        match update.get_document_mut("$set") {
            Ok(set) => drop(set.insert("_etag", etag)),
            Err(_) => drop(update.insert("$set", doc! { "_etag": etag })),
        }
        let id = properties_id(&namespace.coll);
        let filter = self.filter(&namespace.db, &id, precondition).await?;
        // Operators can do anything to the streams, so only MongoDB can tell the outcome; within a
        // transaction nobody else sees it before it is accepted.
        let mut session = within(&namespace.db, self.client.start_session().into_future()).await?;
        within(&namespace.db, session.start_transaction().into_future()).await?;
        let upsert = *precondition == Precondition::None;
        let collection = self.properties_of(&namespace.db);
        let updating = collection
            .find_one_and_update(filter, update)
            .upsert(upsert)
            .return_document(ReturnDocument::After)
            .session(&mut session);
        let after = write(&namespace.db, updating.into_future()).await?;
        if let Err(refused) = check(&after.clone().unwrap_or_default()) {
            within(&namespace.db, session.abort_transaction().into_future()).await?;
            return Ok(Err(refused));
        }
        write(&namespace.db, session.commit_transaction().into_future()).await?;
        self.settled(&namespace.db, &id, precondition, after.is_some()).await?;
        Ok(Ok(Written { created: false, etag }))
    }

    /// Declares a database, which in MongoDB comes to be with its first document.
    pub async fn replace_database(
        &self,
        db: &str,
        properties: Document,
        precondition: &Precondition,
    ) -> Result<Written, WriteError> {
        self.replace(db, PROPERTIES, properties, precondition).await
    }

    /// Writes metadata under `id`, with a new tag.
    async fn replace(
        &self,
        db: &str,
        id: &str,
        mut properties: Document,
        precondition: &Precondition,
    ) -> Result<Written, WriteError> {
        let etag = ObjectId::new();
        properties.remove("_id");
        properties.insert("_etag", etag);
        let filter = self.filter(db, id, precondition).await?;
        let collection = self.properties_of(db);
        let replaced = collection
            .find_one_and_replace(filter, properties)
            .upsert(*precondition == Precondition::None)
            .return_document(ReturnDocument::Before);
        let before = write(db, replaced.into_future()).await?;
        self.settled(db, id, precondition, before.is_some()).await?;
        Ok(Written { created: before.is_none(), etag })
    }

    /// The condition is part of the write, so that nothing comes between the check and the write.
    async fn filter(
        &self,
        db: &str,
        id: &str,
        precondition: &Precondition,
    ) -> Result<Document, WriteError> {
        match precondition {
            Precondition::None => Ok(doc! { "_id": id }),
            Precondition::Match(tag) => Ok(doc! { "_id": id, "_etag": stored_tag(tag) }),
            Precondition::MissingTag => Err(WriteError::TagRequired(self.tag(db, id).await?)),
        }
    }

    async fn settled(
        &self,
        db: &str,
        id: &str,
        precondition: &Precondition,
        found: bool,
    ) -> Result<(), WriteError> {
        if found || *precondition == Precondition::None {
            return Ok(());
        }
        Err(WriteError::TagMismatch(self.tag(db, id).await?))
    }

    async fn tag(&self, db: &str, id: &str) -> Result<Option<String>, CatalogError> {
        let collection = self.properties_of(db);
        let found = within(db, collection.find_one(doc! { "_id": id }).into_future()).await?;
        Ok(found.and_then(|properties| tag_of(&properties)))
    }

    async fn create_collection(&self, namespace: &Namespace) -> Result<(), WriteError> {
        let database = self.client.database(&namespace.db);
        let created = database.create_collection(&namespace.coll).into_future().await;
        match created {
            Err(error) if !exists_already(&error) => Err(refusal(&namespace.db, error)),
            _ => Ok(()),
        }
    }

    fn properties_of(&self, db: &str) -> mongodb::Collection<Document> {
        self.client.database(db).collection(PROPERTIES)
    }
}

/// The tag of stored metadata as clients see it.
pub fn tag_of(properties: &Document) -> Option<String> {
    match properties.get("_etag")? {
        Bson::ObjectId(tag) => Some(tag.to_hex()),
        Bson::String(tag) => Some(tag.clone()),
        _ => None,
    }
}

/// A tag as stored: an ObjectId when it is spelled like one.
fn stored_tag(tag: &str) -> Bson {
    ObjectId::parse_str(tag).map_or_else(|_| Bson::from(tag), Bson::ObjectId)
}

async fn write<T>(
    db: &str,
    question: impl Future<Output = mongodb::error::Result<T>>,
) -> Result<T, WriteError> {
    match within(db, question).await {
        Err(CatalogError::Unavailable(error)) => Err(refusal(db, error)),
        other => Ok(other?),
    }
}

/// A command that MongoDB refuses is the client's fault; anything else is not.
fn refusal(db: &str, error: mongodb::error::Error) -> WriteError {
    match error.kind.as_ref() {
        _ if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => WriteError::Conflict,
        // Two upserts of the same document.
        ErrorKind::Command(command) if command.code == 11000 => WriteError::Conflict,
        ErrorKind::Command(command) if command.code == 13 => {
            WriteError::Catalog(CatalogError::Privilege(db.to_owned()))
        }
        ErrorKind::Command(command) if !is_passing(command.code) => {
            WriteError::Refused(command.message.clone())
        }
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            WriteError::Refused(write.message.clone())
        }
        _ => WriteError::Catalog(CatalogError::Unavailable(error)),
    }
}

/// Codes of elections and shutdowns: trying again helps.
fn is_passing(code: i32) -> bool {
    matches!(code, 6 | 7 | 89 | 91 | 189 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436)
}

fn exists_already(error: &mongodb::error::Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Command(command) if command.code == 48)
}
