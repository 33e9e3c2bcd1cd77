//! Which requests a permission is about: every predicate, over reads and both transports.

use bson::{Document, doc};
use serde_json::{Value, json};

use super::{
    deployment::{Deployment, Way, ask, permission},
    tokens::{bearer, claims, with},
};
use crate::support::TestApp;

/// A predicate, and paths with whether they are allowed. The role of a row is its number.
struct Row {
    line: &'static str,
    predicate: &'static str,
    asked: &'static [(&'static str, bool)],
}

const fn row(
    line: &'static str,
    predicate: &'static str,
    asked: &'static [(&'static str, bool)],
) -> Row {
    Row { line, predicate, asked }
}

/// Collections `a`, `ab`, `inbox` and `u` are mounted at the root.
const ROWS: &[Row] = &[
    row(
        "C1",
        "path-prefix('/a')",
        &[
            ("/a", true),
            ("/a/", true),
            ("/a/b", true),
            ("/a/_streams/all", true),
            ("/ab", false),
            ("/ab/_streams/all", false),
        ],
    ),
    row("C1", "path-prefix('a')", &[("/a/b", true), ("/ab", false)]),
    row(
        "C2",
        "path('/a')",
        &[("/a", true), ("/a/", true), ("/a/b", false), ("/a/_streams/all", false)],
    ),
    row(
        "C2",
        "path('/a/_streams/all/')",
        &[("/a/_streams/all", true), ("/a/_streams/all/", true), ("/a", false)],
    ),
    row("A", "equals(%A, '127.0.0.1')", &[("/a", true), ("/a/_streams/all", true)]),
    row("A", "equals(%p, '1')", &[("/a", false), ("/a/_streams/all", false)]),
    row(
        "A",
        "equals(%v, @request.localServerName) and equals(%v, '127.0.0.1')",
        &[("/a", true), ("/a/_streams/all", true)],
    ),
    row(
        "A",
        "equals(@request.resourceType, 'CHANGE_STREAM')",
        &[("/a", false), ("/a/b", false), ("/a/_streams/all", true)],
    ),
    row(
        "A",
        "equals(@request.resourceType, 'DOCUMENT')",
        &[("/a", false), ("/a/b", true), ("/a/_streams/all", false)],
    ),
    row("A", "equals(@request.localIp, '127.0.0.1')", &[("/a", true), ("/a/_streams/all", true)]),
    row(
        "C3",
        "path-suffix('s/all')",
        &[
            ("/a/_streams/all", true),
            ("/u/_streams/all", true),
            ("/a/_streams/al", false),
            ("/a/b", false),
        ],
    ),
    row(
        "C4",
        "path-template('/{t}/*')",
        &[("/a/", true), ("/a/_streams/all", true), ("/a/b", true), ("/a", false)],
    ),
    row("C4", "path-template('/a/b')", &[("/a/b", true), ("/a/b/", false)]),
    row("C4", "path-template('/{t}/')", &[("/a/", true), ("/a", false)]),
    row("C4", "path-template('/{t}')", &[("/a/", true), ("/a", true), ("/a/b", false)]),
    row(
        "C5",
        "path-template('/inbox/{u}') and equals(%u, ${u})",
        &[("/inbox/ann", true), ("/inbox/bob", false), ("/a/ann", false)],
    ),
    row(
        "C5",
        "path-template('/{c}/_streams/{s}') and equals(@user.coll, ${c})",
        &[("/a/_streams/all", true), ("/u/_streams/all", false)],
    ),
    row(
        "C6",
        "regex(pattern='/(.*?)/ann.*', value=%R, full-match=true) and equals(u, ${1})",
        &[("/u/ann", true), ("/u/bob", false), ("/inbox/ann", false)],
    ),
    row("C7", "regex('/_streams/')", &[("/a/_streams/all", true), ("/a", false)]),
    row(
        "C7",
        "regex(pattern='/A', value=%R, case-sensitive=false)",
        &[("/a", true), ("/ab", true), ("/u", false)],
    ),
    row("C8", "not path('/a') or path('/a') and method(PUT)", &[("/u", true), ("/a", false)]),
    row("C8", "not (path('/a') or path('/u'))", &[("/u", false), ("/a", false), ("/ab", true)]),
    row("C8", "path('/a') or path('/u') and false", &[("/a", true), ("/u", false)]),
    row("C9", "path-prefix('/a')\n  and method(GET)", &[("/a", true), ("/u", false)]),
    row("C9", "path-prefix('/a') or\n path-prefix('/u')", &[("/a", false), ("/u", false)]),
    row("C9", "# a comment\npath-prefix('/a')", &[("/a", true), ("/u", false)]),
    row("C9", "path-prefix('/a')\npath-prefix('/u')", &[("/a", false), ("/u", false)]),
    row("C10", "path[\"/a\"]", &[("/a", true), ("/u", false)]),
    row("C10", "path('/a', '/u')", &[("/a", true), ("/u", true), ("/ab", false)]),
    row("C10", "path(path={'/a', \"/u\"})", &[("/a", true), ("/u", true), ("/ab", false)]),
    row("C10", "path({'/a'})", &[("/a", true), ("/ab", false)]),
    row("C10", r"equals('it\'s', @user.quoted)", &[("/a", true)]),
    row("C11", "regex('x', value=%R)", &[("/a", false)]),
    row("C11", "path(what='/a')", &[("/a", false)]),
    row("C11", "contains(value=%R)", &[("/a", false)]),
    row("C11", "less-than(1, 2)", &[("/a", false)]),
    row("C11", "path-prefix('/') and nonsense", &[("/a", false)]),
    row(
        "C12",
        "qparams-size(2)",
        &[
            ("/a?x=1&y=2", true),
            ("/a/_streams/all?x=1&y=2", true),
            ("/a?x=1", false),
            ("/a", false),
        ],
    ),
    row(
        "C12",
        "qparams-size(1)",
        &[
            ("/a?filter=%7B%7D&filter=%7B%7D", true),
            ("/a?noauthchallenge", true),
            ("/a?x&noauthchallenge", false),
        ],
    ),
    row(
        "C12",
        "qparams-whitelist(page, pagesize)",
        &[
            ("/a", true),
            ("/a?page=1", true),
            ("/a?page=1&x=1", false),
            ("/a?noauthchallenge", false),
        ],
    ),
    row(
        "C12",
        "qparams-whitelist()",
        &[("/a", true), ("/a/_streams/all", true), ("/a?page=1", false)],
    ),
    row(
        "C12",
        "qparams-blacklist(filter)",
        &[("/a", true), ("/a?page=1", true), ("/a?filter=%7B%7D", false)],
    ),
    row(
        "C12",
        "qparams-contain(page, pagesize)",
        &[("/a?page=1&pagesize=1", true), ("/a?page=1", false)],
    ),
    row("C12", "qparams-blacklist()", &[("/a", false)]),
    row(
        "C13",
        "path-template('/{g}/*') and in(array=@user.groups, value=${g})",
        &[("/a/", true), ("/a/_streams/all", true), ("/u/", false)],
    ),
    row("C13", "path-template('/{g}/*') and in(array=@user.none, value=${g})", &[("/a/", false)]),
    row(
        "C13",
        "path-template('/{g}/{x}') and in(array=@user.missing, value=${x})",
        &[("/a/@user.missing", false), ("/a/null", false), ("/a/b", false)],
    ),
    row("C13", "in(array=@user.groups, value=${none})", &[("/a", false)]),
    row("C14", "gte(@user.level, 3) and lte(@user.level, '3.0')", &[("/a", true)]),
    row("C14", "gte(@user.level, 4)", &[("/a", false)]),
    row("C14", "gte(@user.quoted, 1) or lte(@user.missing, 1)", &[("/a", false)]),
    row("C14", "gte(1)", &[("/a", false)]),
    row("C15", "bson-request-contains(a)", &[("/a", false)]),
    row("C15", "bson-request-prop-equals(key=a, value=1)", &[("/a", false)]),
    row(
        "C15",
        "bson-request-whitelist(a) and bson-request-blacklist(b)",
        &[("/a", true), ("/a/_streams/all", true)],
    ),
    row(
        "C15",
        "bson-request-array-contains(key=a, values={b}) or bson-request-array-is-subset(key=a, values={b})",
        &[("/a", false)],
    ),
    row("C16", "equals(%{i,X-None}, %{q,none})", &[("/a", true), ("/a?none=1", false)]),
    row("C16", "equals(@user.missing, 'x')", &[("/a", false)]),
    row("C16", "not equals(@user.missing, 'x')", &[("/a", false)]),
    row("C16", "equals(@user.missing, @user.missing)", &[("/a", false)]),
    row("C17", "equals(@user.odd, %{i,X-Odd})", &[("/a", true)]),
    row("C17", "equals(@user.attribute, '/a')", &[("/a", false)]),
    row("C17", "path-template('/{x}') and equals(@user.context, ${x})", &[("/a", false)]),
    row(
        "C18",
        "path-template('/{c}/{d}')",
        &[("/a/b%2Fc", true), ("/a/b", true), ("/a%2Fb", false)],
    ),
    row("C19", "method('get')", &[("/a", true), ("/a/_streams/all", true)]),
    row("C19", "method(PUT, PATCH)", &[("/a", false)]),
    row(
        "C20",
        "exists(%{i,X-Odd}) and contains(value=%{i,X-Odd}, search={zz, '$1'})",
        &[("/a", true)],
    ),
    row("C20", "exists(%{i,X-None})", &[("/a", false)]),
    row("C20", "contains(value=%{i,X-None}, search={a})", &[("/a", false)]),
    row(
        "C21",
        "equals(@qparams['k'], 'v')",
        &[("/a?k=v", true), ("/a/_streams/all?k=v", true), ("/a?k=w", false), ("/a", false)],
    ),
    row(
        "C21",
        "equals(@user.coll, @qparams['k'])",
        &[("/a?k=a", true), ("/a?k=b", false), ("/a", false)],
    ),
    row("C22", "in(array=@roles, value='extra')", &[("/a", true)]),
    row("C22", "in(array=@roles, value='other')", &[("/a", false)]),
    row("C22", "equals(@authenticated, true)", &[("/a", true)]),
    row(
        "B14",
        "path-template('/{c}/{id}') and equals(@user.missing, ${id})",
        &[("/a/@user.missing", false), ("/a/b", false)],
    ),
];

