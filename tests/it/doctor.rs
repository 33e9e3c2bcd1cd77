//! `tailwater doctor`: what would not work on this deployment, told before anybody meets it.

use bson::{Bson, Document, bson, doc};

use crate::support::{
    mongod::{WithUsers, connect, fresh_database, shared_uri, standalone},
    tailwater::{Folder, run},
    unused_port,
};

async fn doctor(uri: &str, more: &[&str]) -> (i32, String) {
    let (code, out, err) = run(&[&["doctor", "--mongodb-uri", uri], more].concat()).await;
    assert!(!err.contains("error"), "{err}");
    (code, out)
}

#[track_caller]
fn check(out: &str, expected: &[&str]) {
    for line in expected {
        let (mark, text) = line.split_once(' ').unwrap();
        let found = out.lines().any(|line| line.starts_with(mark) && line.contains(text));
        assert!(found, "{line:?} in\n{out}");
    }
}

/// Definitions that cannot be opened and images that nobody records are named, each with its remedy.
#[tokio::test]
async fn streams_are_examined() {
    let (db, uri) = (fresh_database().await, shared_uri().await);
    let name = db.name();
    db.create_collection("c").await.unwrap();
    let images = doc! { "create": "d", "changeStreamPreAndPostImages": { "enabled": true } };
    db.run_command(images).await.unwrap();
    let before = |value: &str| -> Bson {
        bson!({ "uri": value, "stages": [], "full_document_before_change": value })
    };
    let streams =
        vec![before("off"), before("required"), before("whenAvailable"), bson!({ "uri": "bad" })];
    for coll in ["c", "d"] {
        let properties = doc! { "_id": format!("_properties.{coll}"), "streams": streams.clone() };
        db.collection::<Document>("_properties").insert_one(properties).await.unwrap();
    }
    let (code, out) = doctor(&uri, &[name]).await;
    assert_eq!(code, 1, "{out}");
    check(
        &out,
        &[
            "ok replica set `",
            "ok MongoDB 6.",
            "ok c can be watched; streams: 3",
            "ok d can be watched; streams: 3",
            "fail stream `bad` of",
            "fail stream `required` asks for images that",
            "warn stream `whenAvailable` asks for images that",
            "3 to mend",
        ],
    );
    assert!(out.contains("collMod: \"c\"") && !out.contains("collMod: \"d\""), "{out}");
    assert!(!out.contains("stream `off`"), "{out}");
}

/// A server without change streams, or none at all, fails with what to do, and nothing else is asked.
#[tokio::test]
async fn the_deployment_is_examined() {
    let alone = standalone().await;
    let (code, out) = doctor(&alone.uri(), &[]).await;
    assert_eq!(code, 1, "{out}");
    check(&out, &["fail a standalone server", "1 to mend"]);
    assert!(out.contains("rs.initiate()"), "{out}");

    let nowhere = format!("mongodb://127.0.0.1:{}/?serverSelectionTimeoutMS=300", unused_port());
    let (code, out) = doctor(&nowhere, &[]).await;
    assert_eq!(code, 1, "{out}");
    check(&out, &["fail MongoDB cannot be reached", "1 to mend"]);
}

/// What the service's user may not do, and permissions that grant nothing, are named.
#[tokio::test]
async fn rights_are_examined() {
    let set = WithUsers::start().await;
    let root = connect(&set.root_uri()).await;
    let acl = root.database("restheart").collection::<Document>("acl");
    let good = doc! { "predicate": "path-prefix('/')", "roles": ["user"], "priority": 1 };
    acl.insert_many([good, doc! { "predicate": "path-prefix(", "roles": ["user"] }]).await.unwrap();
    let shop = root.database("shop");
    let streams = vec![bson!({ "uri": "all", "stages": [] })];
    let properties = doc! { "_id": "_properties.orders", "streams": streams };
    shop.collection::<Document>("_properties").insert_one(properties).await.unwrap();

    let (code, out) = doctor(&set.root_uri(), &[]).await;
    assert_eq!(code, 1, "{out}");
    check(
        &out,
        &[
            "warn there are no users in restheart.users",
            "ok permissions in restheart.acl: 1",
            "fail a permission in restheart.acl grants nothing",
            "ok shop.orders can be watched; streams: 1",
        ],
    );
    let read = vec![doc! { "role": "read", "db": "restheart" }];
    let reader = set.user("reader", read).await;
    let (code, out) = doctor(&reader, &["shop"]).await;
    assert_eq!(code, 1, "{out}");
    check(
        &out,
        &[
            "warn how far the oplog reaches back cannot be told",
            "fail the key of event ids cannot be read from",
            "fail the metadata of `shop` cannot be read",
        ],
    );
    let config = Folder::new().with("t.yaml", "position_key: 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\nauth: { insecure_no_auth: true }\n");
    let file = format!("{}/t.yaml", config.path());
    acl.drop().await.unwrap();
    let (code, out) = doctor(&set.root_uri(), &["--config", &file]).await;
    assert_eq!(code, 0, "{out}");
    check(&out, &["ok the key of event ids is configured", "warn all checks are off", "0 to mend"]);
}
