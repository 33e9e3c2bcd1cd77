//! Settings as they were written, from all sources, and how components read them.

mod merge;
mod parse;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::merge::Layer;
use super::duration::is_off;
use super::error::ConfigError;
use super::key::{Key, Kind};
use super::keys;
use super::origin::Origin;
use super::secret::{REDACTED, Secret};
use super::secret_file::read_secret_file;
use super::tree::{Node, Value};

/// One line of `check`: a setting, its value (secrets redacted) and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub key: &'static str,
    pub value: String,
    pub origin: Origin,
}

#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The merged sources. Reading never fails: a value that cannot be used is noted as an error and
/// the default takes its place, so that one run reports every problem.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<&'static str, Setting>,
    effective: Vec<Effective>,
    errors: Vec<ConfigError>,
    warnings: Vec<String>,
}

impl Settings {
    /// Reads a setting that has a default.
    fn required<T: Default>(
        &mut self,
        name: &str,
        parse: impl Fn(&Key, &Value) -> Result<T, String>,
    ) -> T {
        self.optional(name, parse).unwrap_or_default()
    }

    /// Reads a setting; absent and `null` are `None`.
    fn optional<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&Key, &Value) -> Result<T, String>,
    ) -> Option<T> {
        let key = keys::find(name)?;
        let default = key.default.map(Value::text);
        let Some(Setting { value, origin }) = self.values.get(name).cloned() else {
            let default = default?;
            self.record(key, &default, Origin::Default);
            return parse(key, &default).ok();
        };
        self.record(key, &value, origin.clone());
        if value == Value::Null {
            return self.null(key, &origin).and_then(|()| parse(key, &default?).ok());
        }
        match parse(key, &value) {
            Ok(parsed) => Some(parsed),
            Err(reason) => {
                self.refuse(name, origin, reason);
                parse(key, &default?).ok()
            }
        }
    }

    /// Where `null` is no value, notes so and asks for the default.
    fn null(&mut self, key: &'static Key, origin: &Origin) -> Option<()> {
        if key.nullable || key.default.is_none() {
            return None;
        }
        let reason = "has no value; give it one or remove the line".to_owned();
        self.refuse(key.name, origin.clone(), reason);
        Some(())
    }

    fn record(&mut self, key: &'static Key, value: &Value, origin: Origin) {
        let value = match (key.kind, value) {
            (_, Value::Null) => "null".to_owned(),
            (Kind::Secret, Value::Text(text)) if key.name == "mongodb.uri" => {
                super::mongo_uri::redact(text)
            }
            (Kind::Secret, _) => REDACTED.to_owned(),
            _ => value.render(),
        };
        self.effective.push(Effective { key: key.name, value, origin });
    }

    pub(crate) fn text(&mut self, name: &str) -> String {
        self.required(name, |_, value| parse::text(value))
    }

    pub(crate) fn optional_text(&mut self, name: &str) -> Option<String> {
        self.optional(name, |_, value| parse::text(value))
    }

    pub(crate) fn choice(&mut self, name: &str) -> String {
        self.required(name, parse::choice)
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.required(name, |_, value| parse::flag(value))
    }

    pub(crate) fn duration(&mut self, name: &str) -> Duration {
        self.required(name, parse::duration)
    }

    /// `None` where the setting says `off`.
    pub(crate) fn optional_duration(&mut self, name: &str) -> Option<Duration> {
        self.optional(name, parse::duration_or_off).flatten()
    }

    pub(crate) fn size(&mut self, name: &str) -> usize {
        self.required(name, parse::size)
    }

    pub(crate) fn count(&mut self, name: &str) -> usize {
        self.required(name, parse::count)
    }

    /// `None` where the setting says `off`.
    pub(crate) fn optional_count(&mut self, name: &str) -> Option<usize> {
        self.optional(name, parse::count_or_off).flatten()
    }

    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        self.required(name, |_, value| parse::list(value))
    }

    pub(crate) fn address(&mut self, name: &str) -> Option<SocketAddr> {
        self.optional(name, |_, value| parse::address(value))
    }

    /// A path, resolved beside the configuration file when the file names it.
    pub(crate) fn path(&mut self, name: &str) -> Option<PathBuf> {
        let text = self.optional(name, |_, value| parse::text(value))?;
        Some(self.origin(name).resolve(&text))
    }

    /// Structured values, each entry with its own place.
    pub(crate) fn nodes(&mut self, name: &str) -> Vec<Node> {
        self.required(name, |_, value| parse::nodes(value))
    }

    /// A secret, given as it is or, under `<name>_file`, as the file that holds it.
    pub(crate) fn secret(&mut self, name: &str) -> Option<Secret> {
        let file = format!("{name}_file");
        if !self.is_set(&file) {
            return self.optional(name, |_, value| parse::text(value)).map(Secret::new);
        }
        let path = self.path(&file)?;
        read_secret_file(&path)
            .map_err(|reason| self.refuse(&file, self.origin(&file), reason))
            .ok()
    }

    /// Whether a section is in use: as switched, else because something in it is set, else by
    /// default.
    pub(crate) fn switched_on(&mut self, section: &str) -> bool {
        let inside = self.is_set_inside(section);
        if inside && !self.values.contains_key(section) {
            return true;
        }
        self.required(section, |_, value| parse::flag(value))
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|setting| setting.value != Value::Null)
    }

    pub(crate) fn is_set_inside(&self, section: &str) -> bool {
        self.values.keys().any(|name| is_inside(name, section))
    }

    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.values.get(name).map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// Notes that the value of a setting cannot be used; the reason reads on from its name.
    pub(crate) fn refuse(&mut self, name: &str, origin: Origin, reason: impl Into<String>) {
        let (key, reason) = (name.to_owned(), reason.into());
        self.errors.push(ConfigError::Value { origin, key, reason });
    }

    /// The same, at the place where the setting was written.
    pub(crate) fn refuse_set(&mut self, name: &str, reason: impl Into<String>) {
        self.refuse(name, self.origin(name), reason);
    }

    pub(crate) fn error(&mut self, error: ConfigError) {
        self.errors.push(error);
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// What was read, and what to tell the operator; or everything that is wrong.
    pub(crate) fn finish(mut self) -> Result<(Vec<Effective>, Vec<String>), ConfigError> {
        ConfigError::collect(self.errors)?;
        self.effective.sort_by_cached_key(|it| keys::all().position(|key| key.name == it.key));
        Ok((self.effective, self.warnings))
    }
}

fn is_inside(name: &str, section: &str) -> bool {
    name.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a value of a switch says off. Anything else is judged when it is read.
fn says_off(value: &Value) -> bool {
    matches!(value, Value::Text(text) if is_off(text) || text.eq_ignore_ascii_case("no"))
}
