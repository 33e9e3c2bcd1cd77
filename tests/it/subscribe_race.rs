//! The moment of opening: what is written right after the response head is delivered.

use bson::{Document, doc};
use futures_util::{StreamExt, stream};

use crate::support::{
    TestApp,
    client::key,
    fail_point::FailPoints,
    mongod::{connect, private},
    sse::Sse,
    websocket::Socket,
};

/// Each binding of `r` has a cursor of its own, which has to be opened.
fn by_repetition() -> Document {
    doc! { "uri": "r", "stages": [{ "$match": { "fullDocument::r": { "$var": "r" } } }] }
}

async fn insert(app: &TestApp, n: i32) {
    let document = doc! { "_id": n, "r": n };
    app.db.collection::<Document>("c").insert_one(document).await.unwrap();
}

/// Writes as soon as the head is there, before anything else is read.
async fn repeat(app: &TestApp, n: i32) {
    let path = app.path(&format!("c/r?avars={{\"r\":{n}}}")).replace('{', "%7B");
    let path = path.replace('}', "%7D").replace('"', "%22");
    let change = if n % 2 == 0 {
        let begun = Sse::begin(app.address, &path, &[]).await;
        insert(app, n).await;
        begun.ready().await.change().await
    } else {
        let mut socket = Socket::open(app.address, &path, None).await;
        insert(app, n).await;
        socket.json().await
    };
    assert_eq!(key(&change), i64::from(n));
}

/// Every change committed after the response head was sent is delivered, however long MongoDB takes to
/// open the cursor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_right_after_the_head_arrives_every_time() {
    let mongod = private().await;
    let db = connect(&mongod.uri()).await.database("race");
    let app = TestApp::at(&mongod.uri(), db, "streams: { linger: 0s }").await;
    app.declare("c", vec![by_repetition()]).await;
    let faults = FailPoints::of(&mongod.uri()).await;
    let delay = doc! { "blockConnection": true, "blockTimeMS": 100 };
    faults.always(&["aggregate"], "race.c", delay).await;
    let app = &app;
    stream::iter(0..400).for_each_concurrent(16, |n| repeat(app, n)).await;
    faults.off().await;
    mongod.stop().await.unwrap();
}
