use std::collections::BTreeSet;

use super::*;
use crate::config::key::{Key, Kind};
use crate::config::{Origin, keys};

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// One row of the page's table.
fn row(key: &Key) -> String {
    let mut written = format!("`{}`", key.variable());
    for other in [key.short, key.flag].into_iter().flatten() {
        written.push_str(&format!(", `{other}`"));
    }
    let default = match key.default {
        Some(default) => format!("`{default}`"),
        None => "none".to_owned(),
    };
    format!("| `{}` | {} | {default} | {written} | {} |", key.name, kind(key), key.doc)
}

fn kind(key: &Key) -> String {
    let bounds = |min: u64, max: u64, off: bool| {
        format!("{min} to {max}{}", if off { ", or `off`" } else { "" })
    };
    let kind = match key.kind {
        Kind::Address => "address and port".into(),
        Kind::Text => "text".into(),
        Kind::Secret => "secret".into(),
        Kind::Path => "path".into(),
        Kind::Flag => "`true` or `false`".into(),
        Kind::Duration { off, .. } => format!("duration{}", if off { ", or `off`" } else { "" }),
        Kind::Size { .. } => "size".into(),
        Kind::Count { min, max, off } => bounds(min, max, off),
        Kind::Choice(choices) => format!("`{}`", choices.join("`, `")),
        Kind::List => "list".into(),
        Kind::Mounts => "list of mounts".into(),
        Kind::Switch => "`false`, or a section".into(),
    };
    if key.nullable { format!("{kind}, or `null`") } else { kind }
}

#[test]
fn the_page_lists_exactly_the_settings_there_are() {
    let rows: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<_> = keys::all().map(row).collect();
    let missing: Vec<_> = expected.iter().filter(|row| !rows.contains(&row.as_str())).collect();
    let stale: Vec<_> = rows.iter().filter(|row| !expected.iter().any(|it| it == *row)).collect();
    assert!(missing.is_empty() && stale.is_empty(), "missing: {missing:#?}\nstale: {stale:#?}");
    assert_eq!(rows, expected, "the order differs");
}

#[test]
fn the_examples_of_the_page_load() {
    let examples: Vec<_> = PAGE.split("```yaml\n").skip(1).collect();
    assert!(examples.len() >= 4);
    for example in examples {
        let example = example.split("```").next().unwrap();
        assert!(from_file(example).is_ok(), "{example}\n{}", errors(from_file(example)));
    }
}

#[test]
fn the_example_file_loads_and_says_the_defaults() {
    let example = Config::example_yaml();
    let config = from_file(&example).unwrap();
    let defaults = from_file("").unwrap();
    // A section with settings in it needs no switch.
    let switch = |name: &str| keys::find(name).is_some_and(|key| key.kind == Kind::Switch);
    let values = |config: &Config| {
        let settings = config.effective().iter().filter(|it| !switch(it.key));
        settings.map(|it| (it.key, it.value.clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&config), values(&defaults));
    assert!(config.warnings().is_empty());
    for key in keys::all().filter(|key| key.kind != Kind::Switch) {
        let shown = format!("{}:", crate::config::key::leaf(key.name));
        assert!(example.contains(&shown), "{}", key.name);
    }
}

/// The example file with the comments taken off a section is what its reader would try next.
#[test]
fn the_commented_sections_of_the_example_load() {
    let uncommented = |wanted: &[&str]| {
        let line = |line: &str| {
            let bare = line.replacen("# ", "", 1);
            let name = bare.trim().split(':').next().unwrap_or_default().to_owned();
            let is_setting = line.trim_start().starts_with("# ") && bare.contains(':');
            if is_setting && wanted.contains(&name.as_str()) { bare } else { line.to_owned() }
        };
        Config::example_yaml().lines().map(line).collect::<Vec<_>>().join("\n")
    };
    let config =
        from_file(&uncommented(&["jwt", "key", "algorithm", "issuer", "audience"])).unwrap();
    assert_eq!(config.auth.jwt.unwrap().issuer.as_deref(), Some("app.example"));
    let config = from_file(&uncommented(&["guard", "failures", "window", "entities"])).unwrap();
    assert!(config.auth.guard.is_some() && config.entities.is_some());
    let config =
        from_file(&uncommented(&["create_user", "id", "password", "position_key"])).unwrap();
    assert!(config.position_key.is_some());
}

/// A setting that nothing reads would be accepted and discarded.
#[test]
fn every_setting_is_read() {
    let file = TemporaryFile::new("read", "0123456789abcdef0123456789abcdef");
    let path = file.text();
    let everything_on = "auth: { api_keys: { prefix: a }, guard: true, cookie: true, \
         jwt: { key: 0123456789abcdef0123456789abcdef }, basic: { create_user: { id: a, password: b } } }\n\
         admin_listen: 127.0.0.1:1\nentities: a\nposition_key: 0123456789abcdef0123456789abcdef\n";
    let sources = [
        everything_on.to_owned(),
        "auth: { jwt: { algorithm: RS256, jwks: https://a, jwks_ca_file: d, issuer: b, audience: c } }"
            .to_owned(),
        format!("auth: {{ jwt: {{ key_file: {path}, second_key: e }} }}"),
        format!("auth: {{ jwt: {{ key_file: {path}, second_key_file: {path} }} }}"),
        "auth: { jwt: { algorithm: RS256, jwks_file: a } }".to_owned(),
        format!(
            "auth: {{ jwt: {{ key_file: {path} }}, basic: {{ file: a }} }}\nacl: {{ file: a }}"
        ),
        format!("auth: {{ basic: {{ create_user: {{ id: a, password_file: {path} }} }} }}"),
        format!("position_key_file: {path}\nacl: {{ also_file: a }}"),
    ];
    let mut read: BTreeSet<_> = BTreeSet::from(["mongodb.uri_file"]);
    for source in sources {
        read.extend(from_file(&source).unwrap().effective().iter().map(|it| it.key));
    }
    let switches_inside = |key: &&Key| key.kind != Kind::Switch;
    for key in keys::all().filter(switches_inside) {
        assert!(read.contains(key.name), "nothing reads {}", key.name);
    }
}

#[test]
fn check_shows_where_each_value_comes_from() {
    let config = load(
        "prefix: /feeds\nauth: { basic: false }",
        &[("TAILWATER_STREAMS__LINGER", "1s")],
        &CommonArgs { insecure_no_auth: true, ..CommonArgs::default() },
    )
    .unwrap();
    let check = |key: &str, value: &str, origin: &str| {
        assert_eq!(shown(&config, key), (value.to_owned(), origin.to_owned()));
    };
    check("prefix", "/feeds", "conf/tailwater.yaml:1:9");
    check("auth.basic", "false", "conf/tailwater.yaml:2:16");
    check("streams.linger", "1s", "TAILWATER_STREAMS__LINGER");
    check("auth.insecure_no_auth", "true", "--insecure-no-auth");
    check("streams.drain", "10s", "default");
    check("mounts", r#"[{what: "*", where: /}]"#, "default");
    let keys: Vec<_> = config.effective().iter().map(|it| it.key).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
    assert!(config.effective().iter().any(|it| it.origin == Origin::Flag("--insecure-no-auth")));
}
