//! How many cursors MongoDB sees: one for an audience, none for nobody, never more than the cap.

use bson::{Document, doc};
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use crate::support::{TestApp, all, client::keys, eventually, http, sse::Sse};

fn by_tenant() -> Document {
    let when = doc! { "fullDocument::tenant": { "$var": "t" } };
    doc! { "uri": "tenant", "stages": [], "notify_when": when }
}

/// A stream whose variable stands before a stage that computes: each binding has a cursor of its own.
fn by_stage() -> Document {
    let bound = doc! { "$match": { "fullDocument::x": { "$var": "x" } } };
    let computing = doc! { "$set": { "fullDocument::y": { "$toString": "$fullDocument.x" } } };
    doc! { "uri": "stage", "stages": [bound, computing] }
}

/// Opens the stream for each number, a few at a time.
async fn open_each(app: &TestApp, count: usize, stream: &str) -> Vec<Sse> {
    let open = |n: usize| {
        let path = app.path(&format!("{stream}{n}"));
        async move { Sse::open(app.address, &path, &[]).await }
    };
    stream::iter(0..count).map(open).buffered(16).collect().await
}

async fn no_cursor_is_left(app: &TestApp) {
    eventually("no cursor is left", async || app.cursors("c").await == 0).await;
}

/// All clients of a stream share its cursor whatever they bind, and each receives exactly its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_tenants_share_one_cursor() {
    let app = TestApp::start().await;
    app.declare("c", vec![by_tenant()]).await;
    let mut clients = open_each(&app, 500, "c/tenant?t=t").await;
    app.has_cursors("c", 1).await;
    for round in 0..2 {
        let document = |n| doc! { "_id": round * 500 + n, "tenant": format!("t{n}") };
        app.coll("c").insert_many((0..500).map(document)).await.unwrap();
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let own = [n as i64, 500 + n as i64];
        assert_eq!(keys(client, 2).await, own, "tenant {n}");
    }
    app.has_cursors("c", 1).await;
}

/// Cursors of clients that are gone end by themselves, also where nothing is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_bindings_leave_nothing_behind() {
    let app = TestApp::start().await;
    app.declare("c", vec![by_stage()]).await;
    let clients = open_each(&app, 300, "c/stage?x=").await;
    app.has_cursors("c", 300).await;
    let closed = Instant::now();
    drop(clients);
    no_cursor_is_left(&app).await;
    assert!(closed.elapsed().as_secs() < 10, "{:?}", closed.elapsed());
}

/// A variable in a stage that can be decided in process costs no cursor: fifty bindings share one, and
/// each receives its own.
#[tokio::test]
async fn bindings_that_can_be_decided_in_process_share_a_cursor() {
    let app = TestApp::start().await;
    let bound = doc! { "$match": { "fullDocument::x": { "$var": "x" } } };
    app.declare("c", vec![doc! { "uri": "stage", "stages": [bound] }]).await;
    let mut clients = open_each(&app, 50, "c/stage?x=").await;
    app.has_cursors("c", 1).await;
    let documents = (0..50).map(|n| doc! { "_id": n, "x": n.to_string() });
    app.coll("c").insert_many(documents).await.unwrap();
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(keys(client, 1).await, [n as i64]);
    }
}

/// A page that reloads a thousand times costs one cursor while it does, and none afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reloads_cost_one_cursor() {
    let app = TestApp::with_streams("linger: 2s").await;
    app.declare("c", vec![all()]).await;
    for n in 0..1000 {
        drop(app.sse("c/all").await);
        if n % 250 == 249 {
            assert!(app.cursors("c").await <= 1);
        }
    }
    no_cursor_is_left(&app).await;
}

/// A cursor outlives its last client by the linger time: a client that returns finds the events of the
/// meantime in memory.
#[tokio::test]
async fn a_lingering_cursor_serves_whoever_returns() {
    let app = TestApp::with_streams("linger: 1h").await;
    app.declare("c", vec![all()]).await;
    let first = app.sse("c/all").await;
    let before = app.cursor_ids("c").await;
    let id = first.last_id.clone();
    drop(first);
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    let mut back = app.resume("c/all", &id).await;
    assert_eq!(keys(&mut back, 1).await, [1]);
    assert_eq!(app.cursor_ids("c").await, before, "the same cursor, and no other");
}

