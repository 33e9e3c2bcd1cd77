use std::collections::BTreeMap;
use std::ffi::OsString;

use super::error::ConfigError;
use super::key::{Key, variable};
use super::keys;
use super::origin::Origin;
use super::settings::{Layer, Settings};
use super::suggest::{suggest, suggest_variable};
use super::tree::Value;

/// The variables of the environment that may be settings. Others are never looked at.
#[derive(Debug, Default)]
pub(crate) struct Environment(BTreeMap<String, OsString>);

const PREFIX: &str = "TAILWATER_";

/// The configuration file is named outside itself.
const CONFIG: &str = "TAILWATER_CONFIG";

impl Environment {
    pub(crate) fn new<K, V>(variables: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let ours = variables.into_iter().filter_map(|(name, value)| {
            let name = name.into().into_string().ok()?;
            name.starts_with(PREFIX).then(|| (name, value.into()))
        });
        Self(ours.collect())
    }

    /// The configuration file, when the environment names it.
    pub(crate) fn config(&self, settings: &mut Settings) -> Option<String> {
        self.text(CONFIG, self.0.get(CONFIG)?, settings)
    }

    /// What the environment says. Unknown `TAILWATER_<SECTION>__<KEY>` are noted as errors; every
    /// other `TAILWATER_` name is left alone, for it may belong to somebody else.
    pub(crate) fn layer(&self, settings: &mut Settings) -> Layer {
        let mut layer = Layer::new();
        for (name, value) in self.0.iter().filter(|(name, _)| *name != CONFIG) {
            match find(name) {
                Some(key) => layer.extend(self.setting(key, name, value, settings)),
                None => unknown(name, settings),
            }
        }
        layer
    }

    fn setting(
        &self,
        key: &'static Key,
        name: &str,
        value: &OsString,
        settings: &mut Settings,
    ) -> Option<(&'static Key, Value, Origin)> {
        let text = self.text(name, value, settings)?;
        let null = text == "null" && (key.nullable || key.default.is_none());
        let value = if null { Value::Null } else { Value::Text(text) };
        Some((key, value, Origin::Environment(name.to_owned())))
    }

    /// An empty variable is refused: it stands most often for one that a script failed to fill.
    fn text(&self, name: &str, value: &OsString, settings: &mut Settings) -> Option<String> {
        let reason = match value.to_str() {
            Some(text) if !text.trim().is_empty() => return Some(text.to_owned()),
            Some(_) => "is empty; give it a value or unset it",
            None => "is not UTF-8",
        };
        settings.error(ConfigError::Conflict(format!("{name} {reason}")));
        None
    }
}

fn find(name: &str) -> Option<&'static Key> {
    keys::all().find(|key| key.short == Some(name) || key.variable() == name)
}

fn unknown(name: &str, settings: &mut Settings) {
    match name.strip_prefix(PREFIX) {
        Some(path) if path.contains("__") => refuse(name, path, settings),
        _ => nearly_known(name, settings),
    }
}

fn refuse(name: &str, path: &str, settings: &mut Settings) {
    let path = path.replace("__", ".").to_ascii_lowercase();
    let is_key = |path: &String| keys::find(path).is_some();
    let suggestion = suggest(&path).filter(is_key).map(|path| variable(&path));
    settings.error(ConfigError::UnknownVariable {
        origin: Origin::Environment(name.to_owned()),
        name: path,
        suggestion,
    });
}

fn nearly_known(name: &str, settings: &mut Settings) {
    if let Some(known) = suggest_variable(name) {
        settings.warn(format!("{name} is not a setting and has no effect; did you mean {known}?"));
    }
}
