use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;

use super::*;
use crate::config::{Bounds, CompatMode, Origin};

/// Loads with flags as a command line spells them.
fn with_flags(file: &str, environment: &[(&str, &str)], flags: &[&str]) -> Config {
    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        common: CommonArgs,
    }
    let line = Line::parse_from(std::iter::once(&"tailwater").chain(flags));
    load(file, environment, &line.common).unwrap()
}

#[test]
fn defaults_are_the_documented_ones() {
    let config = from_file("").unwrap();
    assert_eq!(config.listen.address.to_string(), "127.0.0.1:8080");
    assert_eq!(config.mongodb.uri.expose(), "mongodb://127.0.0.1:27017");
    assert_eq!(config.streams.heartbeat, Some(Duration::from_secs(20)));
    assert_eq!(config.streams.linger, Duration::from_secs(5));
    assert_eq!(config.streams.cursors, 512);
    assert_eq!(config.streams.history, Bounds { events: 10_000, bytes: 64 << 20 });
    assert_eq!(config.streams.mailbox, Bounds { events: 1024, bytes: 8 << 20 });
    assert_eq!(config.streams.drain, Duration::from_secs(10));
    assert_eq!(config.streams.await_time, Duration::from_secs(1));
    assert_eq!(config.streams.max_connection_age, None);
    assert_eq!(config.compat, CompatMode::Off);
    assert_eq!(config.prefix, "/api");
    assert_eq!((config.entities, config.listen.admin), (None, None));
    assert!(config.position_key.is_none());
    assert!(!config.auth.insecure_no_auth);
    assert!(config.effective.iter().all(|it| it.origin == Origin::Default));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let check = |key, file, variable, flags: &[&str], value: [&str; 3], origin: [&str; 3]| {
        let from_file = with_flags(file, &[], &[]);
        let from_environment = with_flags(file, &[variable], &[]);
        let from_flags = with_flags(file, &[variable], flags);
        let seen = [from_file, from_environment, from_flags].map(|config| shown(&config, key));
        let expected = [0, 1, 2].map(|i| (value[i].to_owned(), origin[i].to_owned()));
        assert_eq!(seen, expected);
    };
    check(
        "listen",
        "listen: 127.0.0.1:1",
        ("TAILWATER_LISTEN", "127.0.0.1:2"),
        &["--listen", "127.0.0.1:3"],
        ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"],
        ["conf/tailwater.yaml:1:9", "TAILWATER_LISTEN", "--listen"],
    );
    check(
        "mongodb.uri",
        "mongodb:\n  uri: mongodb://file",
        ("TAILWATER_MONGODB_URI", "mongodb://environment"),
        &["--mongodb-uri", "mongodb://u:hush@flag"],
        ["mongodb://file", "mongodb://environment", "mongodb://u:***@flag"],
        ["conf/tailwater.yaml:2:8", "TAILWATER_MONGODB_URI", "--mongodb-uri"],
    );
    check(
        "auth.insecure_no_auth",
        "auth: { insecure_no_auth: false }",
        ("TAILWATER_INSECURE_NO_AUTH", "0"),
        &["--insecure-no-auth"],
        ["false", "0", "true"],
        ["conf/tailwater.yaml:1:27", "TAILWATER_INSECURE_NO_AUTH", "--insecure-no-auth"],
    );
    check(
        "entities",
        "entities: a",
        ("TAILWATER_ENTITIES", "b"),
        &["--entities", "c"],
        ["a", "b", "c"],
        ["conf/tailwater.yaml:1:11", "TAILWATER_ENTITIES", "--entities"],
    );
    check(
        "compat",
        "compat: restheart",
        ("TAILWATER_COMPAT", "off"),
        &["--compat", "restheart"],
        ["restheart", "off", "restheart"],
        ["conf/tailwater.yaml:1:9", "TAILWATER_COMPAT", "--compat"],
    );
}

