//! Which permission decides, and for whom.

use bson::{Document, doc};

use super::{
    deployment::{Deployment, Way, ask, everywhere, or_end, permission, sees, status},
    tokens::{basic, bearer_of},
};
use crate::support::{TestApp, eventually, tailwater::Folder};

/// A permission of a role that shows the documents of one group.
fn group(role: &str, priority: Option<i32>, group: &str) -> Document {
    let filter = or_end(doc! { "g": group });
    let mut permission = permission(role, "path-prefix('/')", doc! { "readFilter": filter });
    if let Some(priority) = priority {
        permission.insert("priority", priority);
    }
    permission
}

async fn check(app: &TestApp, line: &str, roles: &[&str], expected: &[i64]) {
    let bearer = bearer_of("ann", roles);
    assert_eq!(sees(app, &[("authorization", &bearer)], "").await, expected, "{line} {roles:?}");
}

/// The root role sees everything, whatever permissions say; without one its name is like any other.
#[tokio::test]
async fn the_root_role_is_unfiltered() {
    let start = async |acl: &str| {
        let deployment = Deployment::new().await.with(acl);
        deployment
            .permissions([group("admin", Some(1), "a"), group("user", None, "a")])
            .await
            .start()
            .await
    };
    let app = start("").await;
    check(&app, "B1", &["admin"], &[1, 2, 3, 4]).await;
    check(&app, "B1", &["user", "admin"], &[1, 2, 3, 4]).await;
    check(&app, "B1", &["user"], &[1]).await;
    let app = start("acl: { database: \"{db}\", collection: acl, root_role: null }").await;
    check(&app, "B1", &["admin"], &[1]).await;
    let app = start("acl: { database: \"{db}\", collection: acl, root_role: boss }").await;
    check(&app, "B1", &["boss"], &[1, 2, 3, 4]).await;
    check(&app, "B1", &["admin"], &[1]).await;
}

/// A list of streams names those that its reader may open.
#[tokio::test]
async fn a_list_holds_what_its_reader_may_open() {
    let permissions = [
        permission("user", "path-suffix('/_streams')", doc! {}),
        permission("user", "path-suffix('/_streams/a b')", doc! {}),
    ];
    let app = Deployment::new().await.permissions(permissions).await.start().await;
    let stream = |uri: &str| doc! { "uri": uri, "stages": [] };
    app.declare("c", vec![stream("a b"), stream("b")]).await;
    let list = format!("{}/_streams", app.coll_path("c"));
    for (user, expected) in [("ann", vec!["a b"]), ("root", vec!["a b", "b"])] {
        let listed = app.as_user(user, "GET", &list).await.json();
        let uris: Vec<_> = listed.as_array().unwrap().iter().map(|it| &it["uri"]).collect();
        assert_eq!(uris, expected, "{user}");
    }
}

/// A stranger is asked who it is before it is told that there is nothing.
#[tokio::test]
async fn a_stranger_is_not_told_what_is_not_there() {
    let mounts = "mounts: [{ what: /only/c, where: /c }]";
    let app = Deployment::new().await.with(mounts).permissions([]).await.start().await;
    let root = basic("root", "root");
    for path in ["/", "/nothing", "/c/a/b/c", "/_/nothing", "/_"] {
        let headers = [("accept", "text/event-stream"), ("authorization", root.as_str())];
        assert_eq!(app.with("GET", path, &headers[..1]).await.status, 401, "{path}");
        assert_eq!(app.with("GET", path, &headers).await.status, 404, "{path}");
    }
}

/// Without a permission nobody may do anything; strangers are asked who they are first. Who may not read a
/// collection does not learn whether it exists.
#[tokio::test]
async fn nothing_is_open_by_itself() {
    let app = Deployment::new()
        .await
        .permissions([permission("user", "path-prefix('/x')", doc! {})])
        .await;
    let app = app.start().await;
    let ann = basic("ann", "ann");
    assert_eq!(status(&app, "", &[]).await, 401, "B2");
    assert_eq!(status(&app, "", &[("authorization", &ann)]).await, 403, "B2");
    let root = basic("root", "root");
    for (headers, expected) in [
        (vec![], 401),
        (vec![("authorization", ann.as_str())], 403),
        (vec![("authorization", root.as_str())], 404),
    ] {
        for way in Way::ALL {
            for path in [
                "none",
                "none/_size",
                "none/_streams",
                "none/_streams/x",
                "c/_streams/none",
                "c/none",
            ] {
                let path = format!("/{}/{path}", app.db.name());
                let answer = ask(&app, way, &path, &headers).await;
                assert_eq!(answer.status, expected, "B11 {way:?} {path}: {}", answer.body);
                assert!(expected == 404 || answer.body.is_empty(), "B11 {path}: {}", answer.body);
            }
        }
    }
    for path in [app.coll_path("c"), app.path("c/all"), format!("{}/_meta", app.coll_path("c"))] {
        assert_eq!(app.with("OPTIONS", &path, &[]).await.status, 200, "B12 {path}");
    }
}

