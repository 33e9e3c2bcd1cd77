use std::fmt::Write;

use super::key::{Key, Kind, leaf, parent};
use super::keys;

/// A file with every setting: those with a default as they are by default, the others as comments.
pub(crate) fn example_yaml() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    for key in keys::all().filter(|key| key.kind != Kind::Switch) {
        open_sections(&mut text, section, key);
        section = parent(key.name);
        setting(&mut text, key);
    }
    text
}

const HEAD: &str = "\
# Tailwater's configuration. Every setting is shown; those that are not comments have their defaults.
# Flags win over the environment, the environment over this file. docs/configuration.md explains more.
";

fn open_sections(text: &mut String, current: &str, key: &Key) {
    let mut opened = String::new();
    for name in parent(key.name).split('.').filter(|name| !name.is_empty()) {
        if !opened.is_empty() {
            opened.push('.');
        }
        opened.push_str(name);
        let inside = current == opened || current.starts_with(&format!("{opened}."));
        if !inside {
            section(text, &opened);
        }
    }
}

fn section(text: &mut String, path: &str) {
    let indent = indent(path);
    text.push('\n');
    if let Some(switch) = keys::find(path) {
        let _ = writeln!(text, "{indent}# {} `{}: false` switches it off.", switch.doc, leaf(path));
    }
    let _ = writeln!(text, "{indent}{}{}:", off(path), leaf(path));
}

fn setting(text: &mut String, key: &Key) {
    let indent = indent(key.name);
    let comment = if key.default.is_none() { "# " } else { off(key.name) };
    let value = scalar(key, key.default.or(key.example).unwrap_or_default());
    let _ = writeln!(text, "{indent}# {}", key.doc);
    let _ = writeln!(text, "{indent}{comment}{}: {value}", leaf(key.name));
}

/// Comments out what belongs to a section that is off by default.
fn off(path: &str) -> &'static str {
    let mut section = path;
    while !section.is_empty() {
        let switch = keys::find(section).filter(|key| key.kind == Kind::Switch);
        if switch.is_some_and(|key| key.default == Some("false")) {
            return "# ";
        }
        section = parent(section);
    }
    ""
}

fn indent(path: &str) -> String {
    "  ".repeat(path.matches('.').count())
}

fn scalar(key: &Key, value: &str) -> String {
    match key.kind {
        Kind::Text | Kind::Path | Kind::Secret => format!("{value:?}"),
        _ => value.to_owned(),
    }
}
