use super::*;

/// One refused value: `key: value` in the file, and how the reason goes on after the key.
fn check(key: &str, value: &str, reason: &str) {
    let mut file = String::new();
    let names: Vec<_> = key.split('.').collect();
    for (depth, name) in names.iter().enumerate() {
        file.push_str(&format!("\n{}{name}:", "  ".repeat(depth)));
    }
    let text = errors(from_file(&format!("{file} {value}")));
    let expected = format!(": {key} {reason}");
    assert!(text.starts_with("conf/tailwater.yaml:") && text.contains(&expected), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn durations() {
    check("streams.heartbeat", "20x", "is `20x`, which is not a duration; write it like 20s");
    check("streams.heartbeat", "1.5s", "is `1.5s`, which is not a duration");
    check("streams.heartbeat", "-1s", "is `-1s`, which is not a duration");
    check("streams.heartbeat", "[1s]", "is a list, but takes a single value");
    check("streams.heartbeat", "{ every: 1s }", "is a section, but takes a single value");
    check("streams.heartbeat", "1ms", "is 1ms; it must be between 50ms and 3600s");
    check("streams.heartbeat", "2h", "is 2h; it must be between");
    check("streams.linger", "off", "cannot be switched off");
    check("streams.linger", "", "has no value; give it one or remove the line");
    check("streams.linger", "null", "has no value");
    check("streams.drain", "11m", "is 11m; it must be between 0ns and 600s");
    check("streams.await", "0", "is 0; it must be between");
    check("streams.max_connection_age", "5ms", "is 5ms; it must be between");
    check("auth.tickets.ttl", "0", "is 0; it must be between");
    check("auth.basic.cache.ttl", "yes", "is `yes`, which is not a duration");
}

#[test]
fn numbers_and_sizes() {
    check("streams.cursors", "0", "is 0; it must be between 1 and 100000");
    check("streams.cursors", "many", "is `many`, which is not a whole number");
    check("streams.cursors", "1.5", "is `1.5`, which is not a whole number");
    check("streams.cursors", "-1", "is `-1`, which is not a whole number");
    check("streams.cursors", "99999999999999999999999", "is `9999");
    check("streams.cursors", "off", "is `off`, which is not a whole number");
    check("streams.own_cursors.total", "0", "is 0");
    check("streams.catch_up", "0", "is 0");
    check("streams.history.events", "0", "is 0");
    check("streams.history.bytes", "0", "is 0; it must be at least 1 bytes");
    check("streams.history.bytes", "64M", "is `64M`, which is not a size; write it like 64MiB");
    check("streams.mailbox.bytes", "-1", "is `-1`, which is not a size");
    check("streams.mailbox.events", "1e3", "is `1e3`, which is not a whole number");
    check("limits.connections", "off", "is `off`, which is not a whole number");
    check("limits.per_principal", "1000000000", "is 1000000000; it must be between 1 and");
    check("auth.basic.bcrypt_complexity", "3", "is 3; it must be between 4 and 20");
    check("auth.guard.failures", "0", "is 0");
}

#[test]
fn words() {
    check("compat", "resthart", "is `resthart`; it is one of off, restheart");
    check("compat", "true", "is `true`; it is one of off, restheart");
    check("auth.insecure_no_auth", "maybe", "is `maybe`; it is true or false");
    check("auth.basic", "maybe", "is `maybe`; it is true or false");
    check("acl", "[]", "is a list, but takes a single value");
    check("acl.semantics", "v9", "is `v9`; it is one of v9.12, legacy");
    check("entities", "\"\"", "is empty; give it a value or remove it");
    check("auth.tenant", "\" \"", "is empty");
    check("auth.realm", "'a\"b'", "must be plain ASCII without quotes");
    check("auth.cookie.name", "a b", "is `a b`, which no cookie can be called");
    check("prefix", "api", "is `api`; write a path like /api");
    check("prefix", "/", "is `/`; write a path like /api");
    check("prefix", "/a//b", "is `/a//b`; write a path like /api");
    check("prefix", "/a/../b", "is `/a/../b`; write a path");
    check("prefix", "/_/x", "is `/_/x`, but what is below /_ is the service's own");
}

#[test]
fn addresses() {
    check("listen", "8080", "is `8080`; write an IP address and a port, like 127.0.0.1:8080");
    check("listen", "127.0.0.1", "is `127.0.0.1`; write an IP address and a port");
    check("listen", ":8080", "is `:8080`");
    check("listen", "127.0.0.1:65536", "is `127.0.0.1:65536`");
    check("listen", "db.example:80", "is `db.example:80`");
    check("listen", "localhost:http", "is `localhost:http`");
    check("admin_listen", "127.0.0.1:8080", "is 127.0.0.1:8080, as listen is");
    check("trusted_proxies", "[10.0.0.0/33]", "holds `10.0.0.0/33`; write addresses and networks");
    check("trusted_proxies", "proxy", "holds `proxy`");
    check("trusted_proxies", "{ a: b }", "is a section, but takes a list like [a, b]");
    check("trusted_proxies", "[[a]]", "is a list, but takes a single value");
}

#[test]
fn mongodb() {
    check("mongodb.uri", "http://db", "is no connection string");
    check("mongodb.uri", "db:27017", "is no connection string");
    check("mongodb.settings", "tailwater", "is `tailwater`; write it as database.collection");
    check("mongodb.settings", "admin.x", "is `admin.x`");
    check("mongodb.settings", "a.system.x", "is `a.system.x`");
    check("auth.basic.database", "local", "is `local`, which no database can be called");
    check("auth.basic.database", "a.b", "is `a.b`, which no database can be called");
    check("acl.collection", "$x", "is `$x`, which no collection can be called");
    check("auth.basic.prop_id", "$where", "is `$where`; it must name a property or a dotted path");
    check("auth.basic.prop_id", "a..b", "is `a..b`");
    check("auth.basic.prop_password", "a.b", "is `a.b`; it must name a property of the document");
    check("auth.basic.json_path_roles", "roles", "is `roles`; write it like $.roles");
    check("auth.basic.json_path_roles", "$.a[*]", "is `$.a[*]`; write it like $.roles");
}

#[test]
fn keys_of_tokens() {
    check("auth.jwt.key", "[a]", "is a list, but takes a single value");
    check("auth.jwt.key", "\"\"", "is empty");
    check("auth.jwt.jwks", "[a]", "is a list, but takes a single value");
}

#[test]
fn origins() {
    check(
        "auth.origins.allow",
        "[app.example]",
        "holds `app.example`; write origins like https://",
    );
    check("auth.origins.allow", "[\"https://*.example\"]", "holds `https://*.example`");
    check("auth.origins.allow", "[https://app.example/x]", "holds `https://app.example/x`");
    check("auth.origins.patterns", "[\"*\"]", "holds `*`; write origins like https://*.app");
    check("auth.origins.ignore_paths", "[public]", "holds `public`; paths start with a slash");
}

#[test]
fn sections() {
    check("auth", "false", "is a section; write its settings below it");
    check("streams", "[]", "is a section; write its settings below it");
    check("streams.history", "100", "is a section; write its settings below it");
    check("mongo", "x", "is a section; write its settings below it");
    assert!(from_file("streams:\nauth:\n  jwt:\nmongo:\nacl:\n").is_ok());
}

#[test]
fn caps_fit_into_each_other() {
    let check = |file: &str, expected: &str| {
        assert_eq!(errors(from_file(file)), format!("conf/tailwater.yaml:{expected}"));
    };
    check(
        "streams: { cursors: 5, own_cursors: { total: 6 } }",
        "1:46: streams.own_cursors.total is 6, more than streams.cursors, which is 5",
    );
    check(
        "streams: { own_cursors: { total: 20, per_stream: 21 } }",
        "1:50: streams.own_cursors.per_stream is 21, more than streams.own_cursors.total, which is 20",
    );
    check(
        "documents: { pagesize: 2000 }",
        "1:24: documents.pagesize does not fit: documents.pagesize is 2000, documents.max_pagesize is 1000",
    );
    check(
        "documents: { max_pagesize: 10 }",
        "1:28: documents.max_pagesize does not fit: documents.pagesize is 100, documents.max_pagesize is 10",
    );
    assert!(from_file("streams: { cursors: 5 }").is_ok());
}

#[test]
fn the_environment() {
    let check = |variables: &[(&str, &str)], expected: &str| {
        assert_eq!(errors(from_environment(variables)), expected);
    };
    check(
        &[("TAILWATER_STREAMS__HEARTBEAT", "20x")],
        "TAILWATER_STREAMS__HEARTBEAT: streams.heartbeat is `20x`, which is not a duration; write it like 20s, \
         500ms, 5m or 1m30s",
    );
    check(&[("TAILWATER_LISTEN", "")], "TAILWATER_LISTEN is empty; give it a value or unset it");
    check(
        &[("TAILWATER_MONGODB_URI", "mongodb://a"), ("TAILWATER_MONGODB__URI", "mongodb://b")],
        "TAILWATER_MONGODB__URI: mongodb.uri was given another value at TAILWATER_MONGODB_URI",
    );
    check(
        &[("TAILWATER_MOUNTS", "/shop")],
        "TAILWATER_MOUNTS: mounts takes a list like [{what: \"*\", where: /}]",
    );
    check(
        &[("TAILWATER_INSECURE_NO_AUTH", "2")],
        "TAILWATER_INSECURE_NO_AUTH: auth.insecure_no_auth is `2`; it is true or false",
    );
    assert_eq!(
        errors(Config::load(&CommonArgs::default(), [("TAILWATER_CONFIG", " ")])),
        "TAILWATER_CONFIG is empty; give it a value or unset it"
    );
    let broken = errors(from_environment(&[("TAILWATER_MOUNTS", "[{what")]));
    assert!(broken.starts_with("TAILWATER_MOUNTS: mounts is not valid YAML: "), "{broken}");
    assert!(
        from_environment(&[
            ("TAILWATER_MONGODB_URI", "mongodb://a"),
            ("TAILWATER_MONGODB__URI", "mongodb://a")
        ])
        .is_ok()
    );
}

#[test]
fn flags() {
    let args = CommonArgs { listen: Some("8080".into()), ..CommonArgs::default() };
    assert_eq!(
        errors(load("", &[], &args)),
        "--listen: listen is `8080`; write an IP address and a port, like 127.0.0.1:8080 or [::]:8080"
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let text = errors(load(
        "streams: { heartbeat: 20x, hartbeat: 1s }\nlisten: here\n",
        &[("TAILWATER_STREAMS__LINGER", "soon")],
        &CommonArgs::default(),
    ));
    assert_eq!(text.lines().count(), 4, "{text}");
}

#[test]
fn files_that_are_no_configuration() {
    let check = |file: &str, start: &str| {
        let text = errors(from_file(file));
        assert!(text.starts_with(&format!("conf/tailwater.yaml:{start}")), "{text}");
    };
    check("- a\n- b", "1:1: is not a mapping of settings");
    check("just text", "1:1: is not a mapping of settings");
    check("listen: [", "1:9: unclosed bracket '['");
    check("listen: a\nlisten: b", "2:1");
    let file = TemporaryFile::new("huge.yaml", &"#".repeat(1024 * 1024 + 1));
    let args = CommonArgs { config: Some(file.path().to_owned()), ..CommonArgs::default() };
    let error = Config::load::<&str, &str>(&args, []).unwrap_err().to_string();
    assert!(error.ends_with("is larger than 1048576 bytes; is it the right file?"), "{error}");
}