/// A permission of strangers holds for strangers only, and shows them what it says.
#[tokio::test]
async fn strangers_have_permissions_of_their_own() {
    let path = |app: &TestApp, rest: &str| format!("/{}/{rest}", app.db.name());
    let hidden = or_end(doc! { "g": { "$ne": "b" } });
    let public = permission("$unauthenticated", "path-prefix('/')", doc! { "readFilter": hidden });
    let app = Deployment::new().await.permissions([public]).await.start().await;
    assert_eq!(sees(&app, &[], "").await, [1, 3, 4], "B3");
    let size = app.get(&path(&app, "c/_size")).await;
    assert_eq!(size.status, 200, "B3");

    let deployment = Deployment::new().await;
    let exact = format!("path('/{}/c')", deployment.db.name());
    let app = deployment
        .permissions([permission("$unauthenticated", &exact, doc! {})])
        .await
        .start()
        .await;
    for (rest, expected) in
        [("c", 200), ("c/", 200), ("c/_size", 401), ("c/_streams/all", 401), ("cc", 401)]
    {
        assert_eq!(app.get(&path(&app, rest)).await.status, expected, "B4 {rest}");
    }
}

/// The permission of the highest priority decides, alone.
#[tokio::test]
async fn priorities_decide() {
    let listed = || {
        [
            group("one", Some(1), "a"),
            group("one", Some(2), "b"),
            group("one", None, "c"),
            group("two", Some(3), "c"),
            group("three", None, "d"),
            doc! { "_id": "x", "roles": ["tie"], "priority": 5, "predicate": "path-prefix('/')", "mongo": { "readFilter": or_end(doc! { "g": "a" }) } },
            doc! { "_id": "y", "roles": ["tie"], "priority": 5, "predicate": "path-prefix('/')", "mongo": { "readFilter": or_end(doc! { "g": "b" }) } },
        ]
    };
    let app = Deployment::new().await.permissions(listed()).await.start().await;
    check(&app, "B5", &["one"], &[2]).await;
    check(&app, "B5", &["one", "three"], &[2]).await;
    check(&app, "B6", &["one", "two"], &[3]).await;
    check(&app, "B6", &["two", "one"], &[3]).await;
    check(&app, "B5", &["tie"], &[2]).await;
    let legacy = "acl: { database: \"{db}\", collection: acl, semantics: legacy }";
    let app = Deployment::new().await.with(legacy).permissions(listed()).await.start().await;
    check(&app, "B6", &["one", "two"], &[2]).await;
    check(&app, "B6", &["two", "one"], &[3]).await;
    check(&app, "B6", &["three", "two"], &[4]).await;
}

const FILE: &str = r#"
permissions:
  - { role: u, priority: 1, predicate: "path-prefix('/')", mongo: { readFilter: '{"$or": [{"g": "a"}, {"end": true}]}' } }
  - { roles: [u], priority: 2, predicate: "path-prefix('/')", mongo: { readFilter: '{"$or": [{"g": "b"}, {"end": true}]}' } }
  - { role: u, predicate: "path-prefix('/')", mongo: { readFilter: '{"$or": [{"g": "c"}, {"end": true}]}' } }
  - { role: tie, priority: 1, predicate: "path-prefix('/')", mongo: { readFilter: '{"$or": [{"g": "a"}, {"end": true}]}' } }
  - { role: tie, priority: 1, predicate: "path-prefix('/')", mongo: { readFilter: { "$or": [{ g: b }, { end: true }] } } }
  - { role: both, roles: [both], predicate: "path-prefix('/')" }
  - { role: json, predicate: "path-prefix('/')", mongo: { readFilter: 'no json' } }
  - role: folded
    predicate: >
      path-prefix('/nowhere')
      or path-prefix('/')
    mongo: { readFilter: '{"$or": [{"g": "d"}, {"end": true}]}' }
"#;

/// Permissions of a file, in either order of priorities; beside those of a collection, either may allow.
#[tokio::test]
async fn permissions_of_a_file() {
    let folder = Folder::new().with("acl.yaml", FILE);
    let file = format!("{}/acl.yaml", folder.path());
    for (semantics, expected) in [("v9.12", [2]), ("legacy", [1])] {
        let acl = format!("acl: {{ file: {file}, semantics: {semantics} }}");
        let app = Deployment::new().await.with(&acl).start().await;
        check(&app, "B7", &["u"], &expected).await;
        check(&app, "B7", &["tie"], &[2]).await;
        check(&app, "C9", &["folded"], &[4]).await;
        for broken in ["both", "json", "admin"] {
            let bearer = bearer_of("ann", &[broken]);
            assert_eq!(status(&app, "", &[("authorization", &bearer)]).await, 403, "B8 {broken}");
        }
    }
    let acl = format!("acl: {{ database: \"{{db}}\", collection: acl, also_file: {file} }}");
    let app = Deployment::new()
        .await
        .with(&acl)
        .permissions([group("v", None, "c"), group("tie", None, "d")])
        .await;
    let app = app.start().await;
    check(&app, "B13", &["u"], &[2]).await;
    check(&app, "B13", &["v"], &[3]).await;
    check(&app, "B13", &["tie"], &[4]).await;
}

