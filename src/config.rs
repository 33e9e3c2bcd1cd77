//! What the operator asked for: one tree of plain, validated values, cut up per component.
//!
//! Flags win over the environment, the environment over one YAML file, the file over the defaults.
//! Each value knows where it comes from. Keys that are not known are errors, in the file and in the
//! environment, and a value that cannot be used never passes in silence: all problems are reported
//! at once.

mod acl;
mod args;
mod auth;
mod compat;
mod duration;
mod environment;
mod error;
mod example;
mod file;
mod key;
mod keys;
mod limits;
mod listen;
mod mongo_uri;
mod mongodb;
mod mounts;
mod origin;
mod position_key;
pub(crate) mod prefix;
mod secret;
mod secret_file;
mod settings;
mod size;
mod streams;
mod suggest;
#[cfg(test)]
mod tests;
mod tree;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::acl::{AclConfig, AclSemantics, AclSource};
pub use self::args::CommonArgs;
pub use self::auth::{
    ApiKeysConfig, AuthConfig, BasicConfig, BasicRealm, CacheConfig, CookieConfig, CreateUser,
    GuardConfig, JwtAlgorithm, JwtConfig, JwtKey, KeySetPlace, MongoRealm, OriginsConfig,
    TokensConfig,
};
pub use self::compat::CompatMode;
use self::environment::Environment;
pub use self::error::ConfigError;
use self::file::ConfigFile;
pub use self::limits::{DocumentsConfig, LimitsConfig};
pub use self::listen::{ListenConfig, TrustedProxies};
pub use self::mongo_uri::MongoUri;
pub use self::mongodb::{MongodbConfig, Namespace};
pub use self::mounts::{Mount, Mounts, Resolved, is_reserved_database};
pub use self::origin::Origin;
pub use self::position_key::PositionKey;
pub use self::secret::{REDACTED, Secret};
pub use self::settings::Effective;
use self::settings::Settings;
pub use self::streams::{Bounds, OwnCursors, StreamsConfig};

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: ListenConfig,
    pub mongodb: MongodbConfig,
    pub mounts: Mounts,
    pub auth: AuthConfig,
    /// `None`: nobody may do anything.
    pub acl: Option<AclConfig>,
    pub streams: StreamsConfig,
    pub limits: LimitsConfig,
    pub documents: DocumentsConfig,
    /// `None`: the key is kept in the settings collection.
    pub position_key: Option<PositionKey>,
    pub compat: CompatMode,
    /// Folder of entity and subscription declarations.
    pub entities: Option<PathBuf>,
    /// Where the entity feeds are mounted, like `/api`.
    pub prefix: String,
    effective: Vec<Effective>,
    warnings: Vec<String>,
}

impl Config {
    /// Reads all sources. The environment is passed in, usually as `std::env::vars_os()`.
    ///
    /// # Errors
    /// When a file cannot be read or any setting cannot be used; all problems are in one error.
    pub fn load<K, V>(
        args: &CommonArgs,
        environment: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ConfigError>
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let environment = Environment::new(environment);
        let mut settings = Settings::default();
        let named = environment.config(&mut settings).map(PathBuf::from);
        let file = args.config.clone().or(named).map(|path| ConfigFile::read(&path)).transpose()?;
        Self::merge(args, &environment, file.as_ref(), settings)
    }

    /// Reads a configuration from text, without flags and environment. Relative paths in it are
    /// resolved beside `path`, which need not exist.
    pub fn from_yaml(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let file = ConfigFile { path: path.to_owned(), text: text.to_owned() };
        let (args, environment) = (CommonArgs::default(), Environment::default());
        Self::merge(&args, &environment, Some(&file), Settings::default())
    }

    /// The defaults alone.
    ///
    /// # Errors
    /// None: every default can be used.
    pub fn defaults() -> Result<Self, ConfigError> {
        Self::read(Settings::default())
    }

    /// Every setting in use, with its value (secrets redacted) and its origin.
    pub fn effective(&self) -> &[Effective] {
        &self.effective
    }

    /// What the operator should know although it is no error.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Refuses addresses that others than this machine can reach.
    ///
    /// # Errors
    /// [`ConfigError::Exposed`], with the way out.
    pub fn check_loopback(&self) -> Result<(), ConfigError> {
        self.listen.check_loopback()
    }

    /// A commented file with every setting, which loads as it is.
    pub fn example_yaml() -> String {
        example::example_yaml()
    }

    fn merge(
        args: &CommonArgs,
        environment: &Environment,
        file: Option<&ConfigFile>,
        mut settings: Settings,
    ) -> Result<Self, ConfigError> {
        if let Some(file) = file {
            let layer = file.layer(&mut settings)?;
            settings.apply(layer);
        }
        let layer = environment.layer(&mut settings);
        settings.apply(layer);
        settings.apply(args.layer());
        Self::read(settings)
    }

    fn read(mut settings: Settings) -> Result<Self, ConfigError> {
        let from = &mut settings;
        let mut config = Self {
            listen: ListenConfig::read(from),
            prefix: prefix::read(from),
            compat: CompatMode::read(from),
            entities: from.path("entities"),
            position_key: PositionKey::read(from),
            mounts: Mounts::read(from),
            mongodb: MongodbConfig::read(from),
            auth: AuthConfig::read(from),
            acl: AclConfig::read(from),
            streams: StreamsConfig::read(from),
            limits: LimitsConfig::read(from),
            documents: DocumentsConfig::read(from),
            effective: Vec::new(),
            warnings: Vec::new(),
        };
        (config.effective, config.warnings) = settings.finish()?;
        Ok(config)
    }
}
