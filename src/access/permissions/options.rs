use bson::{Bson, Document};

use crate::access::scope::{FilterError, ProjectError, ProjectResponse, ReadFilter, unescaped};
use crate::json::{JsonReadError, Limits, parse_document};

/// The `mongo` and `tailwater` sections of a permission.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) read_filter: Option<ReadFilter>,
    pub(super) project_response: Option<ProjectResponse>,
    pub(super) allow_management: bool,
    pub(super) all_topics: bool,
}

/// Why the sections cannot be used. A permission with this problem denies what it matches.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionsError {
    #[error("`{0}` must be true or false")]
    NotAFlag(String),
    #[error("`{0}` must be a document")]
    NotADocument(String),
    #[error("`{0}` stands beside `mongo`, where it has no effect; move it into `mongo`")]
    Outside(&'static str),
    #[error("`tailwater` has no setting `{0}`")]
    Unknown(String),
    #[error("`{name}` is not JSON: {source}")]
    Json { name: String, source: JsonReadError },
    #[error("readFilter cannot be used: {0}")]
    Filter(#[from] FilterError),
    #[error(transparent)]
    Project(#[from] ProjectError),
}

impl Options {
    /// `permission` is the whole document or entry.
    pub(super) fn parse(permission: &Document) -> Result<Self, OptionsError> {
        // An earlier RESTHeart read them here. Ignoring them now would show everything.
        for outside in ["readFilter", "writeFilter", "projectResponse"] {
            if permission.contains_key(outside) {
                return Err(OptionsError::Outside(outside));
            }
        }
        let mut options = match section(permission, "mongo")? {
            Some(mongo) => Self::of_mongo(&mongo)?,
            None => Self::default(),
        };
        if let Some(tailwater) = section(permission, "tailwater")? {
            options.all_topics = all_topics(&tailwater)?;
        }
        Ok(options)
    }

    fn of_mongo(mongo: &Document) -> Result<Self, OptionsError> {
        for flag in ["allowBulkPatch", "allowBulkDelete", "allowWriteMode"] {
            self::flag(mongo, flag)?;
        }
        for write in ["writeFilter", "mergeRequest"] {
            section(mongo, write)?;
        }
        let filter = section(mongo, "readFilter")?.map(|filter| unescaped(&filter));
        let project = section(mongo, "projectResponse")?;
        Ok(Self {
            read_filter: filter
                .filter(|filter| !filter.is_empty())
                .map(|filter| ReadFilter::parse(&filter))
                .transpose()?,
            project_response: match project {
                Some(project) => ProjectResponse::parse(&project)?,
                None => None,
            },
            allow_management: flag(mongo, "allowManagementRequests")?,
            all_topics: false,
        })
    }
}

fn all_topics(tailwater: &Document) -> Result<bool, OptionsError> {
    match tailwater.keys().find(|key| *key != "allTopics") {
        Some(unknown) => Err(OptionsError::Unknown(unknown.clone())),
        None => flag(tailwater, "allTopics"),
    }
}

/// A document, or its JSON as files hold it.
fn section(document: &Document, name: &str) -> Result<Option<Document>, OptionsError> {
    match document.get(name) {
        None | Some(Bson::Null) => Ok(None),
        Some(Bson::Document(section)) => Ok(Some(section.clone())),
        Some(Bson::String(json)) if name != "mongo" && name != "tailwater" => {
            let json = parse_document(json, Limits::default());
            json.map(Some).map_err(|source| OptionsError::Json { name: name.to_owned(), source })
        }
        Some(_) => Err(OptionsError::NotADocument(name.to_owned())),
    }
}

fn flag(document: &Document, name: &str) -> Result<bool, OptionsError> {
    match document.get(name) {
        None | Some(Bson::Null) => Ok(false),
        Some(Bson::Boolean(flag)) => Ok(*flag),
        Some(_) => Err(OptionsError::NotAFlag(name.to_owned())),
    }
}