/// A value that would be read as all sorts of things if it were pasted anywhere.
const ODD: &str = r#"%{i,X} ${x} 'q' "d" $1 \ ."#;

fn caller(role: usize) -> Value {
    let properties = json!({
        "coll": "a", "groups": ["a", "ab"], "none": [], "level": 3, "quoted": "it's",
        "odd": ODD, "attribute": "%R", "context": "${x}",
    });
    with(claims("ann", &[&role.to_string(), "extra"]), &properties)
}

async fn is_allowed(app: &TestApp, way: Way, path: &str, headers: &[(&str, &str)]) -> bool {
    let answer = ask(app, way, path, headers).await;
    assert_ne!(answer.status / 100, 5, "{path}: {}", answer.body);
    !matches!(answer.status, 401 | 403)
}

async fn started(permissions: Vec<Document>) -> TestApp {
    let deployment = Deployment::new().await;
    let mount = format!("mounts: [{{ what: \"/{}\", where: \"/\" }}]", deployment.db.name());
    let app = deployment.with(&mount).permissions(permissions).await.start().await;
    for coll in ["a", "ab", "inbox", "u"] {
        app.declare(coll, vec![doc! { "uri": "all", "stages": [] }]).await;
        app.db.create_collection(coll).await.unwrap();
    }
    app
}

