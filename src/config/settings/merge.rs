use std::collections::{BTreeMap, BTreeSet};

use super::{Setting, Settings, is_inside, says_off};
use crate::config::error::ConfigError;
use crate::config::key::{Key, Kind, leaf, parent};
use crate::config::keys;
use crate::config::origin::Origin;
use crate::config::tree::Value;

/// What one source says.
pub(crate) type Layer = Vec<(&'static Key, Value, Origin)>;

/// Settings of a section that apply with `file` and with a collection alike.
const SHARED: &[&str] = &["acl.root_role", "acl.semantics"];

impl Settings {
    /// Lays a source over those before it. What it says replaces not only the same setting but also
    /// what contradicts it: a section switched on or off, a file named instead of a collection.
    pub(crate) fn apply(&mut self, layer: Layer) {
        let layer = self.deduplicate(layer);
        self.refuse_contradictions(&layer);
        for name in layer.keys() {
            self.values.retain(|other, setting| !contradicts(name, &layer, other, setting));
        }
        self.values.extend(layer);
    }

    fn deduplicate(&mut self, layer: Layer) -> BTreeMap<&'static str, Setting> {
        let mut unique: BTreeMap<&'static str, Setting> = BTreeMap::new();
        for (key, value, origin) in layer {
            match unique.get(key.name) {
                Some(first) if first.value != value => {
                    let reason = format!("was given another value at {}", first.origin);
                    self.refuse(key.name, origin, reason);
                }
                _ => drop(unique.insert(key.name, Setting { value, origin })),
            }
        }
        unique
    }

    fn refuse_contradictions(&mut self, layer: &BTreeMap<&'static str, Setting>) {
        let mut told = BTreeSet::new();
        for (name, said) in layer {
            let rival = layer.iter().find(|(other, it)| contradicts(name, layer, other, it));
            let Some((other, it)) = rival else { continue };
            if told.insert((*name.min(other), *name.max(other))) {
                let (at, there) = (&said.origin, &it.origin);
                self.error(ConfigError::Conflict(format!(
                    "{at}: {name} contradicts {other} ({there}); remove one of them"
                )));
            }
        }
    }
}

/// Whether what the layer says about `name` rules out the other setting. `null` rules nothing out.
fn contradicts(
    name: &str,
    layer: &BTreeMap<&'static str, Setting>,
    other: &str,
    setting: &Setting,
) -> bool {
    let Some(said) = layer.get(name).filter(|said| said.value != Value::Null) else { return false };
    let switched_off = is_inside(other, name) && is_switch(name) && says_off(&said.value);
    let switches_on = is_inside(name, other) && is_switch(other) && says_off(&setting.value);
    let both = setting.value != Value::Null && (excludes(name, other) || excludes(other, name));
    switched_off || switches_on || both
}

/// A secret and its file; a section's `file` and its collection.
fn excludes(file: &str, other: &str) -> bool {
    let held = file.strip_suffix("_file").is_some_and(|name| name == other);
    let section = parent(file);
    held || (leaf(file) == "file" && is_inside(other, section) && other != file)
        && !SHARED.contains(&other)
}

fn is_switch(name: &str) -> bool {
    keys::find(name).is_some_and(|key| key.kind == Kind::Switch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(source: &'static str, entries: &[(&str, &str)]) -> Layer {
        entries
            .iter()
            .map(|(name, value)| {
                let key = keys::find(name).unwrap();
                (key, Value::text(*value), Origin::Environment(source.into()))
            })
            .collect()
    }

    /// Applies `low`, then `high`; returns what is left, or the errors.
    fn check(low: &[(&str, &str)], high: &[(&str, &str)], expected: &[(&str, &str)]) {
        let mut settings = Settings::default();
        settings.apply(layer("low", low));
        settings.apply(layer("high", high));
        let left: Vec<_> =
            settings.values.iter().map(|(name, it)| (*name, it.value.render())).collect();
        let left: Vec<_> = left.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(left, expected);
        assert!(settings.errors.is_empty(), "{:?}", settings.errors);
    }

    #[test]
    fn the_later_source_wins() {
        check(
            &[("listen", "127.0.0.1:1"), ("prefix", "/a")],
            &[("listen", "127.0.0.1:2")],
            &[("listen", "127.0.0.1:2"), ("prefix", "/a")],
        );
    }

    #[test]
    fn switching_off_takes_the_section_away() {
        check(
            &[("auth.jwt.key", "k"), ("auth.jwt.issuer", "i"), ("auth.tenant", "t")],
            &[("auth.jwt", "false")],
            &[("auth.jwt", "false"), ("auth.tenant", "t")],
        );
    }

    #[test]
    fn setting_something_inside_switches_on() {
        check(&[("acl", "false")], &[("acl.database", "d")], &[("acl.database", "d")]);
        check(
            &[("auth.basic", "false")],
            &[("auth.basic.cache.ttl", "1s")],
            &[("auth.basic.cache.ttl", "1s")],
        );
        check(
            &[("auth.basic", "true")],
            &[("auth.basic.database", "d")],
            &[("auth.basic", "true"), ("auth.basic.database", "d")],
        );
    }

    #[test]
    fn a_file_replaces_the_collection_and_the_reverse() {
        check(
            &[("acl.database", "d"), ("acl.cache.ttl", "1s"), ("acl.root_role", "r")],
            &[("acl.file", "f")],
            &[("acl.file", "f"), ("acl.root_role", "r")],
        );
        check(
            &[("auth.basic.file", "f")],
            &[("auth.basic.collection", "c")],
            &[("auth.basic.collection", "c")],
        );
        check(
            &[("auth.jwt.key", "k")],
            &[("auth.jwt.key_file", "f")],
            &[("auth.jwt.key_file", "f")],
        );
        check(&[("mongodb.uri_file", "f")], &[("mongodb.uri", "u")], &[("mongodb.uri", "u")]);
    }

    #[test]
    fn one_source_must_agree_with_itself() {
        let check = |entries: &[(&str, &str)], expected: &str| {
            let mut settings = Settings::default();
            settings.apply(layer("env", entries));
            let text = settings.finish().unwrap_err().to_string();
            assert_eq!(text, expected);
        };
        check(
            &[("acl", "false"), ("acl.database", "d")],
            "env: acl contradicts acl.database (env); remove one of them",
        );
        check(
            &[("auth.basic.file", "f"), ("auth.basic.database", "d")],
            "env: auth.basic.database contradicts auth.basic.file (env); remove one of them",
        );
        check(
            &[("position_key", "k"), ("position_key_file", "f")],
            "env: position_key contradicts position_key_file (env); remove one of them",
        );
        check(
            &[("listen", "127.0.0.1:1"), ("listen", "127.0.0.1:2")],
            "env: listen was given another value at env",
        );
        let mut same = Settings::default();
        same.apply(layer("env", &[("listen", "127.0.0.1:1"), ("listen", "127.0.0.1:1")]));
        assert!(same.finish().is_ok());
    }
}
