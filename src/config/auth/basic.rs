use std::path::PathBuf;

use super::{CacheConfig, field};
use crate::config::mongodb::Namespace;
use crate::config::secret::Secret;
use crate::config::settings::Settings;

/// HTTP Basic: where users are kept.
#[derive(Debug, Clone)]
pub struct BasicConfig {
    pub realm: BasicRealm,
    /// Checked passwords that need not be hashed again.
    pub verified: CacheConfig,
}

#[derive(Debug, Clone)]
pub enum BasicRealm {
    Mongo(MongoRealm),
    /// A YAML file with `users:`.
    File(PathBuf),
}

/// Users in a collection.
#[derive(Debug, Clone)]
pub struct MongoRealm {
    pub namespace: Namespace,
    /// Property that is the user name, a dotted path.
    pub prop_id: String,
    /// Property that is the password, at the root of the document.
    pub prop_password: String,
    /// JSON path of the list of roles, like `$.auth.groups`.
    pub json_path_roles: String,
    /// Whether passwords are bcrypt hashes; otherwise they are plain text.
    pub bcrypt_hashed_password: bool,
    /// Cost of hashes made here.
    pub bcrypt_complexity: u32,
    pub cache: CacheConfig,
    pub create_user: Option<CreateUser>,
}

/// The user to insert when the collection of users is empty.
#[derive(Debug, Clone)]
pub struct CreateUser {
    pub id: String,
    pub password: Secret,
    pub roles: Vec<String>,
}

impl BasicConfig {
    pub(super) fn read(settings: &mut Settings) -> Option<Self> {
        if !settings.switched_on("auth.basic") {
            return None;
        }
        let realm = match settings.path("auth.basic.file") {
            Some(file) => BasicRealm::File(file),
            None => BasicRealm::Mongo(MongoRealm::read(settings)),
        };
        let (ttl, size) = ("auth.basic.verified.ttl", "auth.basic.verified.size");
        Some(Self { realm, verified: CacheConfig::read(settings, ttl, size) })
    }
}

impl MongoRealm {
    fn read(settings: &mut Settings) -> Self {
        let (database, collection) = ("auth.basic.database", "auth.basic.collection");
        let complexity = settings.count("auth.basic.bcrypt_complexity");
        Self {
            namespace: Namespace::read(settings, database, collection),
            prop_id: field(settings, "auth.basic.prop_id", true),
            prop_password: field(settings, "auth.basic.prop_password", false),
            json_path_roles: json_path_roles(settings),
            bcrypt_hashed_password: settings.flag("auth.basic.bcrypt_hashed_password"),
            bcrypt_complexity: u32::try_from(complexity).unwrap_or(12),
            cache: CacheConfig::read(settings, "auth.basic.cache.ttl", "auth.basic.cache.size"),
            create_user: CreateUser::read(settings),
        }
    }
}

impl CreateUser {
    fn read(settings: &mut Settings) -> Option<Self> {
        const SECTION: &str = "auth.basic.create_user";
        if !settings.switched_on(SECTION) {
            return None;
        }
        let id = settings.optional_text("auth.basic.create_user.id");
        let password = settings.secret("auth.basic.create_user.password");
        let roles = settings.list("auth.basic.create_user.roles");
        let (Some(id), Some(password)) = (id, password) else {
            settings.refuse_set(SECTION, "needs both an id and a password");
            return None;
        };
        Some(Self { id, password, roles })
    }
}

/// `$.a.b`: the only form that deployments use, and the only one that is understood.
fn json_path_roles(settings: &mut Settings) -> String {
    const KEY: &str = "auth.basic.json_path_roles";
    let path = settings.text(KEY);
    let name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    if !path.strip_prefix("$.").is_some_and(|names| names.split('.').all(name)) {
        settings.refuse_set(KEY, format!("is `{path}`; write it like $.roles or $.auth.groups"));
    }
    path
}
