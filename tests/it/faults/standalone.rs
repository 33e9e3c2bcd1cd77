//! A MongoDB that is no replica set has no change streams: that is said, with the remedy, and it passes.

use bson::doc;
use tailwater::mongod::REPLICA_SET;

use crate::support::{
    TestApp, all,
    client::keys,
    eventually,
    mongod::{connect, standalone, uninitiated},
    program::Service,
};

/// The stream is `503` and names the remedy, the rest of the service works, and the log has one line.
#[tokio::test]
async fn a_standalone_is_named_once() {
    let mongod = standalone().await;
    let db = connect(&mongod.uri()).await.database("d");
    let service = Service::start(&mongod.uri()).await;
    let app = TestApp::of(service.address(), db);
    app.declare("c", vec![all()]).await;
    for _ in 0..5 {
        let refused = app.refused("c/all").await;
        assert_eq!(refused.status, 503);
        assert!(refused.header("retry-after").is_some());
        let message = refused.message();
        assert!(message.contains("--replSet") && message.contains("rs.initiate()"), "{message}");
    }
    assert_eq!(app.get("/d/c/_meta").await.status, 200);
    assert_eq!(app.get("/d/c/_streams").await.status, 200);
    assert_eq!(app.get("/_/health/live").await.status, 200);
    let ready = app.get("/_/health/ready").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("--replSet"), "{}", ready.body);
    let log = service.stop().await;
    let lines: Vec<_> = log.iter().filter(|line| line.contains("--replSet")).collect();
    assert_eq!(lines.len(), 1, "{log:#?}");
    mongod.stop().await.unwrap();
}

/// A member of a set that nobody has initiated: streams open as soon as somebody does.
#[tokio::test]
async fn streams_open_once_the_set_is_initiated() {
    let mongod = uninitiated().await;
    let client = connect(&mongod.uri()).await;
    let app = TestApp::at(&mongod.uri(), client.database("d"), "").await;
    let refused = app.refused("c/all").await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    let config =
        doc! { "_id": REPLICA_SET, "members": [{ "_id": 0, "host": mongod.member_host() }] };
    let initiate = doc! { "replSetInitiate": config };
    client.database("admin").run_command(initiate).await.unwrap();
    eventually("it is ready", async || app.get("/_/health/ready").await.status == 200).await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut sse, 1).await, [1]);
    mongod.stop().await.unwrap();
}