/// A permission that cannot be read grants nothing, and harms no other.
#[tokio::test]
async fn broken_permissions_grant_nothing() {
    let everywhere = "path-prefix('/')";
    let broken = |number: i32, permission: Document| {
        let mut permission = permission;
        permission.insert("_id", number);
        permission.insert("priority", 100);
        permission
    };
    let app = Deployment::new().await.permissions([
        broken(1, doc! { "roles": [], "predicate": everywhere }),
        broken(2, doc! { "roles": ["u", 7], "predicate": everywhere }),
        broken(3, doc! { "roles": "u", "predicate": everywhere }),
        broken(4, doc! { "roles": ["u"], "predicate": "path-prefix('/'" }),
        broken(5, doc! { "roles": ["u"], "predicate": "" }),
        broken(6, doc! { "roles": ["u"], "predicate": 7 }),
        broken(7, doc! { "roles": ["u"] }),
        broken(8, doc! { "roles": ["u"], "predicate": "path-prefix('/a')\npath-prefix('/')" }),
        group("u", Some(1), "a"),
        broken(9, permission("mixed", everywhere, doc! { "projectResponse": { "a": 1, "b": 0 } })),
        group("mixed", Some(1), "a"),
        permission("typed", everywhere, doc! { "projectResponse": { "a": 1.0 } }),
        permission("flag", everywhere, doc! { "allowManagementRequests": "yes" }),
        doc! { "roles": ["section"], "predicate": everywhere, "mongo": "none" },
        doc! { "roles": ["outside"], "predicate": everywhere, "readFilter": { "g": "a" } },
        doc! { "roles": ["null"], "predicate": everywhere, "mongo": null },
    ]);
    let app = app.await.start().await;
    check(&app, "B8", &["u"], &[1]).await;
    check(&app, "B8", &["null"], &[1, 2, 3, 4]).await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    for role in ["mixed", "typed", "flag", "section", "outside"] {
        let bearer = bearer_of("ann", &[role]);
        for way in Way::ALL {
            let path = if way == Way::Read { app.coll_path("c") } else { app.path("c/all") };
            let answer = ask(&app, way, &path, &[("authorization", &bearer)]).await;
            assert_eq!((answer.status, answer.body.as_str()), (403, ""), "B15 {role} {way:?}");
        }
    }
}

/// An edited permission holds at once, for whoever comes next.
#[tokio::test]
async fn edits_hold_at_once() {
    let app = Deployment::new().await.permissions([everywhere(doc! {})]).await.start().await;
    let ann = basic("ann", "ann");
    assert_eq!(status(&app, "", &[("authorization", &ann)]).await, 200);
    let acl = app.db.collection::<Document>("acl");
    acl.delete_many(doc! {}).await.unwrap();
    eventually("B9: the permission is gone", async || {
        app.as_user("ann", "GET", &app.coll_path("c")).await.status == 403
    })
    .await;
    assert_eq!(status(&app, "", &[("authorization", &ann)]).await, 403, "B9");
    acl.insert_one(everywhere(doc! {})).await.unwrap();
    eventually("B9: the permission is back", async || {
        app.as_user("ann", "GET", &app.coll_path("c")).await.status == 200
    })
    .await;
    assert_eq!(status(&app, "", &[("authorization", &ann)]).await, 200, "B9");
}

/// Metadata needs a flag that streams do not need.
#[tokio::test]
async fn metadata_needs_a_flag() {
    let flag = doc! { "allowManagementRequests": true };
    let app = Deployment::new()
        .await
        .permissions([everywhere(doc! {}), permission("manager", "path-prefix('/')", flag)]);
    let app = app.await.start().await;
    let meta = format!("{}/_meta", app.coll_path("c"));
    for (role, expected) in [("user", 403), ("manager", 200), ("admin", 200)] {
        let bearer = bearer_of("ann", &[role]);
        let headers = [("authorization", bearer.as_str())];
        assert_eq!(app.with("GET", &meta, &headers).await.status, expected, "B10 {role}");
        assert_eq!(status(&app, "", &headers).await, 200, "B10 {role}");
        let list = app.with("GET", &format!("{}/_streams", app.coll_path("c")), &headers).await;
        assert_eq!(list.status, 200, "B10 {role}");
        let put = app.with("PUT", &app.coll_path("other"), &headers).await;
        assert_eq!(put.status == 403, expected == 403, "B10 {role}: {}", put.status);
    }
}
