//! What an event id gives away: nothing.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bson::{Document, doc};
use tailwater::change::{ClusterTime, PositionKey};

use crate::support::{TestApp, all, client::keys, websocket::Socket};

fn by_tenant() -> Document {
    let when = doc! { "fullDocument::tenant": { "$var": "t" } };
    doc! { "uri": "tenant", "stages": [], "notify_when": when }
}

/// No id, of whatever frame, holds any part of an `_id`: neither as it is nor in the form in which
/// MongoDB's own tokens spell it.
#[tokio::test]
async fn no_id_holds_a_documents_id() {
    let app = TestApp::with_streams("heartbeat: 50ms").await;
    app.declare("c", vec![by_tenant()]).await;
    let secrets = ["agent-smith-42", "bond-007-x"];
    let mut sse = app.sse("c/tenant?t=b").await;
    let path = app.path("c/tenant?t=b");
    let mut socket = Socket::open(app.address, &path, Some("tailwater.v1")).await;
    let mut ids = vec![sse.last_id.clone()];
    for n in 0..10 {
        for secret in secrets {
            let tenant = if n % 2 == 0 { "a" } else { "b" };
            let document = doc! { "_id": format!("{secret}-{n}"), "tenant": tenant };
            app.coll("c").insert_one(document).await.unwrap();
        }
        ids.push(sse.block().await.id.unwrap());
        ids.extend(socket.json().await["id"].as_str().map(str::to_owned));
    }
    ids.push(app.resume("c/tenant?t=b", "garbage").await.until("reset").await.id.unwrap());
    for id in ids {
        let bytes = URL_SAFE_NO_PAD.decode(&id).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        for secret in secrets {
            for part in secret.as_bytes().windows(4) {
                assert!(!bytes.windows(4).any(|window| window == part), "{id}");
                let spelled: String = part.iter().map(|byte| format!("{byte:02X}")).collect();
                assert!(!id.contains(&spelled) && !hex.contains(&spelled), "{id}");
            }
        }
    }
}

/// An id is a place, not a right: with another tenant's id a client receives its own events only.
#[tokio::test]
async fn another_tenants_id_shows_nothing_of_that_tenant() {
    let app = TestApp::start().await;
    app.declare("c", vec![by_tenant()]).await;
    let mut a = app.sse("c/tenant?t=a").await;
    let document = |n: i32| doc! { "_id": n, "tenant": if n % 2 == 0 { "a" } else { "b" } };
    app.coll("c").insert_many((0..10).map(document)).await.unwrap();
    assert_eq!(keys(&mut a, 2).await, [0, 2]);
    let mut b = app.resume("c/tenant?t=b", &a.last_id).await;
    assert_eq!(keys(&mut b, 4).await, [3, 5, 7, 9]);
    app.coll("c").insert_many((10..12).map(document)).await.unwrap();
    assert_eq!(keys(&mut b, 1).await, [11]);
}

/// An id that is genuine and lies in the future, as after a restored backup, is answered with a reset.
#[tokio::test]
async fn an_id_from_the_future_is_a_reset() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let mut sse = app.sse("c/all").await;
    let (database, collection) = ("tailwater", "settings");
    let settings = app.db.client().database(database).collection::<Document>(collection);
    let stored = settings.find_one(doc! { "_id": "positions" }).await.unwrap().unwrap();
    let secret = stored.get_binary_generic("key").unwrap();
    let epoch = stored.get_binary_generic("epoch").unwrap().as_slice().try_into().unwrap();
    let key = PositionKey::new(secret, epoch);
    let scope = format!("{}.c", app.db.name());
    let now = key.open(&sse.last_id, &scope).unwrap().time;
    let tomorrow = ClusterTime::from_bits(now.to_bits() + ((24 * 3600) << 32));
    let id = key.seal(&key.before(tomorrow), &scope);
    let mut back = app.resume("c/all", id.as_str()).await;
    let reset = back.event().await;
    assert!(reset.is("reset"), "{reset:?}");
    assert_eq!(reset.json()["reason"], "unknown_id");
    app.coll("c").insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(keys(&mut back, 1).await, [1]);
    assert_eq!(keys(&mut sse, 1).await, [1]);
}
