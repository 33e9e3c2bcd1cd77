//! The console: a page for people, of the service's own.

use bson::doc;
use serde_json::{Value, json};

use crate::{
    access::deployment::{Deployment, everywhere, permission},
    support::{
        TestApp,
        browser::{Browser, BrowserRun},
        eventually,
    },
};

async fn started() -> TestApp {
    let filter = doc! { "readFilter": { "owner": "@user._id" } };
    let deployment = Deployment::new().await;
    let mut hidden =
        permission("user", &format!("path-prefix('/{}/h')", deployment.db.name()), doc! {});
    hidden.insert("roles", ["other"]);
    let only = format!("path-prefix('/{}/c') or path('/_/asyncapi.json')", deployment.db.name());
    let mut shown = everywhere(filter);
    shown.insert("predicate", only);
    let app = deployment.permissions([shown, hidden]).await.start().await;
    let stages = [doc! { "_$match": { "fullDocument::kind": { "$var": "kind" } } }];
    app.declare("c", vec![doc! { "uri": "kind", "description": "One kind", "stages": stages }])
        .await;
    app.declare("h", vec![crate::support::all()]).await;
    app
}

/// The page holds no data and asks for no credential, whatever comes after its name; nothing from elsewhere
/// runs in it.
#[tokio::test]
async fn the_page_is_for_everybody() {
    let app = started().await;
    for (file, kind) in [
        ("", "text/html; charset=utf-8"),
        ("console.css", "text/css; charset=utf-8"),
        ("console.js", "text/javascript; charset=utf-8"),
        ("tailwater.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = app.get(&format!("/_/console/{file}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{file}");
        assert!(
            answer.header("content-security-policy").unwrap().starts_with("default-src 'none'")
        );
    }
    let slash = app.get("/_/console").await;
    assert_eq!((slash.status, slash.header("location")), (308, Some("console/")));
    assert_eq!(app.get("/_/console/other.js").await.status, 404);
    assert_eq!(app.send("POST", "/_/console/", "").await.status, 405);
}

async fn heard(page: &mut BrowserRun, kind: &str, is: impl Fn(&Value) -> bool) -> Value {
    loop {
        let report = page.next_of(kind).await;
        if is(&report) {
            return report;
        }
    }
}

/// Whoever signs in is listed what they may watch, watches it as themselves, and is told the plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_and_watches() {
    let Some(browser) = Browser::require() else { return };
    let app = started().await;
    let address = app.path("c/kind");
    let page = |password: &str| {
        browser.console(json!({
            "page": format!("http://{}/_/console/", app.address),
            "user": "ann", "password": password, "channel": address, "parameters": { "kind": "a" },
        }))
    };
    let says =
        |code: &'static str| move |it: &Value| it["text"].as_str().unwrap().starts_with(code);
    let mut wrong = page("wrong");
    heard(&mut wrong, "message", says("401")).await;
    wrong.send("sign in").await;
    heard(&mut wrong, "message", says("401")).await;
    wrong.finish().await;

    let mut page = page("ann");
    heard(&mut page, "message", says("401")).await;
    page.send("sign in").await;
    let listed = loop {
        page.send("list").await;
        let listed = page.next_of("channels").await["addresses"].take();
        if listed != json!([]) {
            break listed;
        }
    };
    assert_eq!(listed, json!([address]), "nothing else may be watched");
    page.send("choose").await;
    page.send("watch").await;
    heard(&mut page, "state", says("live (sse)")).await;
    for (id, owner, kind) in [(1, "bob", "a"), (2, "ann", "b"), (3, "ann", "a")] {
        app.coll("c").insert_one(doc! { "_id": id, "owner": owner, "kind": kind }).await.unwrap();
    }
    let change = heard(&mut page, "event", |it| it["data"]["operationType"] == "insert").await;
    assert_eq!(change["data"]["documentKey"]["_id"], 3);
    assert!(change["text"].as_str().unwrap().ends_with("change insert3"), "{change}");
    page.send("plan").await;
    let plan = heard(&mut page, "event", |it| it["data"]["cursor"].is_object()).await;
    assert_eq!(plan["data"]["principal"]["user"], "ann");
    page.send("stop").await;
    heard(&mut page, "state", says("closed")).await;
    eventually("the stream is closed", async || app.cursors("c").await == 0).await;
    page.finish().await;
}
