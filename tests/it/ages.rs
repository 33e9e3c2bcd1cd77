//! Connections that end by plan.

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
