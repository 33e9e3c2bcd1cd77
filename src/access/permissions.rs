//! What callers may read.

mod file;
mod grant;
mod kind;
pub mod mongo;
mod options;
mod order;
mod permission;
mod set;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bson::Document;

pub use self::file::FileError;
pub use self::grant::{Decision, Denial, Grant};
pub use self::kind::RequestKind;
pub use self::permission::{PermissionError, PermissionProblem};
use self::set::PermissionSet;
use super::principal::Caller;
use super::request::RequestHead;
use super::variable::Scope;
use crate::config::{AclConfig, AclSemantics, AclSource};

/// All permissions, replaceable while requests are judged.
///
/// The permissions of MongoDB are asked first, then those of the file; the first that match decide.
#[derive(Debug)]
pub struct Permissions {
    mode: Mode,
    sets: RwLock<Arc<Sets>>,
    /// Whether those of MongoDB were read at least once.
    loaded: AtomicBool,
}

#[derive(Debug)]
enum Mode {
    /// Authentication is switched off: everybody is root.
    Everything,
    /// Nobody may do anything.
    Nothing,
    Listed {
        root_role: Option<String>,
        semantics: AclSemantics,
    },
}

#[derive(Debug, Default, Clone)]
struct Sets {
    mongo: Arc<PermissionSet>,
    file: Arc<PermissionSet>,
}

impl Permissions {
    /// Without permissions yet: until some are given only the root role may do something. `None`
    /// is a deployment whose permissions are switched off.
    pub fn new(config: Option<&AclConfig>) -> Self {
        let awaited = config.is_some_and(|acl| matches!(acl.source, AclSource::Mongo { .. }));
        let mode = match config {
            None => Mode::Nothing,
            Some(acl) => {
                Mode::Listed { root_role: acl.root_role.clone(), semantics: acl.semantics }
            }
        };
        Self { loaded: AtomicBool::new(!awaited), ..Self::with_mode(mode) }
    }

    /// For a service that is told to check nothing.
    pub fn everything() -> Self {
        Self::with_mode(Mode::Everything)
    }

    fn with_mode(mode: Mode) -> Self {
        Self { mode, sets: RwLock::default(), loaded: AtomicBool::new(true) }
    }

    /// Puts documents in place of those of MongoDB. One that cannot be used grants nothing and
    /// changes nothing about the others; each is reported.
    pub fn replace(&self, documents: &[Document]) -> Vec<PermissionError> {
        let (set, errors) = PermissionSet::of_documents(documents);
        self.update(|sets| sets.mongo = Arc::new(set));
        self.loaded.store(true, Ordering::Release);
        errors
    }

    /// Whether the permissions are known: until they were read, nothing can be decided but for the
    /// root role.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Puts the entries of a YAML text in place of those of the file; otherwise as
    /// [`Permissions::replace`].
    ///
    /// # Errors
    /// [`FileError`] when the text as a whole cannot be read; what was in place stays.
    pub fn replace_file(&self, yaml: &str) -> Result<Vec<PermissionError>, FileError> {
        let semantics = match &self.mode {
            Mode::Listed { semantics, .. } => *semantics,
            _ => AclSemantics::V9_12,
        };
        let (set, errors) = PermissionSet::of_entries(&file::entries(yaml)?, semantics);
        self.update(|sets| sets.file = Arc::new(set));
        Ok(errors)
    }

    /// Reads a file; otherwise as [`Permissions::replace_file`].
    ///
    /// # Errors
    /// [`FileError`] when the file cannot be read.
    pub fn load_file(&self, path: &Path) -> Result<Vec<PermissionError>, FileError> {
        self.replace_file(&file::read(path)?)
    }

    /// Whether there is no permission at all: then only the root role may do something.
    pub fn is_empty(&self) -> bool {
        let sets = self.sets();
        sets.mongo.is_empty() && sets.file.is_empty()
    }

    /// Whether nothing is checked at all.
    pub fn allow_everything(&self) -> bool {
        matches!(self.mode, Mode::Everything)
    }

    /// Whether the caller may do everything, whatever the permissions say.
    pub fn is_root(&self, caller: &Caller) -> bool {
        match &self.mode {
            Mode::Everything => true,
            Mode::Nothing => false,
            Mode::Listed { root_role, .. } => {
                root_role.as_ref().is_some_and(|root| caller.roles().contains(root))
            }
        }
    }

    /// What the caller may do with this request.
    ///
    /// The same request judged again later, after users or permissions changed, gives an equal
    /// grant exactly when nothing changed for this caller.
    pub fn decide(&self, caller: &Caller, head: &RequestHead, kind: RequestKind) -> Decision {
        let semantics = match &self.mode {
            Mode::Everything => return Decision::Allow(Grant::everything()),
            Mode::Nothing => return Decision::Deny(Denial::of(caller)),
            Mode::Listed { semantics, .. } => *semantics,
        };
        if self.is_root(caller) {
            return Decision::Allow(Grant::everything());
        }
        if !self.is_loaded() {
            return Decision::Deny(Denial::early(caller));
        }
        let sets = self.sets();
        let selected = sets.in_order().find_map(|set| set.select(caller, head, kind, semantics));
        let Some(permission) = selected else { return Decision::Deny(Denial::of(caller)) };
        match permission.grant(&Scope { head, caller }) {
            Ok(grant) => Decision::Allow(grant),
            Err(denial) => Decision::Deny(denial),
        }
    }

    fn sets(&self) -> Arc<Sets> {
        Arc::clone(&self.sets.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn update(&self, change: impl FnOnce(&mut Sets)) {
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut sets));
    }
}

impl Sets {
    fn in_order(&self) -> impl Iterator<Item = &PermissionSet> {
        [&*self.mongo, &*self.file].into_iter()
    }
}