/// When the cap on cursors is reached a further stream is `503` with `Retry-After`; cursors that merely
/// linger make room; the streams that are open notice nothing.
#[tokio::test]
async fn the_cap_is_kept_and_idle_cursors_make_room() {
    // One of the three watches the definitions.
    let app = TestApp::with_streams("cursors: 3\nlinger: 1h").await;
    app.declare("c", vec![by_stage()]).await;
    let mut one = app.sse("c/stage?x=1").await;
    let two = app.sse("c/stage?x=2").await;
    let refused = app.refused("c/stage?x=3").await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=8).contains(&wait), "{wait}");
    assert!(refused.message().contains("all 3 cursors are in use"), "{}", refused.body);
    // An existing cursor takes further clients.
    drop(app.sse("c/stage?x=1").await);
    drop(two);
    eventually("an idle cursor makes room", async || app.open_status("c/stage?x=3").await == 200)
        .await;
    app.coll("c").insert_one(doc! { "_id": 1, "x": "1" }).await.unwrap();
    assert_eq!(keys(&mut one, 1).await, [1]);
}

/// Cursors have connections of their own: thirty streams keep neither metadata nor a 31st stream waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_streams_leave_room_for_requests() {
    let app = TestApp::start().await;
    let stream = |n: i32| {
        doc! { "uri": format!("s{n}"), "stages": [{ "$match": { "fullDocument::x": { "$ne": n } } }] }
    };
    app.declare("c", (0..31).map(stream).collect()).await;
    let mut clients = open_each(&app, 30, "c/s").await;
    app.has_cursors("c", 30).await;
    let asked = Instant::now();
    let meta = app.get(&format!("/{}/c/_meta", app.db.name())).await;
    assert_eq!(meta.status, 200);
    clients.push(app.sse("c/s30").await);
    assert!(asked.elapsed().as_secs() < 5, "{:?}", asked.elapsed());
    app.coll("c").insert_one(doc! { "_id": 1, "x": -1 }).await.unwrap();
    for client in &mut clients {
        assert_eq!(keys(client, 1).await, [1]);
    }
}

/// Streams that share a binding share a cursor whatever the transport; other options are another cursor.
#[tokio::test]
async fn equal_bindings_share_and_others_do_not() {
    let app = TestApp::start().await;
    let other = doc! { "uri": "off", "stages": [], "full_document": "off" };
    app.declare("c", vec![all(), doc! { "uri": "again", "stages": [] }, other]).await;
    let _open = (
        app.sse("c/all").await,
        app.socket("c/again").await,
        app.sse("c/all?jsonMode=STRICT").await,
    );
    app.has_cursors("c", 1).await;
    let _other = app.sse("c/off").await;
    app.has_cursors("c", 2).await;
}

/// What `HEAD` and a refused request open: nothing.
#[tokio::test]
async fn a_refused_request_opens_no_cursor() {
    let app = TestApp::start().await;
    app.declare("c", vec![all(), by_stage()]).await;
    let path = app.path("c/all");
    assert_eq!(http::request(app.address, "HEAD", &path, &[], "").await.status, 405);
    assert_eq!(http::request(app.address, "GET", &path, &[], "").await.status, 400);
    assert_eq!(app.refused("c/stage").await.status, 400);
    assert_eq!(app.refused("c/stage?avars={").await.status, 400);
    assert_eq!(app.cursors("c").await, 0);
}

/// Names that anyone may make up cost no cursor, not even for a while.
#[tokio::test]
async fn unknown_databases_open_no_cursor() {
    let app = TestApp::with_streams("linger: 20s").await;
    for stream in ["c/all", "d/all", "c/x"] {
        assert_eq!(app.refused(stream).await.status, 404);
    }
    assert_eq!(app.cursors("_properties").await, 0);
    // A cursor would be seen: it lingers.
    app.declare("c", vec![all()]).await;
    drop(app.sse("c/all").await);
    assert_eq!(app.cursors("_properties").await, 1);
}
