//! What a permission shows: the same over reads, server-sent events and WebSocket.

use bson::{Bson, Document, bson, doc};
use serde_json::json;

use super::{
    deployment::{Deployment, Way, ask, hashed, or_end, permission, sees, status},
    tokens::{basic, bearer, bearer_of, claims, with},
};
use crate::support::TestApp;

/// A row: the filter of a permission, and what its holder sees; `None`, that nothing opens.
type Row = (&'static str, Bson, Option<&'static [i64]>);

fn rows() -> Vec<Row> {
    let own = bson!({ "$or": [{ "owner": "@user.sub" }, { "end": true }] });
    vec![
        ("E7", bson!({}), Some(&[1, 2, 3, 4])),
        ("E3", own.clone(), Some(&[1])),
        ("E3", bson!({ "$or": [{ "a.b.c": 3 }, { "end": true }] }), Some(&[3])),
        (
            "E3",
            bson!({ "$or": [{ "team": "red", "g": { "$gte": "b" } }, { "end": true }] }),
            Some(&[3]),
        ),
        (
            "E4",
            bson!({ "$and": [(own), { "$or": [{ "$and": [{ "team": "red" }] }, { "end": true }] }] }),
            Some(&[1]),
        ),
        (
            "E4",
            bson!({ "$nor": [{ "owner": "@user.sub" }, { "$or": [{ "public": true }] }] }),
            Some(&[2, 3]),
        ),
        ("E4", bson!({ "$or": { "owner": "ann" } }), None),
        ("E4", bson!({ "$or": [{ "end": true }, 1] }), None),
        (
            "E5",
            bson!({ "$or": [{ "a.b": { "$elemMatch": { "c": { "$in": [3] } } } }, { "end": true }] }),
            Some(&[3]),
        ),
        ("E5", bson!({ "$or": [{ "g": { "$regex": "^[ab]" } }, { "end": true }] }), Some(&[1, 2])),
        ("E5", bson!({ "g": { "$not": { "$in": ["a", "b"] } } }), Some(&[3, 4])),
        ("E5", bson!({ "g": { "$not": { "$regex": "^[AB]", "$options": "i" } } }), Some(&[3, 4])),
        ("E6", bson!({ "$where": "true" }), None),
        ("E6", bson!({ "$text": { "$search": "a" } }), None),
        (
            "D5",
            bson!({ "_$or": [{ "owner": { "_$in": ["ann"] } }, { "a::b::c": { "_$gt": 2 } }, { "end": true }] }),
            Some(&[1, 3]),
        ),
        ("D6", bson!({ "$or": [{ "owner": "%USER" }, { "end": true }] }), Some(&[1])),
        ("D6", bson!({ "$or": [{ "owner": "@user.deep.names.1" }, { "end": true }] }), Some(&[2])),
        (
            "D6",
            bson!({ "$or": [{ "owner": { "$in": "@user.deep.names" } }, { "end": true }] }),
            Some(&[1, 2]),
        ),
        ("D6", bson!({ "$or": [{ "a": "@user.object" }, { "end": true }] }), Some(&[3])),
        ("D6", bson!({ "$or": [{ "team": { "$in": "%ROLES" } }, { "end": true }] }), Some(&[1, 3])),
        ("D6", bson!({ "$or": [{ "g": "@qparams['group']" }, { "end": true }] }), Some(&[2])),
        (
            "D6",
            bson!({ "$or": [{ "x": { "$lt": "@now" } }, { "x": { "$gt": "%NOW" } }, { "end": true }] }),
            Some(&[]),
        ),
        (
            "D6",
            bson!({ "$or": [{ "owner": { "$ne": "@request.remoteIp" } }] }),
            Some(&[1, 2, 3, 4]),
        ),
        ("D6", bson!({ "$or": [{ "g": "@unknown" }, { "end": true }] }), Some(&[])),
        (
            "D7",
            bson!({ "$or": [{ "owner": "@user.missing" }, { "public": true }, { "end": true }] }),
            Some(&[4]),
        ),
        (
            "D7",
            bson!({ "$or": [{ "owner": "@user.empty" }, { "public": true }, { "end": true }] }),
            Some(&[4]),
        ),
        ("D8", bson!({ "owner": { "$ne": "@user.missing" } }), None),
        ("D8", bson!({ "owner": { "$nin": ["@user.missing"] } }), None),
        ("D8", bson!({ "$nor": [{ "owner": "@user.missing" }] }), None),
        ("D8", bson!({ "owner": { "$not": { "$eq": "@user.missing" } } }), None),
        ("D9", bson!({ "owner": "@user.operator" }), None),
        ("D9", bson!({ "owner": { "$in": "@user.operators" } }), None),
        ("D9", bson!({ "owner": "@user.nested" }), None),
    ]
}

