//! Events on which a stage fails: only they are left out, and everyone is told.

use bson::{Document, doc};
use futures_util::future::join_all;

use super::Faulty;
use crate::{
    operators::metric,
    support::{client::Transport, sse::Sse, websocket::Socket},
};

fn dividing() -> Document {
    let divide = doc! { "$divide": [1, "$fullDocument.n"] };
    doc! { "uri": "div", "stages": [{ "_$addFields": { "div": divide } }] }
}

fn mine() -> Document {
    let mut mine = dividing();
    mine.insert("uri", "mine");
    mine.insert("notify_when", doc! { "fullDocument::t": { "$var": "t" } });
    mine
}

/// Changes by their number, everything else by its name, up to the change `last`.
async fn heard(sse: &mut Sse, last: i64) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        let block = sse.event().await;
        if !block.is("change") {
            heard.push(block.event.unwrap());
            continue;
        }
        let id = block.json()["documentKey"]["_id"].as_i64().unwrap();
        heard.push(id.to_string());
        if id == last {
            return heard;
        }
    }
}

async fn insert(set: &Faulty, documents: &[(i64, i32)]) {
    let documents = documents.iter().map(|(id, n)| doc! { "_id": id, "n": n, "t": "t" });
    set.app.coll("c").insert_many(documents).await.unwrap();
}

/// An event on which a stage fails is reported in its place, and its neighbours are delivered.
#[tokio::test]
async fn only_the_failing_event_is_left_out() {
    let set = Faulty::start(vec![dividing(), mine()]).await;
    let mut clients = Vec::new();
    for stream in ["c/div", "c/div", "c/mine?t=t"] {
        clients.push(set.app.sse(stream).await);
    }
    let path = set.app.path("c/div");
    let mut enveloped = Socket::open(set.app.address, &path, Some("tailwater.v1")).await;
    insert(&set, &[(1, 1), (2, 0), (3, 2), (4, 0), (5, 0), (6, 1)]).await;
    let expected = ["1", "skipped", "3", "skipped", "skipped", "6"];
    for client in &mut clients {
        assert_eq!(heard(client, 6).await, expected);
    }
    let mut events = Vec::new();
    while events.len() < expected.len() {
        let message = enveloped.json().await;
        match message["event"].as_str().unwrap() {
            "change" => events.push(message["data"]["documentKey"]["_id"].to_string()),
            "skipped" => events.push("skipped".to_owned()),
            _ => {}
        }
    }
    assert_eq!(events, expected);
    let skipped = metric(&set.app, "tailwater_events_skipped_total{surface=\"streams\"}").await;
    assert!(skipped >= 3.0, "{skipped}");
    // One alone, long after: found at once, and the stream goes on.
    insert(&set, &[(7, 0)]).await;
    insert(&set, &[(8, 1)]).await;
    assert_eq!(heard(&mut clients[0], 8).await, ["skipped", "8"]);
    set.stop().await;
}

/// A client comes back over many events that its stream rejects to one on which a stage fails: it is told,
/// and goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_event_is_found_behind_many_others() {
    let mut rare = dividing();
    let divide = rare.get_array("stages").unwrap()[0].clone();
    rare.insert("uri", "rare");
    rare.insert("stages", [doc! { "$match": { "fullDocument::rare": true } }.into(), divide]);
    let set = Faulty::start(vec![rare]).await;
    let start = set.app.sse("c/rare").await.last_id;
    // More than the history holds.
    for first in [0, 10_000, 20_000] {
        let common = (first..first + 10_000).map(|n| doc! { "_id": n as i64, "n": 1 });
        set.app.coll("c").insert_many(common).await.unwrap();
    }
    let rare =
        [(30_000_i64, 0), (30_001, 1)].map(|(id, n)| doc! { "_id": id, "n": n, "rare": true });
    set.app.coll("c").insert_many(rare).await.unwrap();
    let replica = super::TestApp::at(&set.mongod.uri(), set.app.db.clone(), "").await;
    let mut back = replica.resume("c/rare", &start).await;
    assert_eq!(heard(&mut back, 30_001).await, ["skipped", "30001"]);
    set.stop().await;
}

/// A client comes back over a long backlog in which events fail here and there: each is told in its place,
/// to whoever reads it first and to whoever reads it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_failing_events_are_stepped_over() {
    let set = Faulty::start(vec![dividing()]).await;
    let start = set.app.sse("c/div").await.last_id;
    let fails = |id: i64| id % 97 == 0 || (4000..4020).contains(&id);
    for first in (0..12_000).step_by(1000) {
        let all: Vec<_> = (first..first + 1000).map(|id| (id, i32::from(!fails(id)))).collect();
        insert(&set, &all).await;
    }
    let word = |id| if fails(id) { "skipped".to_owned() } else { id.to_string() };
    let expected: Vec<_> = (0..12_000).map(word).collect();
    let replica = super::TestApp::at(&set.mongod.uri(), set.app.db.clone(), "").await;
    for _ in 0..2 {
        let mut back = replica.resume("c/div", &start).await;
        assert!(heard(&mut back, 11_999).await == expected);
    }
    set.stop().await;
}

