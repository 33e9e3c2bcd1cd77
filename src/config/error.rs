use std::fmt;
use std::path::PathBuf;

use super::origin::Origin;

/// Why a configuration was refused. Each text names the place, the key and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("{path} is larger than {limit} bytes; is it the right file?", path = path.display())]
    TooLarge { path: PathBuf, limit: u64 },

    /// Not YAML. Line and column are 0 where the parser knows no place.
    #[error("{path}:{line}:{column}: {message}", path = path.display())]
    Yaml { path: PathBuf, line: u64, column: u64, message: String },

    #[error("{origin}: unknown key {key}{}", Hint(suggestion))]
    UnknownKey { origin: Origin, key: String, suggestion: Option<String> },

    #[error("{origin}: unknown setting {name}{}", Hint(suggestion))]
    UnknownVariable { origin: Origin, name: String, suggestion: Option<String> },

    /// A value that cannot be used; the reason reads on from the key.
    #[error("{origin}: {key} {reason}")]
    Value { origin: Origin, key: String, reason: String },

    /// Settings that contradict each other.
    #[error("{0}")]
    Conflict(String),

    /// Others than this machine would be served.
    #[error(
        "refusing to listen on {address} ({key}): only this machine is served; listen on a loopback \
         address such as 127.0.0.1:8080"
    )]
    Exposed { address: std::net::SocketAddr, key: &'static str },

    /// Everything that is wrong, one problem a line.
    #[error("{}", Lines(.0))]
    Many(Vec<ConfigError>),
}

impl ConfigError {
    /// One error from a list, so that a user sees all problems at once.
    pub(crate) fn collect(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.pop() {
            None => Ok(()),
            Some(only) if errors.is_empty() => Err(only),
            Some(last) => {
                errors.push(last);
                Err(Self::Many(errors))
            }
        }
    }
}

struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(suggestion) => write!(f, "; did you mean {suggestion}?"),
            None => f.write_str("; docs/configuration.md lists the known ones"),
        }
    }
}

struct Lines<'a>(&'a [ConfigError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}
