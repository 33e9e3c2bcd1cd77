//! The service's own user loses its rights and gets them back.

use bson::doc;

use crate::support::{
    TestApp, all,
    client::keys,
    mongod::{WithUsers, connect},
};

/// Streams are degraded while the rights are gone, connections stay, and nothing is lost; a collection
/// that was never readable is `503` and says what is missing, without the command.
#[tokio::test]
async fn rights_that_come_back_cost_no_event() {
    let set = WithUsers::start().await;
    let root = connect(&set.root_uri()).await;
    let own = doc! { "role": "readWrite", "db": "d" };
    let settings = doc! { "role": "readWrite", "db": "tailwater" };
    let uri = set.user("service", vec![own.clone(), settings.clone()]).await;
    let app =
        TestApp::at(&uri, root.database("d"), "streams: { heartbeat: 300ms, await: 200ms }").await;
    app.declare("c", vec![all()]).await;
    let mut client = app.sse("c/all").await;
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut client, 1).await, [1]);
    let admin = root.database("admin");
    let grant = |command: &str, role: &bson::Document| doc! { command: "service", "roles": [role] };
    admin.run_command(grant("revokeRolesFromUser", &own)).await.unwrap();
    let status = client.until("status").await.json();
    assert_eq!(status["state"], "degraded");
    app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
    admin.run_command(grant("grantRolesToUser", &own)).await.unwrap();
    loop {
        let block = client.event().await;
        if block.is("change") {
            assert_eq!(block.json()["documentKey"]["_id"], 2);
            break;
        }
        assert!(block.is("status"), "{block:?}");
    }
}
