use std::fmt;

use bson::Document;

use crate::access::principal::Caller;
use crate::access::scope::{BindError, ProjectResponse};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Allow(Grant),
    Deny(Denial),
}

/// What one permission lets one caller do. Equal grants show the same.
#[derive(Clone, PartialEq, Default)]
pub struct Grant {
    /// The permission that decided; none for the root role.
    pub permission: Option<String>,
    /// Everything, unfiltered.
    pub root: bool,
    /// Which documents are shown, every variable bound. `None` shows all.
    pub read_filter: Option<Document>,
    /// Whether the filter holds values of this caller or request, so that it is not the same for
    /// everybody.
    pub read_filter_binds_caller: bool,
    /// Which fields are shown. `None` shows all.
    pub project_response: Option<ProjectResponse>,
    /// Whether metadata may be read and written.
    pub allow_management: bool,
    /// Whether the wildcard topic may be opened.
    pub all_topics: bool,
}

impl Grant {
    /// What it says of documents, as `@mongoPermissions` shows it: only what restricts the caller.
    pub fn described(&self) -> Document {
        let project = self.project_response.as_ref().map(ProjectResponse::to_document);
        let parts = [("readFilter", self.read_filter.clone()), ("projectResponse", project)];
        let said = parts.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?.into())));
        said.collect()
    }
}

/// Why a request is denied. The text is for the log and the operator: the caller learns nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Nobody is known to be calling, and no permission is for strangers: `401`.
    #[error("no permission lets strangers do this")]
    Unauthenticated,
    /// The permissions are not known yet: `503`.
    #[error("the permissions have not been read yet")]
    NotLoaded,
    /// No permission matches: `403`.
    #[error("no permission of this caller matches")]
    Forbidden,
    /// The permission that matches cannot be used: `403`, never unfiltered, and never the next one.
    #[error("permission `{permission}` matches but cannot be used: {reason}")]
    Broken { permission: String, reason: String },
    /// The permission that matches asks for a value that this caller does not have: `403`.
    #[error("permission `{permission}` matches but its readFilter cannot be bound: {source}")]
    Unbound { permission: String, source: BindError },
}

impl Grant {
    pub(super) fn everything() -> Self {
        Self { root: true, allow_management: true, all_topics: true, ..Self::default() }
    }
}

impl Denial {
    /// Before the permissions are known: a stranger is asked who they are in any case.
    pub(super) fn early(caller: &Caller) -> Self {
        match caller {
            Caller::Anonymous => Self::Unauthenticated,
            Caller::Known(_) => Self::NotLoaded,
        }
    }

    pub(super) fn of(caller: &Caller) -> Self {
        match caller {
            Caller::Anonymous => Self::Unauthenticated,
            Caller::Known(_) => Self::Forbidden,
        }
    }
}

/// The bound filter holds claims and stays out of logs.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("permission", &self.permission)
            .field("root", &self.root)
            .field("has_read_filter", &self.read_filter.is_some())
            .field("project_response", &self.project_response)
            .field("allow_management", &self.allow_management)
            .field("all_topics", &self.all_topics)
            .finish_non_exhaustive()
    }
}
