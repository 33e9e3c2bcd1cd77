//! Connections that end by plan.

use bson::doc;

use crate::support::{TestApp, all, sse::Sse, websocket::Socket};

/// A connection that reaches its maximum age is told 1001 and to come back, on every transport, and
/// its body ends in order.
#[tokio::test]
async fn a_connection_of_the_maximum_age_is_closed() {
    let app = TestApp::with_streams("heartbeat: off\nmax_connection_age: 1s").await;
    app.declare("c", vec![all()]).await;
    let path = app.path("c/all");
    let several = format!("/_/sse?stream={path}&stream={path}?x=1");
    let one = Sse::begin(app.address, &path, &[]).await;
    let several = Sse::begin(app.address, &several, &[]).await;
    let mut plain = Socket::open(app.address, &path, None).await;
    let mut bare = Socket::open(app.address, "/_/ws", Some("tailwater.v1")).await;
    let close = one.rest().await.pop().unwrap().json();
    assert_eq!((&close["code"], &close["reconnect"]), (&1001.into(), &true.into()));
    let closes: Vec<_> = several.rest().await.into_iter().filter(|b| b.is("close")).collect();
    assert_eq!(closes.len(), 2);
    assert!(closes.iter().all(|close| close.json()["data"]["code"] == 1001), "{closes:?}");
    for socket in [&mut plain, &mut bare] {
        assert_eq!(socket.closed().await, (1001, "going away".to_owned()));
    }
}

/// A stream whose bindings each have a cursor of their own.
fn computed() -> bson::Document {
    let remainder = doc! { "$mod": ["$fullDocument.n", { "$var": "m" }] };
    let matching = doc! { "$match": { "$expr": { "$eq": [remainder, 0] } } };
    doc! { "uri": "computed", "stages": [matching] }
}

/// A drain reaches everybody, whatever they speak and however many they are, and when the service is
/// gone so are its cursors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_reaches_everybody_and_leaves_no_cursor() {
    let mut app = TestApp::with_streams("heartbeat: off\ndrain: 2s").await;
    app.declare("c", vec![all(), computed()]).await;
    let (mut events, mut sockets) = (Vec::new(), Vec::new());
    for m in 1..=50 {
        let path = app.path(&format!("c/computed?avars={{%22m%22:{m}}}"));
        events.push(Sse::open(app.address, &path, &[]).await);
        let protocol = (m % 2 == 0).then_some("tailwater.v1");
        sockets.push(Socket::open(app.address, &app.path("c/all"), protocol).await);
    }
    assert_eq!(app.cursors("c").await, 51);
    app.begin_drain();
    for sse in events {
        assert_eq!(sse.rest().await.pop().unwrap().json()["code"], 1012);
    }
    for mut socket in sockets {
        assert_eq!(socket.closed().await, (1012, "service restart".to_owned()));
    }
    let witness = TestApp::of(app.address, app.db.clone());
    app.stop().await;
    assert_eq!(witness.cursors("c").await, 0);
}
