//! What operators write, and what comes of it.

mod auth;
mod documents;
mod malformed;
mod mounts;
mod precedence;
mod secrets;
mod unknown;

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::file::ConfigFile;
use super::settings::Settings;
use super::{CommonArgs, Config, ConfigError};

/// Loads from a file of this text, called `tailwater.yaml`, and an environment, without touching
/// the disk.
fn load(
    file: &str,
    environment: &[(&str, &str)],
    args: &CommonArgs,
) -> Result<Config, ConfigError> {
    let file = ConfigFile { path: PathBuf::from("conf/tailwater.yaml"), text: file.to_owned() };
    let environment = Environment::new(environment.iter().copied());
    Config::merge(args, &environment, Some(&file), Settings::default())
}

fn from_file(text: &str) -> Result<Config, ConfigError> {
    load(text, &[], &CommonArgs::default())
}

fn from_environment(environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    load("", environment, &CommonArgs::default())
}

/// The text of the errors, or what was accepted by mistake.
fn errors(result: Result<Config, ConfigError>) -> String {
    match result {
        Ok(config) => panic!("accepted: {:?}", config.effective()),
        Err(error) => error.to_string(),
    }
}

/// The value of a setting as `check` shows it, and its origin.
fn shown(config: &Config, key: &str) -> (String, String) {
    let found = config.effective().iter().find(|it| it.key == key);
    found.map_or(("absent".into(), String::new()), |it| (it.value.clone(), it.origin.to_string()))
}

/// A file on disk that goes away with the test.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tailwater-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
