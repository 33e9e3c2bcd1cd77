//! Faults between the service and MongoDB, and inside it.

mod deploy;
mod dropped;
mod failover;
mod lost;
mod outage;
mod poison;
mod privileges;
mod snapshots;
mod source_errors;
mod standalone;

use bson::{Document, doc};
use tailwater::mongod::Mongod;

use crate::support::{
    TestApp, all,
    fail_point::FailPoints,
    mongod::{connect, private},
};

/// A service before a MongoDB of its own that fails as told.
struct Faulty {
    mongod: Mongod,
    app: TestApp,
    faults: FailPoints,
}

impl Faulty {
    /// The stream `all` of the collection `c`, and `streams` besides.
    async fn start(streams: Vec<Document>) -> Self {
        let mongod = private().await;
        let db = connect(&mongod.uri()).await.database("d");
        let yaml = "streams: { heartbeat: 1s, await: 200ms }";
        let app = TestApp::at(&mongod.uri(), db, yaml).await;
        app.declare("c", [vec![all()], streams].concat()).await;
        let faults = FailPoints::of(&mongod.uri()).await;
        Self { mongod, app, faults }
    }

    async fn insert(&self, n: i64) {
        self.app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
    }

    async fn stop(self) {
        self.mongod.stop().await.unwrap();
    }
}
