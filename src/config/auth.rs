//! Who is calling, and how they prove it.

mod api_keys;
mod basic;
mod jwt;
mod origins;

use std::time::Duration;

pub use self::api_keys::ApiKeysConfig;
pub use self::basic::{BasicConfig, BasicRealm, CreateUser, MongoRealm};
pub use self::jwt::{JwtAlgorithm, JwtConfig, JwtKey, KeySetPlace};
pub use self::origins::OriginsConfig;
use super::settings::Settings;

/// How callers are told apart. A mechanism that is `None` is switched off.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    /// Every caller may do everything.
    pub insecure_no_auth: bool,
    /// User property or claim that names the caller's tenant, a dotted path.
    pub tenant: String,
    /// Realm named in the Basic challenge.
    pub realm: String,
    pub basic: Option<BasicConfig>,
    pub jwt: Option<JwtConfig>,
    pub api_keys: Option<ApiKeysConfig>,
    pub cookie: Option<CookieConfig>,
    pub tokens: TokensConfig,
    /// Time in which a ticket must be used.
    pub ticket_ttl: Duration,
    /// How long before its credential ends an open connection says so; `None` does not.
    pub expiry_notice: Option<Duration>,
    pub guard: Option<GuardConfig>,
    pub origins: OriginsConfig,
}

/// Credentials in a cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CookieConfig {
    pub name: String,
}

/// Tokens that stand for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokensConfig {
    /// Whether a token is accepted as its user's password in HTTP Basic.
    pub basic: bool,
    /// Life of a token made here.
    pub ttl: Duration,
}

/// Turns away an address that keeps failing to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardConfig {
    pub failures: usize,
    pub window: Duration,
}

/// A bounded memory of what was read or checked; `ttl` `None` remembers nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheConfig {
    pub ttl: Option<Duration>,
    pub size: usize,
}

impl AuthConfig {
    /// Whether callers are somebody: without, there is nobody to hold to a tenant.
    pub fn tells_callers_apart(&self) -> bool {
        let mechanism = self.basic.is_some() || self.jwt.is_some() || self.api_keys.is_some();
        mechanism && !self.insecure_no_auth
    }

    pub(crate) fn read(settings: &mut Settings) -> Self {
        let auth = Self {
            insecure_no_auth: settings.flag("auth.insecure_no_auth"),
            tenant: settings.text("auth.tenant"),
            realm: realm(settings),
            basic: BasicConfig::read(settings),
            jwt: JwtConfig::read(settings),
            api_keys: ApiKeysConfig::read(settings),
            cookie: CookieConfig::read(settings),
            tokens: TokensConfig::read(settings),
            ticket_ttl: settings.duration("auth.tickets.ttl"),
            expiry_notice: settings.optional_duration("auth.expiry_notice"),
            guard: GuardConfig::read(settings),
            origins: OriginsConfig::read(settings),
        };
        if auth.insecure_no_auth {
            settings.warn("auth.insecure_no_auth is set: every caller may read everything");
        }
        auth
    }
}

impl CookieConfig {
    fn read(settings: &mut Settings) -> Option<Self> {
        const KEY: &str = "auth.cookie.name";
        if !settings.switched_on("auth.cookie") {
            return None;
        }
        let name = settings.text(KEY);
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if !name.bytes().all(allowed) {
            settings.refuse_set(KEY, format!("is `{name}`, which no cookie can be called"));
        }
        Some(Self { name })
    }
}

impl TokensConfig {
    fn read(settings: &mut Settings) -> Self {
        Self {
            basic: settings.flag("auth.tokens.basic"),
            ttl: settings.duration("auth.tokens.ttl"),
        }
    }
}

impl GuardConfig {
    fn read(settings: &mut Settings) -> Option<Self> {
        settings.switched_on("auth.guard").then(|| Self {
            failures: settings.count("auth.guard.failures"),
            window: settings.duration("auth.guard.window"),
        })
    }
}

impl CacheConfig {
    pub(crate) fn read(settings: &mut Settings, ttl: &str, size: &str) -> Self {
        Self { ttl: settings.optional_duration(ttl), size: settings.count(size) }
    }
}

fn realm(settings: &mut Settings) -> String {
    const KEY: &str = "auth.realm";
    let realm = settings.text(KEY);
    if realm.contains(['"', '\\']) || !realm.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        settings.refuse_set(KEY, "must be plain ASCII without quotes and backslashes");
    }
    realm
}

/// A name of a field that is put into queries: dotted where allowed, never an operator.
fn field(settings: &mut Settings, key: &str, dotted: bool) -> String {
    let name = settings.text(key);
    let empty = name.split('.').any(str::is_empty);
    if name.starts_with('$') || name.contains('\0') || empty || (!dotted && name.contains('.')) {
        let kind =
            if dotted { "a property or a dotted path" } else { "a property of the document" };
        settings.refuse_set(key, format!("is `{name}`; it must name {kind}"));
    }
    name
}
