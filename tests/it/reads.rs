//! Reading documents: where recovery links lead.

use bson::{doc, oid::ObjectId};

use crate::support::{TestApp, http::Answer};

async fn with_documents() -> TestApp {
    let app = TestApp::start().await;
    let documents = (1..=5).map(|n| doc! { "_id": n, "n": n, "even": n % 2 == 0 });
    app.coll("c").insert_many(documents).await.unwrap();
    app
}

async fn read(app: &TestApp, query: &str) -> Answer {
    app.get(&format!("/{}/c{query}", app.db.name())).await
}

fn ids(answer: &Answer) -> Vec<i64> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let array = answer.json();
    array.as_array().unwrap().iter().map(|document| document["_id"].as_i64().unwrap()).collect()
}

/// Filters hold together, sorting and paging do what they say.
#[tokio::test]
async fn a_collection_is_read_page_by_page() {
    let app = with_documents().await;
    for (query, expected) in [
        ("?sort=%7B%22n%22:-1%7D", vec![5, 4, 3, 2, 1]),
        ("?sort=-n&pagesize=2", vec![5, 4]),
        ("?sort=n&pagesize=2&page=3", vec![5]),
        ("?sort=n&filter=%7B'even':true%7D", vec![2, 4]),
        ("?sort=n&filter=%7B'even':true%7D&filter=%7B'n':%7B'$gt':2%7D%7D", vec![4]),
        ("?sort=n&filter=%7B'n':%7B'_$lt':3%7D%7D", vec![1, 2]),
        ("?pagesize=0", vec![]),
    ] {
        assert_eq!(ids(&read(&app, query).await), expected, "{query}");
    }
    let keys = read(&app, "?sort=n&pagesize=1&keys=%7B'even':1%7D").await;
    assert_eq!(keys.json(), serde_json::json!([{ "_id": 1, "even": false }]));
    let counted = read(&app, "?pagesize=1&count=true").await;
    assert_eq!(counted.header("x-total-count"), Some("5"));
    let size = read(&app, "/_size?filter=%7B'even':true%7D").await;
    assert_eq!(size.json(), serde_json::json!({ "_size": 2 }));
}

/// What cannot be read is the client's fault and says why; operators that run code are forbidden.
#[tokio::test]
async fn bad_reads_are_refused() {
    let app = with_documents().await;
    for (query, status) in [
        ("?filter=%7B", 400),
        ("?filter=[1]", 400),
        ("?filter=%7B'n':%7B'$nonsense':1%7D%7D", 400),
        ("?page=0", 400),
        ("?page=x", 400),
        ("?pagesize=1001", 400),
        ("?sort=%7B'n':'x'%7D", 400),
        ("?jsonMode=odd", 400),
        ("?filter=%7B'$where':'true'%7D", 403),
        ("?filter=%7B'$or':[%7B'$where':'true'%7D]%7D", 403),
        ("?filter=%7B'$expr':%7B'$function':%7B%7D%7D%7D", 403),
        ("/none", 404),
        ("/1?id_type=odd", 400),
    ] {
        assert_eq!(read(&app, query).await.status, status, "{query}");
    }
    let missing = app.get(&format!("/{}/nothing", app.db.name())).await;
    assert_eq!(missing.status, 404);
}

/// One document by its id, of whatever type.
#[tokio::test]
async fn a_document_is_read_by_its_id() {
    let app = with_documents().await;
    let (id, etag) = (ObjectId::new(), ObjectId::new());
    app.coll("c").insert_one(doc! { "_id": id, "a": 1, "_etag": etag }).await.unwrap();
    app.coll("c").insert_one(doc! { "_id": "text", "a": 2 }).await.unwrap();
    let found = read(&app, &format!("/{id}")).await;
    assert_eq!(found.json()["a"], 1);
    assert_eq!(found.header("etag"), Some(etag.to_hex().as_str()));
    assert_eq!(read(&app, "/text").await.json()["a"], 2);
    assert_eq!(read(&app, "/3?id_type=NUMBER").await.json()["n"], 3);
    assert_eq!(read(&app, "/3").await.status, 404, "a string is no number");
}

/// The documented recovery read returns what was written since the last tag seen, in order.
#[tokio::test]
async fn the_recovery_read_returns_what_was_missed() {
    let app = TestApp::start().await;
    let tags: Vec<_> = (0..4).map(|_| ObjectId::new()).collect();
    let documents = tags.iter().enumerate().map(|(n, tag)| doc! { "_id": n as i32, "_etag": *tag });
    app.coll("c").insert_many(documents).await.unwrap();
    let query = format!(
        "?filter=%7B%22_etag%22:%7B%22$gt%22:%7B%22$oid%22:%22{}%22%7D%7D%7D&sort=%7B%22_etag%22:1%7D",
        tags[1]
    );
    assert_eq!(ids(&read(&app, &query).await), vec![2, 3]);
}
