use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ConfigError;
use super::key::Kind;
use super::keys;
use super::origin::Origin;
use super::settings::{Layer, Settings};
use super::suggest::suggest;
use super::tree::{Name, Node, Place, SyntaxError, Value, parse_yaml};

/// A configuration file is a page of text; a larger one is not a configuration file.
const LIMIT: u64 = 1024 * 1024;

/// A configuration file as read: its path, for messages, and its text.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl ConfigFile {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(LIMIT + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > LIMIT {
            return Err(ConfigError::TooLarge { path: path.to_owned(), limit: LIMIT });
        }
        Ok(Self { path: path.to_owned(), text })
    }

    /// What the file says. Keys that are not known are noted as errors.
    pub(crate) fn layer(&self, settings: &mut Settings) -> Result<Layer, ConfigError> {
        let root = parse_yaml(&self.text).map_err(|error| self.syntax(error))?;
        let path = Arc::new(self.path.clone());
        let mut flattened = Flattened { path, settings, layer: Vec::new() };
        match root.value {
            Value::Null => {}
            Value::Map(entries) => flattened.section("", entries),
            _ => return Err(self.syntax(SyntaxError::new(root.at, "is not a mapping of settings"))),
        }
        Ok(flattened.layer)
    }

    fn syntax(&self, SyntaxError { at, message }: SyntaxError) -> ConfigError {
        let path = self.path.clone();
        ConfigError::Yaml { path, line: at.line, column: at.column, message }
    }
}

/// Walks the tree into dotted names. The depth is bounded by the parser.
struct Flattened<'a> {
    path: Arc<PathBuf>,
    settings: &'a mut Settings,
    layer: Layer,
}

impl Flattened<'_> {
    fn section(&mut self, section: &str, entries: Vec<(Name, Node)>) {
        for (name, node) in entries {
            let path = match section {
                "" => name.text.clone(),
                _ => format!("{section}.{}", name.text),
            };
            self.entry(&path, &name, node);
        }
    }

    fn entry(&mut self, path: &str, name: &Name, node: Node) {
        match (path, keys::find(path)) {
            ("mongo-mounts" | "mongo.mongo-mounts", _) => self.set("mounts", node),
            ("change-streams-keep-alive-ms" | "mongo.change-streams-keep-alive-ms", _) => {
                self.set("streams.heartbeat", in_milliseconds(node));
            }
            (_, Some(key)) if key.kind != Kind::Switch => self.set(path, node),
            (_, Some(_)) if !is_section(&node.value) => self.set(path, node),
            (_, Some(_)) => self.inside(path, node),
            ("mongo", None) => self.inside(path, node),
            (_, None) if keys::sections().contains(path) => self.inside(path, node),
            _ => self.unknown(path, name),
        }
    }

    fn inside(&mut self, path: &str, node: Node) {
        match node.value {
            Value::Map(entries) => self.section(path, entries),
            Value::Null => {}
            _ => {
                let reason = "is a section; write its settings below it";
                self.settings.refuse(path, self.origin(node.at), reason);
            }
        }
    }

    fn set(&mut self, name: &str, node: Node) {
        let origin = self.origin(node.at);
        self.layer.extend(keys::find(name).map(|key| (key, node.value, origin)));
    }

    fn unknown(&mut self, path: &str, name: &Name) {
        let (key, suggestion) = (path.to_owned(), suggest(path));
        let origin = self.origin(name.at);
        self.settings.error(ConfigError::UnknownKey { origin, key, suggestion });
    }

    fn origin(&self, Place { line, column }: Place) -> Origin {
        Origin::File { path: self.path.clone(), line, column }
    }
}

fn is_section(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::Null)
}

/// RESTHeart writes a bare number of milliseconds.
fn in_milliseconds(mut node: Node) -> Node {
    if let Value::Text(text) = &mut node.value
        && text.bytes().all(|b| b.is_ascii_digit())
    {
        text.push_str("ms");
    }
    node
}