#[test]
fn every_key_has_a_name_in_the_environment() {
    let check = |name: &str, value: &str, key: &str| {
        let config = from_environment(&[(name, value)]).unwrap();
        assert_eq!(shown(&config, key), (value.to_owned(), name.to_owned()));
    };
    check("TAILWATER_STREAMS__HEARTBEAT", "5s", "streams.heartbeat");
    check("TAILWATER_STREAMS__HISTORY__EVENTS", "100", "streams.history.events");
    check("TAILWATER_MONGODB__URI", "mongodb://db", "mongodb.uri");
    check("TAILWATER_AUTH__INSECURE_NO_AUTH", "yes", "auth.insecure_no_auth");
    check("TAILWATER_AUTH__BASIC__PROP_ID", "email", "auth.basic.prop_id");
    check("TAILWATER_AUTH__BASIC__VERIFIED__TTL", "off", "auth.basic.verified.ttl");
    check("TAILWATER_AUTH__BASIC", "false", "auth.basic");
    check("TAILWATER_ACL", "false", "acl");
    check("TAILWATER_ACL__ROOT_ROLE", "null", "acl.root_role");
    check("TAILWATER_PREFIX", "/feeds", "prefix");
    check("TAILWATER_ADMIN_LISTEN", "127.0.0.1:9", "admin_listen");
    check("TAILWATER_MOUNTS", r#"[{what: /shop, where: /}]"#, "mounts");
    check("TAILWATER_TRUSTED_PROXIES", "10.0.0.0/8, ::1", "trusted_proxies");
    check("TAILWATER_LIMITS__PER_ADDRESS", "100", "limits.per_address");
    let config = from_environment(&[("TAILWATER_AUTH__JWT__KEY", &"k".repeat(32))]).unwrap();
    assert!(config.auth.jwt.is_some());
    assert_eq!(shown(&config, "auth.jwt.key").0, "***");
}

#[test]
fn values_arrive_typed() {
    let config = from_file(
        "streams: { heartbeat: 500ms, linger: 0, drain: 1m30s, max_connection_age: 1h, cursors: 7,\n\
         own_cursors: { total: 3, per_stream: 2, per_principal: 1 }, history: { events: 5, bytes: 1MB } }\n\
         limits: { per_principal: 9, per_address: off, inbound_message: 1KiB }\n\
         documents: { time_limit: false }\n\
         trusted_proxies: [10.0.0.0/8, 192.0.2.7, \"::1\"]\n\
         listen: \"[::1]:0\"",
    )
    .unwrap();
    let streams = &config.streams;
    assert_eq!(streams.heartbeat, Some(Duration::from_millis(500)));
    assert_eq!((streams.linger, streams.drain), (Duration::ZERO, Duration::from_secs(90)));
    assert_eq!(streams.max_connection_age, Some(Duration::from_secs(3600)));
    assert_eq!((streams.cursors, streams.own_cursors.total), (7, 3));
    assert_eq!(streams.history, Bounds { events: 5, bytes: 1_000_000 });
    assert_eq!((config.limits.per_principal, config.limits.per_address), (Some(9), None));
    assert_eq!(config.limits.inbound_message, 1024);
    assert_eq!(config.documents.time_limit, None);
    assert_eq!(config.listen.address.to_string(), "[::1]:0");
    let trusted = |address: &str| config.listen.trusted_proxies.contains(address.parse().unwrap());
    assert!(["10.1.2.3", "192.0.2.7", "::1", "::ffff:10.1.2.3"].into_iter().all(trusted));
    assert!(!["11.0.0.1", "192.0.2.8", "::2", "127.0.0.1"].into_iter().any(trusted));
}

#[test]
fn restheart_names_are_understood() {
    let check = |file: &str, heartbeat: Option<u64>, what: &str| {
        let config = from_file(file).unwrap();
        let expected = heartbeat.map(Duration::from_millis);
        assert_eq!(config.streams.heartbeat, expected, "{file}");
        assert_eq!(config.mounts.iter().next().unwrap().what, what, "{file}");
    };
    check("change-streams-keep-alive-ms: 1000", Some(1000), "*");
    check("mongo: { change-streams-keep-alive-ms: 0 }", None, "*");
    check(
        "mongo:\n  mongo-mounts:\n  - what: /restheart\n    where: /\n",
        Some(20_000),
        "/restheart",
    );
    check("mongo-mounts: [{ what: /shop/orders, where: / }]", Some(20_000), "/shop/orders");
    assert_eq!(
        errors(from_file("change-streams-keep-alive-ms: 1000\nstreams: { heartbeat: 2s }")),
        "conf/tailwater.yaml:2:23: streams.heartbeat was given another value at conf/tailwater.yaml:1:31"
    );
    assert!(
        errors(from_file("mongo: { uri: / }")).starts_with("conf/tailwater.yaml:1:10: unknown key")
    );
}

#[test]
fn paths_are_beside_the_file_that_names_them() {
    let entities = |config: Config| config.entities.unwrap();
    assert_eq!(entities(from_file("entities: feeds").unwrap()), Path::new("conf/feeds"));
    assert_eq!(entities(from_file("entities: /feeds").unwrap()), Path::new("/feeds"));
    let config = from_environment(&[("TAILWATER_ENTITIES", "feeds")]).unwrap();
    assert_eq!(entities(config), Path::new("feeds"));
}

#[test]
fn the_file_is_named_by_flag_or_environment() {
    let file = TemporaryFile::new("named.yaml", "prefix: /from-file\n");
    let other = TemporaryFile::new("other.yaml", "prefix: /from-other\n");
    let prefix = |flag: Option<&TemporaryFile>, variable: Option<&TemporaryFile>| {
        let config = flag.map(|file| file.path().to_owned());
        let variable = variable.map(|file| ("TAILWATER_CONFIG", file.text()));
        let args = CommonArgs { config, ..CommonArgs::default() };
        Config::load(&args, variable).unwrap().prefix
    };
    assert_eq!(prefix(None, None), "/api");
    assert_eq!(prefix(None, Some(&file)), "/from-file");
    assert_eq!(prefix(Some(&other), Some(&file)), "/from-other");
    let missing = [("TAILWATER_CONFIG", "/nowhere/tailwater.yaml")];
    let error = Config::load(&CommonArgs::default(), missing).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /nowhere/tailwater.yaml: "), "{error}");
}

#[test]
fn variables_of_others_are_left_alone() {
    let config = from_environment(&[
        ("TAILWATER_TEST_MONGODB_URI", "mongodb://test"),
        ("TAILWATER_MQL_DATA", "data"),
        ("TAILWATER_MQL_PAIRS", "5"),
        ("TAILWATER_SEED", "1"),
        ("PATH", "/bin"),
        ("MONGODB__URI", "x"),
    ])
    .unwrap();
    assert!(config.effective.iter().all(|it| it.origin == Origin::Default));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let nearly = from_environment(&[("TAILWATER_LISTN", "127.0.0.1:1")]).unwrap();
    assert_eq!(
        nearly.warnings,
        ["TAILWATER_LISTN is not a setting and has no effect; did you mean TAILWATER_LISTEN?"]
    );
}

#[cfg(unix)]
#[test]
fn variables_that_are_no_text_are_refused_only_when_they_are_ours() {
    use std::os::unix::ffi::OsStringExt;
    let odd = || OsString::from_vec(vec![0xff]);
    let load = |name: OsString| Config::load(&CommonArgs::default(), [(name, odd())]);
    assert!(load("OTHER".into()).is_ok());
    assert!(load(odd()).is_ok());
    assert_eq!(errors(load("TAILWATER_LISTEN".into())), "TAILWATER_LISTEN is not UTF-8");
}

#[test]
fn other_machines_are_told_from_this_one() {
    let check = |file: &str, refused: Option<&str>| {
        let result = from_file(file).unwrap().check_loopback();
        match (result, refused) {
            (Ok(()), None) => {}
            (Err(error), Some(start)) => {
                let text = error.to_string();
                assert!(text.starts_with(start), "{text}");
                assert!(text.contains("127.0.0.1:8080"), "{text}");
            }
            (result, _) => panic!("{file}: {result:?}"),
        }
    };
    check("", None);
    check("listen: localhost:80", None);
    check("listen: 127.9.9.9:80", None);
    check("listen: \"[::1]:80\"", None);
    check("listen: 0.0.0.0:80", Some("refusing to listen on 0.0.0.0:80 (listen): "));
    check("listen: \"[::]:80\"", Some("refusing to listen on [::]:80 (listen): "));
    check("listen: 192.0.2.1:80", Some("refusing to listen on 192.0.2.1:80 (listen): "));
    check("admin_listen: 0.0.0.0:81", Some("refusing to listen on 0.0.0.0:81 (admin_listen): "));
}
