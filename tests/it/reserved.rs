//! What no route reaches: MongoDB's own names, metadata as a collection, and Tailwater's settings.

use bson::{Document, doc};

use crate::{
    metadata_refusals::check_error,
    support::{
        TestApp, all, http,
        mongod::{fresh_database, shared_uri},
    },
};

/// Reserved names are 403 by every route and method; impossible ones 400 with what is allowed.
#[tokio::test]
async fn reserved_and_impossible_names() {
    let app = TestApp::start().await;
    let db = app.db.name();
    app.declare("c", vec![all()]).await;
    let reserved = [
        "/admin".to_owned(),
        "/ADMIN/x".to_owned(),
        "/config/x".to_owned(),
        "/local/oplog.rs".to_owned(),
        "/system.x/c".to_owned(),
        format!("/{db}/_properties"),
        format!("/{db}/_PROPERTIES"),
        format!("/{db}/%5Fproperties"),
        format!("/{db}/system.users"),
        format!("/{db}/System.views"),
        format!("/{db}/fs.chunks"),
        "/tailwater/settings".to_owned(),
        "/tailwater/%73ettings".to_owned(),
        "/Tailwater/Settings".to_owned(),
    ];
    for base in &reserved {
        for rest in ["", "/_meta", "/_streams", "/_streams/all", "/x"] {
            for method in ["GET", "PUT", "PATCH"] {
                let path = format!("{base}{rest}");
                let accept =
                    [("accept", "text/event-stream"), ("content-type", "application/json")];
                let answer = http::request(app.address, method, &path, &accept, "{}").await;
                check_error(&answer, 403, "Forbidden");
                assert_eq!(answer.message(), "reserved resource");
            }
        }
    }
    let long = "x".repeat(300);
    for path in ["/a%20b/c", "/a.b/c", "/a$b/c", "/a%22b/c", "/a%5Cb%00/c", &format!("/{long}/c")] {
        check_error(&app.send("PUT", path, "{}").await, 400, "Bad Request");
    }
    for coll in ["a$b", "a%00b", ".a", "a.", "a..b", "a%0Ab", &long] {
        let path = app.coll_path(coll);
        check_error(&app.send("PUT", &path, "{}").await, 400, "Bad Request");
        check_error(&app.get(&format!("{path}/_streams/all")).await, 400, "Bad Request");
    }
}

/// The settings collection is out of reach under any name it is given, and through any mount.
#[tokio::test]
async fn the_settings_collection_is_out_of_reach() {
    let db = fresh_database().await;
    let uri = shared_uri().await;
    let name = db.name().to_owned();
    let rows = [
        (r#"[{ what: "*", where: "/" }]"#.to_owned(), "/tailwater/settings".to_owned()),
        (r#"[{ what: "/tailwater", where: "/t" }]"#.to_owned(), "/t/settings".to_owned()),
        (r#"[{ what: "/tailwater/settings", where: "/s" }]"#.to_owned(), "/s".to_owned()),
        (
            r#"[{ what: "/{a}/settings/{*}", where: "/x/{a}/{*}" }]"#.to_owned(),
            "/x/tailwater".to_owned(),
        ),
        (format!(r#"[{{ what: "/{name}", where: "/t" }}]"#), "/t/_properties".to_owned()),
    ];
    for (mounts, base) in rows {
        let app = TestApp::at(&uri, db.clone(), &format!("mounts: {mounts}")).await;
        for rest in ["", "/_meta", "/_streams", "/_streams/all"] {
            for method in ["GET", "PUT", "PATCH"] {
                let answer = app.send(method, &format!("{base}{rest}"), "{}").await;
                assert_eq!(answer.status, 403, "{mounts} {method} {base}{rest}: {}", answer.body);
            }
        }
        let explained = app.get(&format!("/_/explain?path={base}/_streams/all")).await;
        assert_eq!(explained.status, 403, "{base}: {}", explained.body);
        app.stop().await;
    }
    let client = db.client().database("tailwater");
    let properties = client.collection::<Document>("_properties");
    let found = properties.find_one(doc! { "_id": "_properties.settings" }).await.unwrap();
    assert!(found.is_none());
}

/// One that the configuration moves elsewhere is as far out of reach there.
#[tokio::test]
async fn moved_settings_are_out_of_reach_too() {
    let db = fresh_database().await;
    let uri = shared_uri().await;
    let name = db.name().to_owned();
    // The harness writes the `mongodb` section, so the rest of it comes in the flow of the URI's line.
    let yaml = format!("mounts: [{{ what: \"/{name}\", where: \"/m\" }}]");
    let settings = format!("{uri}\", settings: \"{name}.keys");
    let app = TestApp::at(&settings, db, &yaml).await;
    for rest in ["", "/_meta", "/_streams", "/_streams/all"] {
        assert_eq!(app.send("GET", &format!("/m/keys{rest}"), "").await.status, 403, "{rest}");
        assert_eq!(app.send("PUT", &format!("/m/keys{rest}"), "{}").await.status, 403, "{rest}");
    }
    let live = app.get("/_/health/live").await.json();
    assert_eq!(live["status"], "live");
}
