//! Tenants and users: each sees its own, on one cursor.

use bson::{Bson, Document, doc};
use serde_json::{Value, json};

use super::shop::{ORDER, Reader, Shop};
use crate::{
    access::{
        deployment::{Deployment, everywhere},
        tokens::{bearer, claims, with},
    },
    support::{add_user, sse::Sse, tailwater::Folder},
};

fn case(id: impl Into<bson::Bson>, tenant: &str, user: &str) -> Document {
    doc! { "_id": id, "owner": { "tenant": tenant, "user": user } }
}

/// Callers of a tenant see the tenant's events; a caller without one is refused; root sees all.
#[tokio::test]
async fn tenants_see_their_own() {
    let shop = Shop::start(ORDER).await;
    let mut ann = shop.feed("ann", "/api/subscribe/Case").await;
    let mut bob = shop.feed("bob", "/api/subscribe/Case").await;
    let mut root = shop.feed("root", "/api/subscribe/Case").await;
    shop.insert("cases", [case(1, "acme", "ann"), case(2, "globex", "bob"), case(3, "acme", "x")])
        .await;
    shop.insert("cases", [doc! { "_id": 4 }, doc! { "_id": 5, "owner": { "tenant": ["acme"] } }])
        .await;
    shop.insert("cases", [case(6, "acme", "ann"), case(7, "globex", "bob")]).await;
    assert_eq!(ann.subjects(3).await, ["1", "3", "6"]);
    assert_eq!(bob.subjects(2).await, ["2", "7"]);
    assert_eq!(root.subjects(7).await, ["1", "2", "3", "4", "5", "6", "7"]);
    let refused = shop.refused("nil", "/api/subscribe/Case").await;
    assert_eq!(refused.status, 403);
    assert!(refused.message().contains("tenant"), "{}", refused.message());
}

/// Whatever a tenant's name is made of, callers and documents are of the same where their texts are.
#[tokio::test]
async fn tenants_are_told_apart_by_their_text() {
    let shop = Shop::start(ORDER).await;
    let (uuid, id) = (bson::Uuid::new(), bson::oid::ObjectId::new());
    let rows: [(Bson, Vec<Bson>); 4] = [
        (uuid.into(), vec![uuid.into(), uuid.to_string().into()]),
        (id.into(), vec![id.into(), id.to_hex().into()]),
        (42.into(), vec![42_i64.into(), 42.0.into(), "42".into()]),
        (7.0.into(), vec![7.into(), 7.0.into()]),
    ];
    for (n, (tenant, same)) in rows.into_iter().enumerate() {
        let name = format!("user{n}");
        add_user(&shop.app.db, &name, "user", None).await;
        let users = shop.app.db.collection::<Document>("users");
        let set = doc! { "$set": { "tenant": tenant.clone() } };
        users.update_one(doc! { "_id": &name }, set).await.unwrap();
        let mut reader = shop.feed(&name, "/api/subscribe/Case").await;
        let others = [Bson::from(43), 42.5.into(), true.into(), "x".into(), Bson::Null];
        let count = same.len();
        for tenant in others.into_iter().chain(same) {
            shop.insert("cases", [doc! { "owner": { "tenant": tenant } }]).await;
        }
        let mut texts = std::collections::HashSet::new();
        for _ in 0..count {
            texts.insert(reader.envelope().await["tenant"].as_str().unwrap().to_owned());
        }
        assert_eq!(texts.len(), 1, "{tenant}: {texts:?}");
    }
}

/// A token's tenant is the claim that `auth.tenant` names, a dotted path.
#[tokio::test]
async fn a_token_names_its_tenant() {
    let deployment = Deployment::new().await;
    let name = deployment.db.name().to_owned();
    let folder = Folder::new().with("shop.yaml", &ORDER.replace("DB", &name));
    let entities = format!("entities: {}", folder.path());
    let deployment = deployment.auth("tenant: org.name").with(&entities);
    let app = deployment.permissions([everywhere(doc! {})]).await.start().await;
    let path = "/api/subscribe/Case";
    let token = |claim: &Value| bearer(&with(claims("ann", &["user"]), claim));
    let acme = token(&json!({ "org": { "name": "acme" }, "tenant": "globex" }));
    let mut reader = Sse::begin(app.address, path, &[("authorization", &acme)]).await;
    assert!(reader.block().await.comments[0].starts_with("connected sub="));
    let cases = [case(1, "globex", "ann"), case(2, "acme", "ann")];
    app.coll("cases").insert_many(cases).await.unwrap();
    assert_eq!(reader.until("entity.create").await.json()["subject"], "2");
    for claim in [json!({}), json!({ "tenant": "acme" }), json!({ "org": "acme" })] {
        let headers = [("authorization", &*token(&claim)), ("accept", "text/event-stream")];
        assert_eq!(app.with("GET", path, &headers).await.status, 403, "{claim}");
    }
}

/// Two tenants and two hundred users on one collection hold one cursor and see only their own.
#[tokio::test]
async fn two_hundred_users_hold_one_cursor() {
    let own = format!("{ORDER}    subscriptions: [{{ name: mine, scope: user }}]\n");
    let shop = Shop::start(&own).await;
    let user = |n: usize| (format!("user{n}"), ["acme", "globex"][n % 2]);
    for n in 0..200 {
        let (name, tenant) = user(n);
        add_user(&shop.app.db, &name, "user", Some(tenant)).await;
    }
    let mut readers: Vec<Reader> = Vec::new();
    for n in 0..200 {
        let path =
            if n % 4 < 2 { "/api/subscriptions/mine" } else { "/api/subscribe/Case?ops=create" };
        readers.push(shop.feed(&user(n).0, path).await);
    }
    assert_eq!(shop.cursors("cases").await, 1);
    let cases = (0..200).map(|n| {
        let (name, tenant) = user(n);
        case(i32::try_from(n).unwrap(), tenant, &name)
    });
    shop.insert("cases", cases).await;
    for (n, reader) in readers.iter_mut().enumerate() {
        let (name, tenant) = user(n);
        if n % 4 < 2 {
            let envelope = reader.envelope().await;
            assert_eq!(envelope["user_id"], name);
            assert_eq!(envelope["subject"], n.to_string());
            // Somebody else's would have come before the marker.
            let marker = case(format!("marker{n}"), tenant, &name);
            shop.insert("cases", [marker]).await;
            assert_eq!(reader.subjects(1).await, [format!("marker{n}")]);
        } else {
            for other in (0..200).filter(|other| other % 2 == n % 2) {
                let envelope = reader.envelope().await;
                assert_eq!(envelope["subject"], other.to_string());
                assert_eq!(envelope["tenant"], tenant);
            }
        }
    }
    assert_eq!(shop.cursors("cases").await, 1);
}