/// Whoever comes back with the id of a notice is not told again: from memory, and from a cold replica.
#[tokio::test]
async fn a_notice_is_a_place_to_come_back_to() {
    let set = Faulty::start(vec![dividing()]).await;
    let mut client = set.app.sse("c/div").await;
    insert(&set, &[(1, 1), (2, 0)]).await;
    assert_eq!(client.change().await["documentKey"]["_id"], 1);
    let skipped = client.event().await;
    assert!(skipped.is("skipped"), "{skipped:?}");
    let id = skipped.id.unwrap();
    let path = format!("{}?lastEventId={id}", set.app.path("c/div"));
    let replica = super::TestApp::at(&set.mongod.uri(), set.app.db.clone(), "").await;
    let mut back = [set.app.resume("c/div", &id).await, replica.resume("c/div", &id).await];
    let mut enveloped = Socket::open(set.app.address, &path, Some("tailwater.v1")).await;
    let ready = enveloped.json().await;
    assert_eq!((ready["event"].as_str(), ready["id"].as_str()), (Some("ready"), Some(&*id)));
    insert(&set, &[(3, 1)]).await;
    for back in &mut back {
        assert_eq!(heard(back, 3).await, ["3"]);
    }
    let next = enveloped.said().await;
    assert_eq!(next["data"]["documentKey"]["_id"], 3, "{next}");
    set.stop().await;
}

/// The notice says what happened and quotes nothing of the event: not everyone may see it.
#[tokio::test]
async fn a_notice_quotes_nothing_of_the_event() {
    let parse = doc! { "$toInt": "$fullDocument.secret" };
    let parsing = doc! { "uri": "parse", "stages": [{ "_$addFields": { "parsed": parse } }] };
    let set = Faulty::start(vec![parsing]).await;
    let mut client = set.app.sse("c/parse").await;
    let secret = doc! { "_id": 1, "secret": "the-codeword" };
    set.app.coll("c").insert_one(secret).await.unwrap();
    let skipped = client.event().await;
    assert!(skipped.is("skipped"), "{skipped:?}");
    let reason = skipped.json()["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "a stage of the stream failed on the event (MongoDB's error 241)");
    set.stop().await;
}

/// Inside a transaction only the failing event is left out; its siblings share its cluster time.
#[tokio::test]
async fn siblings_in_a_transaction_are_delivered() {
    let set = Faulty::start(vec![dividing()]).await;
    let mut clients = Vec::new();
    for _ in 0..2 {
        clients.push(set.app.sse("c/div").await);
    }
    let start = clients[0].last_id.clone();
    let mut session = set.app.db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let coll = set.app.db.collection::<Document>("c");
    for id in 1..=9_i64 {
        let n = i32::from(id % 4 != 0);
        coll.insert_one(doc! { "_id": id, "n": n }).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    let expected = ["1", "2", "3", "skipped", "5", "6", "7", "skipped", "9"];
    for heard in join_all(clients.iter_mut().map(|client| heard(client, 9))).await {
        assert_eq!(heard, expected);
    }
    // The same on the way back, from memory and, after a restart of the cursor, from MongoDB.
    assert_eq!(heard(&mut set.app.resume("c/div", &start).await, 9).await, expected);
    let again = super::TestApp::at(&set.mongod.uri(), set.app.db.clone(), "").await;
    assert_eq!(heard(&mut again.resume("c/div", &start).await, 9).await, expected);
    set.stop().await;
}

/// A stage that fails on every event delivers none, says so of each, and wears nobody down.
#[tokio::test]
async fn a_stage_that_always_fails_is_reported_event_by_event() {
    let set = Faulty::start(vec![dividing()]).await;
    let mut client = set.app.sse("c/div").await;
    let mut other = Transport::Sse.open(set.app.address, &set.app.path("c/all")).await;
    let all: Vec<_> = (1..=40).map(|id| (id, 0)).collect();
    insert(&set, &all).await;
    insert(&set, &[(41, 1)]).await;
    let heard = heard(&mut client, 41).await;
    assert_eq!(heard.len(), 41);
    assert!(heard[..40].iter().all(|event| event == "skipped"), "{heard:?}");
    assert_eq!(other.keys(41).await, (1..=41).collect::<Vec<_>>());
    set.stop().await;
}
