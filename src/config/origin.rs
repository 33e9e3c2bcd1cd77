use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a setting comes from: shown beside each value by `check`, and in front of each error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file; line and column count from 1.
    File { path: Arc<PathBuf>, line: u64, column: u64 },
    /// A variable of the environment, by its name.
    Environment(String),
    /// A command-line flag, by its name.
    Flag(&'static str),
}

impl Origin {
    /// Resolves a relative path: beside the configuration file when the file names it, else in the
    /// working directory.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        match self {
            Self::File { path: file, .. } => file.parent().unwrap_or(Path::new("")).join(path),
            _ => PathBuf::from(path),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Origin {
        Origin::File { path: Arc::new(PathBuf::from(path)), line: 3, column: 7 }
    }

    #[test]
    fn says_where() {
        assert_eq!(file("/etc/tailwater.yaml").to_string(), "/etc/tailwater.yaml:3:7");
        assert_eq!(Origin::Environment("TAILWATER_LISTEN".into()).to_string(), "TAILWATER_LISTEN");
        assert_eq!(Origin::Flag("--listen").to_string(), "--listen");
    }

    #[test]
    fn resolves_paths_beside_the_file_that_names_them() {
        let check = |origin: Origin, path: &str, expected: &str| {
            assert_eq!(origin.resolve(path), PathBuf::from(expected));
        };
        check(file("/etc/tw/tailwater.yaml"), "users.yaml", "/etc/tw/users.yaml");
        check(file("/etc/tw/tailwater.yaml"), "/srv/users.yaml", "/srv/users.yaml");
        check(file("tailwater.yaml"), "users.yaml", "users.yaml");
        check(Origin::Flag("--entities"), "entities", "entities");
    }
}
