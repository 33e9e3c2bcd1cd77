use super::{CacheConfig, field};
use crate::config::mongodb::Namespace;
use crate::config::settings::Settings;

/// Bearer keys kept, as hashes, in a collection.
#[derive(Debug, Clone)]
pub struct ApiKeysConfig {
    /// What tells a key from a token.
    pub prefix: String,
    pub namespace: Namespace,
    pub prop_hash: String,
    pub prop_principal: String,
    pub prop_roles: String,
    pub prop_expires: String,
    pub cache: CacheConfig,
}

impl ApiKeysConfig {
    pub(super) fn read(settings: &mut Settings) -> Option<Self> {
        const SECTION: &str = "auth.api_keys";
        if !settings.switched_on(SECTION) {
            return None;
        }
        let prefix = settings.optional_text("auth.api_keys.prefix");
        if prefix.is_none() {
            settings
                .refuse_set(SECTION, "needs auth.api_keys.prefix, which tells keys from tokens");
        }
        let (database, collection) = ("auth.api_keys.database", "auth.api_keys.collection");
        Some(Self {
            namespace: Namespace::read(settings, database, collection),
            prop_hash: field(settings, "auth.api_keys.prop_hash", true),
            prop_principal: field(settings, "auth.api_keys.prop_principal", true),
            prop_roles: field(settings, "auth.api_keys.prop_roles", true),
            prop_expires: field(settings, "auth.api_keys.prop_expires", true),
            cache: CacheConfig::read(
                settings,
                "auth.api_keys.cache.ttl",
                "auth.api_keys.cache.size",
            ),
            prefix: prefix?,
        })
    }
}
