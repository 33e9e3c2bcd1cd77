//! Coming back: from memory, from MongoDB, in the middle of anything, without gap or repeat.

use bson::{Document, doc};

use crate::support::{
    TestApp, all,
    client::{key, keys},
    mongod,
    websocket::Socket,
};

fn by_kind() -> Document {
    doc! { "uri": "kind", "stages": [], "notify_when": { "fullDocument::kind": { "$var": "k" } } }
}

async fn insert(app: &TestApp, range: impl IntoIterator<Item = i32>) {
    let document = |n: i32| doc! { "_id": n, "kind": if n % 2 == 0 { "even" } else { "odd" } };
    app.coll("c").insert_many(range.into_iter().map(document)).await.unwrap();
}

/// Another service before the same MongoDB: it has nothing in memory.
async fn another(app: &TestApp) -> TestApp {
    TestApp::at(&mongod::shared_uri().await, app.db.clone(), "").await
}

/// Ids of a replica are served by every other: nothing but the key is shared.
#[tokio::test]
async fn two_replicas_serve_each_others_ids() {
    let one = TestApp::start().await;
    one.declare("c", vec![all(), by_kind()]).await;
    let two = another(&one).await;
    let (mut a, mut b) = (one.sse("c/all").await, two.sse("c/all").await);
    insert(&one, 1..=6).await;
    for _ in 1..=6 {
        assert_eq!(a.change().await, b.change().await);
        assert_eq!(a.last_id, b.last_id, "the same event has the same id everywhere");
    }
    let third = another(&one).await;
    let mut first = one.sse("c/all").await;
    insert(&one, 7..=12).await;
    keys(&mut first, 2).await;
    for app in [&one, &two, &third] {
        let mut back = app.resume("c/all", &first.last_id).await;
        assert_eq!(back.ready.id.as_ref(), Some(&first.last_id));
        assert_eq!(keys(&mut back, 4).await, [9, 10, 11, 12]);
        let mut even = app.resume("c/kind?k=even", &first.last_id).await;
        assert_eq!(keys(&mut even, 2).await, [10, 12]);
    }
}

/// Inside a transaction each event is a place to come back to.
#[tokio::test]
async fn every_event_of_a_transaction_can_be_resumed_from() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    insert(&app, [0]).await;
    let mut client = app.sse("c/all").await;
    let mut session = app.db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 1..=12 {
        app.db.collection("c").insert_one(doc! { "_id": n }).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    insert(&app, [13]).await;
    let mut ids = Vec::new();
    for n in 1..=12 {
        assert_eq!(keys(&mut client, 1).await, [n]);
        ids.push(client.last_id.clone());
    }
    // One has everything in memory, the other nothing.
    for app in [&app, &another(&app).await] {
        for (index, id) in ids.iter().enumerate() {
            let expected: Vec<i64> = (index as i64 + 2..=13).collect();
            let mut back = app.resume("c/all", id).await;
            assert_eq!(keys(&mut back, expected.len()).await, expected, "after {}", index + 1);
        }
    }
}

/// An id stays good when the definition is narrowed so that its own event no longer passes.
#[tokio::test]
async fn an_id_survives_a_narrowed_definition() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut client = app.sse("c/all").await;
    insert(&app, 1..=4).await;
    keys(&mut client, 3).await;
    let id = client.last_id.clone();
    let narrow = doc! { "uri": "all", "stages": [{ "$match": { "fullDocument::kind": "even" } }] };
    app.declare("c", vec![narrow]).await;
    let close = client.until("close").await.json();
    assert_eq!(close["code"], 4409);
    insert(&app, 5..=6).await;
    let mut back = app.resume("c/all", &id).await;
    assert_eq!(back.ready.id.as_deref(), Some(id.as_str()));
    assert_eq!(keys(&mut back, 2).await, [4, 6]);
}

/// An id of one stream of a collection is good for every other stream of it.
#[tokio::test]
async fn an_id_is_good_for_every_stream_of_its_collection() {
    let app = TestApp::start().await;
    app.declare("c", vec![all(), by_kind()]).await;
    let mut odd = app.sse("c/kind?k=odd").await;
    insert(&app, 1..=8).await;
    keys(&mut odd, 2).await;
    let mut even = app.resume("c/kind?k=even", &odd.last_id).await;
    assert_eq!(keys(&mut even, 3).await, [4, 6, 8]);
    let path = app.path(&format!("c/all?lastEventId={}", odd.last_id));
    let mut socket = Socket::open(app.address, &path, None).await;
    assert_eq!(key(&socket.json().await), 4);
}

/// A client that is cut in the middle of a replay comes back to the same place: `ready` carries the id
/// that it asked for.
#[tokio::test]
async fn a_replay_that_is_cut_before_its_first_event_starts_again() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut client = app.sse("c/all").await;
    insert(&app, 1..=300).await;
    keys(&mut client, 1).await;
    let asked = client.last_id.clone();
    for app in [&app, &another(&app).await] {
        let cut = app.resume("c/all", &asked).await;
        assert_eq!(cut.last_id, asked);
        let mut cut = app.resume("c/all", &cut.last_id).await;
        assert_eq!(keys(&mut cut, 150).await, (2..=151).collect::<Vec<_>>());
        let mut rest = app.resume("c/all", &cut.last_id).await;
        assert_eq!(keys(&mut rest, 149).await, (152..=300).collect::<Vec<_>>());
    }
}