fn ann(role: &str) -> String {
    let properties = json!({
        "deep": { "names": ["ann", "bob"] }, "object": { "b": [{ "c": 3 }] }, "empty": null,
        "operator": { "$ne": 1 }, "operators": [{ "$gt": "" }], "nested": { "a": [{ "$ne": 1 }] },
    });
    bearer(&with(claims("ann", &[role, "red"]), &properties))
}

/// Filters of permissions hold on streams as on reads, and what they cannot say opens nothing.
#[tokio::test]
async fn filters_hold_everywhere_alike() {
    let rows = rows();
    let permissions = rows.iter().enumerate().map(|(number, (_, filter, _))| {
        permission(&number.to_string(), "path-prefix('/')", doc! { "readFilter": filter.clone() })
    });
    let app = Deployment::new().await.permissions(permissions).await.start().await;
    for (number, (line, filter, expected)) in rows.iter().enumerate() {
        let ann = ann(&number.to_string());
        let headers = [("authorization", ann.as_str())];
        match expected {
            Some(expected) => {
                assert_eq!(sees(&app, &headers, "?group=b").await, *expected, "{line} {filter}");
            }
            None => {
                for way in Way::STREAMS {
                    let answer = ask(&app, way, &app.path("c/all"), &headers).await;
                    assert_eq!(answer.status, 403, "{line} {filter} {way:?}");
                }
            }
        }
    }
}

/// Users of a collection keep the types that they are stored with.
#[tokio::test]
async fn stored_users_keep_their_types() {
    let deployment = Deployment::new().await;
    let id = bson::oid::ObjectId::new();
    let user = doc! { "_id": "zoe", "roles": ["user"], "password": hashed("zoe"), "team": "red", "ref": id, "n": 3_i64 };
    deployment.user(user).await;
    let filter = or_end(
        doc! { "$or": [{ "team": "@user.team" }, { "a.b.c": "@user.n" }, { "owner": "@user.ref" }] },
    );
    let app = deployment.permissions([permission(
        "user",
        "path-prefix('/')",
        doc! { "readFilter": filter },
    )]);
    let app = app.await.start().await;
    assert_eq!(sees(&app, &[("authorization", &basic("zoe", "zoe"))], "").await, [1, 3], "D6 D7");
    assert_eq!(
        sees(&app, &[("authorization", &bearer_of("jo", &["user"]))], "").await,
        [0; 0],
        "D7"
    );
}

async fn read(app: &TestApp, user: &str, rest: &str) -> (u16, String) {
    let answer = app.as_user(user, "GET", &format!("/{}/c{rest}", app.db.name())).await;
    (answer.status, answer.body)
}

