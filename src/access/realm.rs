//! Where users and keys are kept.

pub mod file;
pub mod mongo;
mod record;
#[cfg(test)]
pub(super) mod testing;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use bson::Document;
use futures_util::future::BoxFuture;

pub use self::record::{KeyShape, UserProblem, UserShape};
pub use super::password::StoredPassword;

/// A user as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    pub password: StoredPassword,
    /// In their stored order.
    pub roles: Vec<String>,
    /// What `@user` shows: everything but the password.
    pub properties: Document,
}

/// An API key as stored. Roles come only from here, never from the user it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiKey {
    pub principal: String,
    pub roles: Vec<String>,
    pub expires_at: Option<SystemTime>,
}

/// The store cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}: {reason}")]
pub struct RealmError {
    pub what: &'static str,
    pub reason: String,
}

/// Whether what was read a moment ago will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    Remembered,
    /// Read anew: something changed.
    Fresh,
}

/// The answer of a store: `None` for what does not exist or cannot be used.
pub type Found<'a, T> = BoxFuture<'a, Result<Option<Arc<T>>, RealmError>>;

/// Users by name.
pub trait UserRealm: Debug + Send + Sync {
    fn find<'a>(&'a self, name: &'a str, freshness: Freshness) -> Found<'a, User>;

    /// Whether passwords are hashed, so that an unknown user has to cost as much.
    fn is_hashed(&self) -> bool;

    /// Forgets what was read.
    fn forget(&self) {}
}

/// API keys by the SHA-256 of the key, in lower-case hexadecimal.
pub trait KeyRealm: Debug + Send + Sync {
    fn find<'a>(&'a self, hash: &'a str, freshness: Freshness) -> Found<'a, ApiKey>;

    /// Forgets what was read.
    fn forget(&self) {}
}
