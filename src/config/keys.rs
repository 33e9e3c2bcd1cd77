//! Every setting there is, in the order in which documents show them.

mod auth;
mod server;
mod streams;

use std::collections::BTreeSet;

use super::key::{Key, parent};

/// All settings, in the order of the documentation.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    [server::KEYS, auth::KEYS, streams::KEYS].into_iter().flatten()
}

pub(crate) fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}

/// The names under which settings are grouped, `streams.history` and the switches included.
pub(crate) fn sections() -> BTreeSet<&'static str> {
    let mut sections = BTreeSet::new();
    for key in all() {
        let mut section = parent(key.name);
        while !section.is_empty() {
            sections.insert(section);
            section = parent(section);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let mut seen = BTreeSet::new();
        for key in all() {
            assert!(seen.insert(key.name), "{} is listed twice", key.name);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
            assert!(key.name.chars().all(plain), "{}", key.name);
            assert!(!key.name.contains("__"), "{} cannot be named in the environment", key.name);
        }
    }

    #[test]
    fn every_setting_is_explained_and_can_be_shown() {
        for key in all() {
            assert!(key.doc.ends_with('.'), "{}", key.name);
            assert!(!key.doc.contains('|'), "{} would break the table", key.name);
            let shown = key.default.or(key.example);
            assert!(shown.is_some(), "{} has neither default nor example", key.name);
        }
    }
}
