//! The map holds: imports point down the list of modules, and only some of them know the driver or
//! the web framework.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Modules that may name a crate. Everything else must not know that it exists.
const MAY_KNOW: &[(&str, &[&str])] = &[
    (
        "mongodb::",
        &["cli", "embed", "app", "http/documents", "catalog", "source", "access", "mongod"],
    ),
    ("axum::", &["embed", "app", "http"]),
    ("hyper::", &["cli", "app", "http", "access/jwt"]),
    ("tungstenite::", &["http"]),
    ("clap::", &["cli", "config", "main"]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules in reading order, as `lib.rs` lists them.
fn modules() -> Vec<String> {
    let map = fs::read_to_string(source().join("lib.rs")).unwrap();
    let listed = map.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    listed.map(str::to_owned).collect()
}

/// Every source file, with its path below `src` without the extension.
fn files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(source()).unwrap().with_extension("");
                let name = name.to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// Lines of code, without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The modules of this crate that a file names, in `crate::x` paths and in `use crate::{…}` lists.
fn imports(text: &str, modules: &[String]) -> Vec<String> {
    let text: String = code(text).map(|line| format!("{line}\n")).collect();
    let mut named = Vec::new();
    for (start, _) in text.match_indices("crate::") {
        let rest = &text[start + "crate::".len()..];
        if rest.starts_with('{') {
            named.extend(heads(rest));
        } else {
            named.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
        }
    }
    named
        .into_iter()
        .filter(|name| modules.iter().any(|module| module == name))
        .map(str::to_owned)
        .collect()
}

/// The first names in a braced list of imports: what stands directly inside the outer braces.
fn heads(list: &str) -> Vec<&str> {
    let mut heads = Vec::new();
    let (mut depth, mut start) = (0, None);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            _ if depth == 1 && (letter.is_alphanumeric() || letter == '_') => {
                start.get_or_insert(at);
                continue;
            }
            _ => {}
        }
        if let Some(from) = start.take()
            && (letter == ':' || letter == ',')
        {
            heads.push(&list[from..at]);
        }
        if letter == ':' && depth == 1 {
            // The rest of this path is somebody else's.
            start = None;
        }
    }
    heads
}

#[test]
fn imports_point_down_the_map() {
    let modules = modules();
    let rank = |name: &str| modules.iter().position(|module| module == name);
    let mut breaches = Vec::new();
    for (file, text) in files() {
        let Some(own) = rank(file.split('/').next().unwrap()) else { continue };
        for import in imports(&text, &modules) {
            if rank(&import).is_some_and(|imported| imported < own) {
                breaches.push(format!("src/{file}.rs imports {import}, which lies above it"));
            }
        }
    }
    assert!(modules.len() > 10, "the map is read");
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn only_some_modules_know_the_outside() {
    let mut breaches = Vec::new();
    for (file, text) in files() {
        for (outside, allowed) in MAY_KNOW {
            let allowed = allowed
                .iter()
                .any(|prefix| file == *prefix || file.starts_with(&format!("{prefix}/")));
            let named = code(&text).any(|line| names(line, outside));
            if named && !allowed {
                breaches.push(format!("src/{file}.rs knows {outside}"));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// Whether a line names a crate, not something that merely ends like it.
fn names(line: &str, outside: &str) -> bool {
    line.match_indices(outside).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn the_readers_of_imports_see_them() {
    let modules: Vec<_> = ["hub", "change", "source"].map(str::to_owned).to_vec();
    let check =
        |text: &str, expected: &[&str]| assert_eq!(imports(text, &modules), expected, "{text}");
    check("use crate::hub::Hub;", &["hub"]);
    check(
        "use crate::{\n    change::{Frame, Shape},\n    source::Open,\n};",
        &["change", "source"],
    );
    check("// use crate::hub;", &[]);
    check("fn f() -> crate::change::View {}", &["change"]);
    check("use crate::{hub::{self, source}, other};", &["hub"]);
}
