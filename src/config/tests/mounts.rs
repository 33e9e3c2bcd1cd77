use super::*;
use crate::config::Mounts;

const HOST: Option<&str> = Some("Acme.App.example:8080");

fn mounts(entries: &str) -> Mounts {
    from_file(&format!("mounts: {entries}")).unwrap().mounts
}

/// `database collection rest/of/path` for a path, or `-`.
fn resolve(mounts: &Mounts, path: &str, host: Option<&str>) -> String {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    mounts.resolve(&segments, host).map_or("-".into(), |it| {
        format!("{} {} {}", it.database, it.collection.unwrap_or("-".into()), it.rest.join("/"))
            .trim()
            .to_owned()
    })
}

fn check(entries: &str, expected: &[(&str, &str)]) {
    let mounts = mounts(entries);
    for (path, names) in expected {
        assert_eq!(resolve(&mounts, path, HOST), *names, "{entries} {path}");
    }
}

#[test]
fn plain_mounts_take_the_longest_prefix() {
    check(
        r#"[{ what: "*", where: / }]"#,
        &[
            ("/", "-"),
            ("/shop", "shop -"),
            ("/shop/orders", "shop orders"),
            ("/shop/orders/_streams/all", "shop orders _streams/all"),
        ],
    );
    check(
        "[{ what: /restheart, where: / }]",
        &[("/", "restheart -"), ("/orders/_streams/all", "restheart orders _streams/all")],
    );
    check(
        "[{ what: /db, where: /x }]",
        &[("/x/coll/_meta", "db coll _meta"), ("/y", "-"), ("/xy", "-")],
    );
    check(
        "[{ what: /db/coll, where: /feeds/ }]",
        &[("/feeds/_streams/s", "db coll _streams/s"), ("/feeds", "db coll")],
    );
    check(
        r#"[{ what: "*", where: / }, { what: /b, where: /a/b }, { what: /a, where: /a }]"#,
        &[("/a/c", "a c"), ("/a/b/c", "b c"), ("/a/bc", "a bc"), ("/d/e", "d e")],
    );
    check(r#"[{ what: "*", where: /data }]"#, &[("/data", "-"), ("/data/db/coll/x", "db coll x")]);
}

#[test]
fn templates_bind_segments() {
    check(
        "[{ what: '/{tenant}/{*}', where: '/{tenant}/{*}' }]",
        &[("/acme/orders/x", "acme orders x"), ("/acme", "acme -"), ("/", "-")],
    );
    check("[{ what: '/{b}/{a}/{*}', where: '/{a}/{b}/{*}' }]", &[("/x/y/z", "y x z"), ("/x", "-")]);
    check("[{ what: '/app-{tenant}/{kind}s/{*}', where: '/t/{tenant}/{kind}/*' }]", &[]);
}

#[test]
fn the_more_specific_template_wins() {
    check(
        "[{ what: '/other/{*}', where: '/{any}/{*}' }, { what: '/fixed/{*}', where: '/shop/{*}' },
          { what: '/deep/{x}/{*}', where: '/{any}/at/{x}/{*}' }]",
        &[("/shop/a", "fixed a"), ("/y/a", "other a"), ("/y/at/b/c", "deep b c")],
    );
    check(
        "[{ what: '/one/{a}', where: '/{a}' }, { what: '/more/{*}', where: '/{a}/{*}' }]",
        &[("/x", "one x"), ("/x/y", "more y")],
    );
}

#[test]
fn hosts_name_tenants() {
    check(
        "[{ what: '/{host[0]}/{*}', where: '/{*}' }]",
        &[("/orders/_streams/all", "acme orders _streams/all"), ("/", "acme -")],
    );
    let labels = mounts("[{ what: '/db_{host[1]}/{host}/{*}', where: '/{*}' }]");
    assert_eq!(resolve(&labels, "/x", HOST), "db_app acme.app.example x");
    assert_eq!(resolve(&labels, "/x", Some("a.b.")), "db_b a.b x");
    for host in [None, Some(""), Some("single"), Some("single:80"), Some("a..b")] {
        assert_eq!(resolve(&labels, "/x", host), "-", "{host:?}");
    }
}

