//! Collections that are dropped, renamed and made again.

use bson::doc;

use crate::support::{TestApp, all, client::keys};

/// A dropped or renamed collection ends its streams with `stream gone`; whoever comes back once it is
/// there again, or resumes from before, is served or told, and never left in the dark.
#[tokio::test]
async fn a_collection_that_ends_is_told() {
    let app = TestApp::start().await;
    for how in ["drop", "rename"] {
        app.declare("c", vec![all()]).await;
        app.coll("c").insert_one(doc! { "_id": 0 }).await.unwrap();
        let mut sse = app.sse("c/all").await;
        let mut socket = app.socket("c/all").await;
        let start = sse.last_id.clone();
        app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
        assert_eq!(keys(&mut sse, 1).await, [1]);
        if how == "drop" {
            app.coll("c").drop().await.unwrap();
        } else {
            app.rename("c", "x").await;
        }
        let close = sse.until("close").await.json();
        assert_eq!((&close["code"], &close["reconnect"]), (&4404.into(), &false.into()), "{how}");
        assert_eq!(socket.closed().await, (4404, "stream gone".to_owned()), "{how}");
        assert!(sse.rest().await.is_empty(), "{how}: no heartbeat after the end");
        app.coll("c").insert_one(doc! { "_id": 2 }).await.unwrap();
        let mut fresh = app.sse("c/all").await;
        let mut back = app.resume("c/all", &start).await;
        app.coll("c").insert_one(doc! { "_id": 3 }).await.unwrap();
        assert_eq!(keys(&mut fresh, 1).await, [3], "{how}");
        // What came before the end, then the truth, then what is live.
        let mut told = false;
        loop {
            let block = back.event().await;
            told |= block.is("reset");
            if block.is("change") && block.json()["documentKey"]["_id"] == 3 {
                break;
            }
        }
        assert!(told, "{how}");
        app.coll("c").drop().await.unwrap();
    }
}
