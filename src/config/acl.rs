use std::path::PathBuf;

use super::auth::CacheConfig;
use super::mongodb::Namespace;
use super::settings::Settings;

/// What callers may do. Switched off, nobody may do anything.
#[derive(Debug, Clone)]
pub struct AclConfig {
    pub source: AclSource,
    /// A file whose permissions are asked after those of the collection.
    pub also_file: Option<PathBuf>,
    /// Role that may do everything, unfiltered.
    pub root_role: Option<String>,
    pub semantics: AclSemantics,
}

/// Where permissions are kept.
#[derive(Debug, Clone)]
pub enum AclSource {
    Mongo {
        namespace: Namespace,
        cache: CacheConfig,
    },
    /// A YAML file with `permissions:`.
    File(PathBuf),
}

/// Which of several matching permissions counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclSemantics {
    /// The highest priority over all roles of the caller, as RESTHeart does since 9.12.
    V9_12,
    /// That of the caller's first role that has a match, as RESTHeart did before.
    Legacy,
}

impl AclConfig {
    pub(crate) fn read(settings: &mut Settings) -> Option<Self> {
        if !settings.switched_on("acl") {
            return None;
        }
        let file = settings.path("acl.file");
        // A deployment that keeps its permissions in a file never had a root role: a role that
        // merely is called admin must not become one.
        let root_role = match file.is_some() && !settings.is_set("acl.root_role") {
            true => None,
            false => settings.optional_text("acl.root_role"),
        };
        Some(Self {
            source: AclSource::read(settings, file),
            also_file: settings.path("acl.also_file"),
            root_role,
            semantics: AclSemantics::read(settings),
        })
    }
}

impl AclSource {
    fn read(settings: &mut Settings, file: Option<PathBuf>) -> Self {
        if let Some(file) = file {
            return Self::File(file);
        }
        Self::Mongo {
            namespace: Namespace::read(settings, "acl.database", "acl.collection"),
            cache: CacheConfig::read(settings, "acl.cache.ttl", "acl.cache.size"),
        }
    }
}

impl AclSemantics {
    fn read(settings: &mut Settings) -> Self {
        match settings.choice("acl.semantics").as_str() {
            "legacy" => Self::Legacy,
            _ => Self::V9_12,
        }
    }
}
