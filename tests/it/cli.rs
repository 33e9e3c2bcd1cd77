//! Commands that end by themselves: their exit codes, and what they print and change.

use std::fs;

use bson::{Document, doc};

use crate::support::{
    TestApp,
    mongod::{fresh_database, shared_uri},
    tailwater::{Folder, run},
    unused_port,
};

const GOOD: &str = "db: shop\ncoll: orders\nstreams:\n  - { uri: all, stages: [] }\n";

/// `check` says what would be installed and exits 0; with anything wrong it names the place and exits 1.
#[tokio::test]
async fn check_judges_definitions_and_configuration() {
    let good = Folder::new().with("orders.yaml", GOOD);
    let (code, out, err) = run(&["check", good.path()]).await;
    assert_eq!((code, out.contains("shop.orders: would install\n  all")), (0, true), "{out}{err}");
    assert!(out.contains("listen") && out.contains("127.0.0.1:8080"), "{out}");

    let bad = Folder::new()
        .with("a.yaml", "db: shop\ncoll: a\nstreams:\n  - { uri: all, stages: [{ $out: x }] }\n  - { uri: b }\n")
        .with("b.yaml", "db: [");
    let (code, out, err) = run(&["check", good.path(), bad.path()]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("a.yaml") && err.contains("b.yaml") && err.contains("$out"), "{err}");
    assert!(out.contains("shop.orders") && out.trim_end().ends_with("not ok"), "{out}");

    let (code, _, err) = run(&["check", &format!("{}/nowhere", good.path())]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("nowhere"), "{err}");

    let config = Folder::new().with("t.yaml", "listne: 127.0.0.1:1\nauth: { basic: false }\n");
    let file = format!("{}/t.yaml", config.path());
    let (code, _, err) = run(&["check", "--config", &file]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("listne") && err.contains("listen"), "a suggestion: {err}");
    let (code, _, err) = run(&["serve", "--config", &file]).await;
    assert_eq!(code, 2, "{err}");
    // The samples that come with the product are sound.
    let (code, out, err) = run(&["check", "stream-defs"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.lines().all(|line| line.starts_with("warning: ")), "{err}");
}

/// Wrong usage exits 2 and says what is known; help, version and completions exit 0.
#[tokio::test]
async fn usage_has_its_exit_codes() {
    for args in [
        &["--nope"][..],
        &["serve", "--nope"],
        &["nope"],
        &[],
        &["completions"],
        &["completions", "nosh"],
        &["export"],
        &["export", "nothing"],
        &["serve", "--listen", "nowhere"],
        &["apply"],
    ] {
        let (code, out, err) = run(args).await;
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(!err.is_empty());
    }
    for (args, held) in [
        (&["--help"][..], "serve"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["completions", "bash"], "_tailwater"),
        (&["completions", "zsh"], "tailwater"),
        (&["export", "config"], "mongodb"),
    ] {
        let (code, out, err) = run(args).await;
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        assert!(out.contains(held), "{args:?}: {out}");
    }
    // What `export config` prints is a configuration.
    let (_, example, _) = run(&["export", "config"]).await;
    let folder = Folder::new().with("t.yaml", &example);
    let (code, out, err) = run(&["check", "--config", &format!("{}/t.yaml", folder.path())]).await;
    assert_eq!(code, 0, "{out}{err}");
}

/// `apply` says what it would change, changes it, has nothing to change then, and removes only when told to.
#[tokio::test]
async fn apply_installs_definitions() {
    let (db, uri) = (fresh_database().await, shared_uri().await);
    let name = db.name();
    let both = format!(
        "db: {name}\ncoll: c\nstreams:\n  - {{ uri: a, stages: [] }}\n  - uri: b\n    stages: [{{ $match: {{ fullDocument.x: 1 }} }}]\n"
    );
    let folder = Folder::new().with("c.yaml", &both);
    let apply = async |more: &[&str]| {
        let args = [&["apply", "--mongodb-uri", &uri, folder.path()], more].concat();
        let (code, out, err) = run(&args).await;
        assert_eq!(code, 0, "{err}");
        out.trim_end().to_owned()
    };
    let stored = db.collection::<Document>("_properties");
    let found = async || stored.find_one(doc! { "_id": "_properties.c" }).await.unwrap();
    stored.insert_one(doc! { "_id": "_properties.c", "kept": 1 }).await.unwrap();

    assert_eq!(apply(&["--dry-run"]).await, format!("{name}.c: would change\n  + a\n  + b"));
    assert!(found().await.unwrap().get("streams").is_none());
    assert_eq!(apply(&[]).await, format!("{name}.c: changed\n  + a\n  + b"));
    let installed = found().await.unwrap();
    assert_eq!(installed.get_i32("kept").ok(), Some(1), "other metadata is left alone");
    assert!(installed.get_object_id("_etag").is_ok());
    assert_eq!(apply(&[]).await, format!("{name}.c: nothing to change"));
    assert_eq!(found().await.unwrap(), installed);

    // What was installed can be opened.
    let app = TestApp::at(&uri, db.clone(), "").await;
    let a = app.sse("c/a").await;
    let mut b = app.sse("c/b").await;
    let one = format!(
        "db: {name}\ncoll: c\nstreams:\n  - uri: b\n    stages: [{{ _$match: {{ fullDocument::x: 1 }} }}]\n"
    );
    fs::write(folder.0.join("c.yaml"), one).unwrap();
    assert_eq!(
        apply(&[]).await,
        format!("{name}.c: nothing to change"),
        "another spelling is no change"
    );
    assert_eq!(apply(&["--prune", "--dry-run"]).await, format!("{name}.c: would change\n  - a"));
    assert_eq!(apply(&["--prune"]).await, format!("{name}.c: changed\n  - a"));
    assert_eq!(a.rest().await.last().unwrap().json()["code"], 4404);
    app.coll("c").insert_one(doc! { "_id": 1, "x": 1 }).await.unwrap();
    assert_eq!(b.change().await["documentKey"]["_id"], 1);
    app.stop().await;

    fs::write(folder.0.join("c.yaml"), format!("db: {name}\ncoll: c\nstreams: [{{ uri: b }}]\n"))
        .unwrap();
    let (code, _, err) = run(&["apply", "--mongodb-uri", &uri, folder.path()]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("c.yaml"), "{err}");
}

/// `apply` without a MongoDB ends with 1 and a reason.
#[tokio::test]
async fn apply_without_a_mongodb_says_so() {
    let folder = Folder::new().with("orders.yaml", GOOD);
    let uri = format!("mongodb://127.0.0.1:{}/?serverSelectionTimeoutMS=500", unused_port());
    let (code, _, err) = run(&["apply", "--mongodb-uri", &uri, folder.path()]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("shop.orders"), "{err}");
}