#[test]
fn a_segment_never_becomes_two() {
    let mounts = mounts("[{ what: '/{tenant}/{*}', where: '/{tenant}/{*}' }]");
    assert_eq!(mounts.resolve(&["a/b", "c"], None), None);
    assert_eq!(mounts.resolve(&["a\0", "c"], None), None);
    assert_eq!(mounts.resolve(&["", "c"], None), None);
    let hosts = super::mounts::mounts("[{ what: '/{host}/{*}', where: '/{*}' }]");
    assert_eq!(hosts.resolve(&["c"], Some("a/b")), None);
    let plain = super::mounts::mounts(r#"[{ what: "*", where: / }]"#);
    assert_eq!(plain.resolve(&["", "c"], None), None);
}

#[test]
fn mounts_that_cannot_work_are_refused() {
    let check = |entries: &str, reason: &str| {
        let text = errors(from_file(&format!("mounts: {entries}")));
        let first = text.lines().next().unwrap();
        assert!(first.starts_with("conf/tailwater.yaml:1:") && first.contains(reason), "{text}");
    };
    check("[]", "mounts has no usable entry");
    check("/shop", "mounts takes a list like");
    check("{ what: /a, where: / }", "mounts takes a list like");
    check("[/shop]", "mounts[0] takes {what");
    check("[{ what: /a }]", "mounts[0] has no where");
    check("[{ where: / }]", "mounts[0] has no what");
    check("[{ what: /a, wher: / }]", "mounts[0] has an unknown key wher; did you mean where?");
    check(
        "[{ what: /a, where: /, colour: x }]",
        "has an unknown key colour; it takes what and where",
    );
    check("[{ what: [a], where: / }]", "has a what that is no text");
    check("[{ what: a, where: / }]", "has what `a`; it starts with a slash");
    check("[{ what: /a, where: x }]", "has where `x`; it starts with a slash");
    check("[{ what: /a, where: /x//y }]", "has where `/x//y` with a segment that is empty");
    check("[{ what: /a, where: /../y }]", "with a segment that is empty or dots");
    check("[{ what: /, where: / }]", "has what /; write \"*\" for all databases");
    check("[{ what: /a/b/c, where: / }]", "has a what of more than /database/collection");
    check("[{ what: /admin, where: / }]", "has what /admin, a database that MongoDB keeps");
    check("[{ what: /Local/x, where: / }]", "a database that MongoDB keeps");
    check("[{ what: /a, where: /_/x }]", "has a where below /_");
    check(
        "[{ what: /a, where: /x }, { what: /b, where: /x/ }]",
        "mounts[1] has where /x/, which /x takes already",
    );
    check(
        "[{ what: /a, where: /x }, { what: '/{t}/{*}', where: '/{t}/{*}' }]",
        "mounts[1] mixes plain paths and templates",
    );
    check(
        "[{ what: '/{t}/{*}', where: '/{u}/{*}' }]",
        "has {t} in its what, which its where does not bind",
    );
    check("[{ what: '/{u}', where: '/{u}/{*}' }]", "must end in {*} both in what and in where");
    check("[{ what: '/{u}/{*}', where: '/{u}' }]", "must end in {*} both in what and in where");
    check("[{ what: '*', where: '/{u}/{*}' }]", "has what `*`; it starts with a slash");
    check(
        "[{ what: '/a/{*}', where: '/a{u}/{*}' }]",
        "has `a{u}` in its where; a parameter is a whole",
    );
    check(
        "[{ what: '/a/{*}', where: '/{u-v}/{*}' }]",
        "has `{u-v}` in its where; a parameter is like",
    );
    check("[{ what: '/a/{*}', where: '/{host}/{*}' }]", "cannot bind {host}");
    check("[{ what: '/{host[x]}/{*}', where: '/{*}' }]", "labels are counted {host[0]}");
    check("[{ what: '/{host[0]/{*}', where: '/{*}' }]", "with a brace that never closes");
    check("[{ what: '/a}/{*}', where: '/{*}' }]", "has `a}` in its what");
    check(
        "[{ what: '/{a}/{*}', where: '/{a}/{*}' }, { what: '/{b}/{*}', where: '/{b}/{*}' }]",
        "mounts[1] has where /{b}/{*}, which /{a}/{*} takes already",
    );
}
