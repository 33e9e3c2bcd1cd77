//! What `check` and `apply` make of declarations, and what a start says of them.

use bson::doc;

use super::shop::{ORDER, Reader, Shop};
use crate::support::{
    mongod::{fresh_database, shared_uri},
    tailwater::{Folder, Running, after, run},
};

/// `check` says what would be served and where pre-images are missing; what is wrong is named with
/// its place, and the exit code is 1.
#[tokio::test]
async fn check_judges_declarations() {
    let silent = "  - { name: Silent, collection: shop.silent, source: /s }\n";
    let good = Folder::new().with("a.yaml", &format!("{}{silent}", ORDER.replace("DB", "shop")));
    let (code, out, err) = run(&["check", "--entities", good.path()]).await;
    assert_eq!(code, 0, "{err}");
    for line in [
        "entity Order on shop.orders: create, update, delete; topics entity.Order",
        "entity Silent on shop.silent: no events, no feed",
        "shop.cases should record pre-images: deletes reach nobody who is held to a tenant",
        "tailwater apply --entities",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(err.contains("a.yaml") && err.contains("`Silent` declares no events"), "{err}");

    let condition = "{ language: expr, expression: 'data.n >' }";
    let event = format!("{{ name: e, trigger: update, condition: {condition} }}");
    let bad =
        format!("entities:\n  - {{ name: A, collection: a, sorce: /a, events: [{event}] }}\n");
    let bad = Folder::new().with("b.yaml", &bad);
    let (code, out, err) = run(&["check", "--entities", bad.path()]).await;
    assert_eq!((code, out.trim_end().ends_with("not ok")), (1, true), "{out}{err}");
    for word in ["b.yaml:2:", "source", "operations"] {
        assert!(err.contains(word), "{word}\n{err}");
    }
    let (code, _, err) = run(&["check", "--entities", "/nowhere/at/all"]).await;
    assert_eq!((code, err.contains("/nowhere/at/all")), (1, true), "{err}");
}

/// `apply --entities` switches pre-images on, also for a collection that is not there yet.
#[tokio::test]
async fn apply_switches_pre_images_on() {
    let (db, uri) = (fresh_database().await, shared_uri().await);
    let folder = Folder::new().with("a.yaml", &ORDER.replace("DB", db.name()));
    db.create_collection("cases").await.unwrap();
    let apply = async |more: &[&str]| {
        let args = [&["apply", "--mongodb-uri", &uri, "--entities", folder.path()], more].concat();
        let (code, out, err) = run(&args).await;
        assert_eq!(code, 0, "{err}");
        out
    };
    let name = db.name();
    let line = |coll: &str, verb: &str| format!("{name}.{coll}: {verb}\n  + pre-images\n");
    let planned = apply(&["--dry-run"]).await;
    assert!(planned.contains(&line("cases", "would change")), "{planned}");
    let changed = apply(&[]).await;
    assert!(changed.contains(&line("cases", "changed")), "{changed}");
    assert!(changed.contains(&line("orders", "changed")), "{changed}");
    let again = apply(&[]).await;
    assert_eq!(again.matches("nothing to change").count(), 2, "{again}");
    for coll in ["cases", "orders"] {
        let command = doc! { "listCollections": 1, "filter": { "name": coll } };
        let listed = db.run_command(command).await.unwrap();
        let listed = listed.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
        let options = listed[0].as_document().unwrap().get_document("options").unwrap();
        let images = options.get_document("changeStreamPreAndPostImages").unwrap();
        assert!(images.get_bool("enabled").unwrap(), "{coll}");
    }
}

/// A service does not start with declarations that are wrong, and says where they are.
#[tokio::test]
async fn wrong_declarations_stop_a_start() {
    let folder = Folder::new().with("a.yaml", "entities:\n  - { nmae: Order }\n");
    let listen = ["serve", "--listen", "127.0.0.1:0", "--entities", folder.path()];
    let (code, _, err) = run(&listen).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("a.yaml:2:") && err.contains("name"), "{err}");
}

/// The log says which entities have no events, names connections by `sub`, and tells of a folder that
/// became invalid.
#[tokio::test]
async fn the_log_tells_of_entities_and_their_readers() {
    let silent = "  - { name: Silent, collection: DB.silent, source: /s }\n";
    let shop = Shop::start(&format!("{ORDER}{silent}")).await;
    let (name, uri) = (shop.app.db.name(), shared_uri().await);
    let yaml = format!(
        "mongodb: {{ uri: \"{uri}\" }}\nlisten: 127.0.0.1:0\nentities: {}\n\
         auth: {{ basic: {{ database: {name}, collection: users }} }}\n\
         acl: {{ database: {name}, collection: acl }}\n",
        shop.folder.path()
    );
    let config = Folder::new().with("t.yaml", &yaml);
    let file = format!("{}/t.yaml", config.path());
    let mut service = Running::start(&["serve", "--config", &file], &[]);
    let address = after(&mut service.stderr, "ready on http://").await.parse().unwrap();
    after(&mut service.stderr, "`Silent` declares no events").await;
    let reader = Reader::open(address, "root", "/api/subscribe/Order", &[]).await;
    assert!(reader.connected.starts_with("connected sub=1 "));
    let open = after(&mut service.stderr, "an entity feed is open").await;
    assert!(open.contains("sub=1") && open.contains("entity.Order"), "{open}");
    assert!(!open.contains('\x1b'), "{open}");
    shop.redeclare("entities: [{ nmae: Order }]\n");
    let kept = after(&mut service.stderr, "the last valid ones stay in use").await;
    assert!(kept.contains("shop.yaml:1:"), "{kept}");
    drop(reader);
    let closed = after(&mut service.stderr, "connection closed").await;
    assert!(closed.contains("sub=1") && closed.contains("client gone"), "{closed}");
    assert_eq!(service.end("-TERM").await, Some(0));
}