/// Each line of the language allows what it names and nothing else.
#[tokio::test]
async fn predicates_select_requests() {
    let permissions = ROWS.iter().enumerate();
    let permissions =
        permissions.map(|(n, row)| permission(&n.to_string(), row.predicate, doc! {}));
    let app = started(permissions.collect()).await;
    for (number, row) in ROWS.iter().enumerate() {
        let bearer = bearer(&caller(number));
        let headers = [("authorization", bearer.as_str()), ("x-odd", ODD)];
        for (path, expected) in row.asked {
            for way in Way::ALL {
                let allowed = is_allowed(&app, way, path, &headers).await;
                assert_eq!(allowed, *expected, "{} {} {path} {way:?}", row.line, row.predicate);
            }
        }
    }
}

/// Who is not known has no properties: no path is one, in whatever spelling.
#[tokio::test]
async fn strangers_have_no_properties() {
    let predicates = [
        "path-template('/{c}/{id}') and equals(@user._id, ${id})",
        "path-template('/{c}/{id}') and equals(${id}, %u)",
        "path-template('/{c}/{id}') and in(array=@user.groups, value=${id})",
        "path-template('/{c}/{id}') and not equals(@user._id, 'x')",
        "equals(@authenticated, true)",
    ];
    let listed = predicates.map(|predicate| permission("$unauthenticated", predicate, doc! {}));
    let app = started(listed.to_vec()).await;
    for path in
        ["/a/@user._id", "/a/%40user._id", "/a/null", "/a/@user.groups", "/a/_streams/all", "/a"]
    {
        for way in Way::ALL {
            assert_eq!(ask(&app, way, path, &[]).await.status, 401, "B14 {path} {way:?}");
        }
    }
    let strangers = permission(
        "$unauthenticated",
        "in(array=@roles, value='$unauthenticated') and equals(@authenticated, false)",
        doc! {},
    );
    let app = started(vec![strangers]).await;
    for way in Way::ALL {
        assert!(is_allowed(&app, way, "/a/_streams/all", &[]).await, "C22 {way:?}");
    }
}
