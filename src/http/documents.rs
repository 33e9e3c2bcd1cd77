//! Documents from MongoDB, as reads ask for them.

mod query;

use std::{fmt, time::Duration};

use bson::{Document, RawDocumentBuf};
use futures_util::TryStreamExt;
use mongodb::{Client, Collection, error::ErrorKind};

pub(super) use query::{PageLimits, ReadQuery};

use super::error::ApiError;
use crate::binding::Namespace;

/// Reads documents with the client for requests.
#[derive(Clone)]
pub struct Documents {
    client: Client,
    limits: PageLimits,
    time_limit: Option<Duration>,
}

/// Longest that a read may take when nothing else is configured.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most bytes of documents in one page: the rest is on the next one.
const MAX_PAGE_BYTES: usize = 64 * 1024 * 1024;

impl Documents {
    /// `time_limit` bounds each read on the server.
    pub fn new(client: Client, default: usize, most: usize, time_limit: Option<Duration>) -> Self {
        Self { client, limits: PageLimits { default, most }, time_limit }
    }

    pub(in crate::http) fn limits(&self) -> PageLimits {
        self.limits
    }

    pub(in crate::http) async fn page(
        &self,
        namespace: &Namespace,
        filter: Document,
        read: &ReadQuery,
    ) -> Result<Vec<RawDocumentBuf>, ApiError> {
        let collection = self.collection(namespace);
        let limit = i64::try_from(read.pagesize).unwrap_or(i64::MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut find = collection.find(filter).limit(limit).skip(read.skip);
        find = find.max_time(self.time_limit.unwrap_or(PATIENCE));
        if !read.sort.is_empty() {
            find = find.sort(read.sort.clone());
        }
        if !read.keys.is_empty() {
            find = find.projection(read.keys.clone());
        }
        let mut cursor = find.await.map_err(refusal)?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        while let Some(document) = cursor.try_next().await.map_err(refusal)? {
            bytes += document.as_bytes().len();
            if bytes > MAX_PAGE_BYTES {
                let message = "the page is too large; ask for a smaller pagesize";
                return Err(ApiError::BadRequest(message.to_owned()));
            }
            found.push(document);
        }
        Ok(found)
    }

    pub(in crate::http) async fn count(
        &self,
        namespace: &Namespace,
        filter: Document,
    ) -> Result<u64, ApiError> {
        let collection = self.collection(namespace);
        let counting = collection.count_documents(filter);
        counting.max_time(self.time_limit.unwrap_or(PATIENCE)).await.map_err(refusal)
    }

    pub(in crate::http) async fn one(
        &self,
        namespace: &Namespace,
        filter: Document,
    ) -> Result<Option<RawDocumentBuf>, ApiError> {
        let collection = self.collection(namespace);
        let finding = collection.find_one(filter);
        finding.max_time(self.time_limit.unwrap_or(PATIENCE)).await.map_err(refusal)
    }

    fn collection(&self, namespace: &Namespace) -> Collection<RawDocumentBuf> {
        self.client.database(&namespace.db).collection(&namespace.coll)
    }
}

/// A command that MongoDB refuses is the client's fault; anything else is not.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn refusal(error: mongodb::error::Error) -> ApiError {
    match error.kind.as_ref() {
        ErrorKind::Command(command) if command.code == 13 => ApiError::Unavailable(
            "the service's MongoDB user may not read this collection; grant it find on it"
                .to_owned(),
        ),
        ErrorKind::Command(command) if command.code == 50 => ApiError::BadRequest(
            "the read took too long; use a filter that an index serves".to_owned(),
        ),
        ErrorKind::Command(command) if !is_passing(command.code) => {
            ApiError::BadRequest(format!("MongoDB refuses the read: {}", command.message))
        }
        _ => ApiError::Unavailable("MongoDB is not available".to_owned()),
    }
}

/// Codes of elections and shutdowns: trying again helps.
fn is_passing(code: i32) -> bool {
    matches!(code, 6 | 7 | 89 | 91 | 189 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436)
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("limits", &self.limits).finish_non_exhaustive()
    }
}