/// A client's own filter narrows what the permission shows, and nothing of it widens; counting and single
/// documents follow the same rule.
#[tokio::test]
async fn a_client_cannot_widen_what_it_sees() {
    let filter = doc! { "readFilter": { "owner": "@user._id" } };
    let app = Deployment::new().await.permissions([permission("user", "path-prefix('/')", filter)]);
    let app = app.await.start().await;
    let coll = app.coll("c");
    let documents = [("1", "ann", 1), ("2", "bob", 2), ("3", "ann", 3)];
    let documents = documents.map(|(id, owner, n)| doc! { "_id": id, "owner": owner, "n": n });
    coll.insert_many(documents).await.unwrap();
    for (line, query, expected) in [
        ("D1", "", "13"),
        ("D1", "filter={\"n\":{\"$gt\":1}}", "3"),
        ("D1", "filter={\"$or\":[{\"owner\":\"bob\"},{\"n\":1}]}", "1"),
        ("D1", "filter={\"owner\":\"bob\"}", ""),
        ("D1", "filter={\"owner\":{\"$ne\":\"ann\"}}&filter={}", ""),
        ("D1", "filter={\"$nor\":[{\"owner\":\"ann\"}]}", ""),
    ] {
        let query = query.replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
        let (status, body) = read(&app, "ann", &format!("?sort=_id&{query}")).await;
        assert_eq!(status, 200, "{line} {query}: {body}");
        let found: Vec<Document> = serde_json::from_str(&body).unwrap();
        let ids: String = found.iter().map(|it| it.get_str("_id").unwrap()).collect();
        assert_eq!(ids, expected, "{line} {query}");
        let (_, size) = read(&app, "ann", &format!("/_size?{query}")).await;
        assert_eq!(size, format!("{{\"_size\": {}}}", expected.len()), "D2 {query}");
        let counted = app
            .as_user("ann", "GET", &format!("/{}/c?count&pagesize=1&{query}", app.db.name()))
            .await;
        assert_eq!(
            counted.header("x-total-count"),
            Some(expected.len().to_string().as_str()),
            "D2"
        );
    }
    for (id, expected) in [("1", 200), ("2", 404), ("3", 200), ("4", 404)] {
        assert_eq!(read(&app, "ann", &format!("/{id}")).await.0, expected, "D3 {id}");
        assert_eq!(read(&app, "root", &format!("/{id}")).await.0 == 200, id != "4", "D3 {id}");
    }
    for operator in ["$where", "$function", "$accumulator"] {
        for filter in [
            format!("{{\"{operator}\":1}}"),
            format!("{{\"$or\":[{{\"a\":{{\"{operator}\":1}}}}]}}"),
        ] {
            let filter =
                percent_encoding::utf8_percent_encode(&filter, percent_encoding::NON_ALPHANUMERIC);
            for user in ["ann", "root"] {
                assert_eq!(
                    read(&app, user, &format!("?filter={filter}")).await.0,
                    403,
                    "D4 {operator}"
                );
            }
        }
    }
    assert_eq!(status(&app, "", &[("authorization", &basic("ann", "ann"))]).await, 200);
}

/// What a permission hides is not shown, and not found out by conditions, orders or computed fields.
#[tokio::test]
async fn projections_hide_and_keep() {
    let document = || doc! { "_id": "1", "a": { "b": 1, "c": 2 }, "l": [{ "p": 1, "q": 2 }], "ssn": "s", "z": 1 };
    for (number, (projection, expected)) in [
        (doc! { "ssn": 0, "a.b": 0, "l.p": 0 }, json!([{ "_id": "1", "a": { "c": 2 }, "l": [{ "q": 2 }], "z": 1 }])),
        (doc! { "a": 0, "a::b": 0, "l": 0, "_id": 0 }, json!([{ "ssn": "s", "z": 1 }])),
        (doc! { "a.b": 1, "a.c": 1 }, json!([{ "a": { "b": 1, "c": 2 } }])),
        (doc! { "_id": 1, "l.p": 1 }, json!([{ "_id": "1", "l": [{ "p": 1 }] }])),
        (doc! {}, json!([{ "_id": "1", "a": { "b": 1, "c": 2 }, "l": [{ "p": 1, "q": 2 }], "ssn": "s", "z": 1 }])),
    ].into_iter().enumerate() {
        let projection = doc! { "projectResponse": projection };
        let app = Deployment::new().await.permissions([permission("user", "path-prefix('/')", projection)]);
        let app = app.await.start().await;
        app.coll("c").insert_one(document()).await.unwrap();
        let (status, body) = read(&app, "ann", "").await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&body).unwrap(), expected, "D10 {number}");
        let (_, one) = read(&app, "ann", "/1").await;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&one).unwrap(), expected[0], "D10 {number}");
        let hides = number < 4;
        for query in ["?filter=%7B%22l%22:1%7D", "?sort=l.p", "?keys=%7B%22x%22:%22$l%22%7D", "?filter=%7B%22$expr%22:true%7D"] {
            let refused = read(&app, "ann", query).await.0 == 403;
            assert_eq!(refused, hides && !(number == 3 && query == "?sort=l.p"), "{number} {query}");
            assert_eq!(read(&app, "root", query).await.0, 200, "{query}");
        }
        let recovery = read(&app, "ann", "?filter=%7B%22_etag%22:%7B%22$gt%22:1%7D%7D&sort=_etag").await;
        assert_eq!(recovery.0, 200);
    }
}
