//! What an operator sees: who may look, what is counted, and that nothing is counted twice or forgotten.

use std::{
    net::SocketAddr,
    process::{Command, Stdio},
};

use bson::{Document, doc};
use serde_json::Value;

use crate::support::{
    TestApp, add_user, all,
    clients::Tool,
    eventually, http,
    mongod::{fresh_database, shared_uri},
    unused_port,
};

/// The value of a series, absent when there is none.
pub(crate) fn series(page: &str, name: &str) -> Option<f64> {
    let mut lines = page.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.next().map(|value| value.parse().unwrap())
}

pub(crate) async fn metric(app: &TestApp, name: &str) -> f64 {
    let page = app.get("/_/metrics").await.body;
    series(&page, name).unwrap_or_else(|| panic!("no {name} in\n{page}"))
}

/// What the status says of the subscribers of a stream.
async fn subscribers(app: &TestApp, stream: &str) -> Vec<Value> {
    let status = app.get("/_/status").await.json();
    let topic = app.path(stream);
    let all = status["subscribers"].as_array().unwrap().clone();
    all.into_iter().filter(|subscriber| subscriber["topic"] == topic).collect()
}

/// Metrics and status are for the root role: strangers are asked who they are, others are refused.
#[tokio::test]
async fn metrics_and_status_need_the_root_role() {
    let app = TestApp::guarded("").await;
    for (name, role) in [("ann", "user"), ("root", "admin")] {
        add_user(&app.db, name, role, None).await;
    }
    for path in ["/_/metrics", "/_/status"] {
        let stranger = app.get(path).await;
        assert_eq!((stranger.status, stranger.body.as_str()), (401, ""), "{path}");
        assert!(stranger.header("www-authenticate").is_some());
        let known = app.as_user("ann", "GET", path).await;
        assert_eq!((known.status, known.body.as_str()), (403, ""), "{path}");
        assert_eq!(app.as_user("root", "GET", path).await.status, 200, "{path}");
    }
}

/// On a listener of their own they ask for no credential, health is there too, and nothing else is.
#[tokio::test]
async fn operators_have_a_listener_of_their_own() {
    let port = unused_port();
    let app = TestApp::guarded(&format!("admin_listen: 127.0.0.1:{port}")).await;
    let own = SocketAddr::from(([127, 0, 0, 1], port));
    let get = async |path: &str| http::request(own, "GET", path, &[], "").await;
    eventually("it listens", async || crate::support::listens(port).await).await;
    eventually("it is ready", async || get("/_/health/ready").await.status == 200).await;
    for path in ["/_/metrics", "/_/status", "/_/health/live"] {
        assert_eq!(get(path).await.status, 200, "{path}");
    }
    assert_eq!(get("/_/explain?path=/a/b/_streams/c").await.status, 401);
    let closing = http::request(own, "DELETE", "/_/sessions?user=x", &[], "").await;
    assert_eq!(closing.status, 401, "closing sessions is for the root role everywhere");
    for path in ["/", "/shop/orders", "/_/nothing"] {
        let answer = get(path).await;
        assert_eq!((answer.status, answer.message().as_str()), (404, "no such resource"), "{path}");
    }
    assert_eq!(app.get("/_/metrics").await.status, 401, "elsewhere it needs one still");
}

/// Every family is there before anything happened, and the format's own checker has nothing to say.
#[tokio::test]
async fn metrics_are_in_the_format_of_prometheus() {
    let app = TestApp::start().await;
    let answer = app.get("/_/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for name in [
        r#"tailwater_connections{transport="sse",surface="streams"}"#,
        r#"tailwater_connections{transport="websocket",surface="entities"}"#,
        r#"tailwater_connections_closed_total{cause="slow consumer"}"#,
        r#"tailwater_connections_closed_total{cause="client gone"}"#,
        r#"tailwater_refused_total{cap="address"}"#,
        "tailwater_cursors_degraded",
        "tailwater_catch_ups",
        "tailwater_events_read_total",
        "tailwater_events_published_total",
        r#"tailwater_events_delivered_total{surface="streams"}"#,
        r#"tailwater_events_dropped_total{surface="entities"}"#,
        r#"tailwater_events_filtered_total{surface="entities",by="script"}"#,
        r#"tailwater_resets_total{surface="entities"}"#,
    ] {
        assert_eq!(series(&answer.body, name), Some(0.0), "{name} in\n{}", answer.body);
    }
    assert!(answer.body.contains("# TYPE tailwater_source_lag_seconds gauge\n"));
    let Some(promtool) = Tool::require("promtool") else { return };
    let mut check = Command::new(promtool.path());
    check
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut checking = check.spawn().unwrap();
    std::io::Write::write_all(&mut checking.stdin.take().unwrap(), answer.body.as_bytes()).unwrap();
    let checked = checking.wait_with_output().unwrap();
    let said = [checked.stdout, checked.stderr].concat();
    assert!(checked.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

/// A subscriber has seen every event of its cursor since it came; each was delivered to it, or kept from
/// it by something that is named, whether or not anybody looked.
#[tokio::test]
async fn what_is_kept_is_counted_by_what_kept_it() {
    let app = TestApp::start().await;
    let chosen = doc! { "uri": "chosen", "stages": [], "notify_when": { "fullDocument::t": { "$var": "t" } } };
    let staged = doc! { "uri": "staged", "stages": [{ "$match": { "fullDocument::t": { "$var": "t" }, "fullDocument::n": { "$gte": 5 } } }] };
    app.declare("c", vec![all(), chosen, staged]).await;
    let mut everything = app.sse("c/all").await;
    let mut chosen = app.sse("c/chosen?t=a").await;
    let mut staged = app.sse("c/staged?t=a").await;
    let coll = app.coll("c");
    for n in 0..10 {
        let tenant = if n % 2 == 0 { "a" } else { "b" };
        coll.insert_one(doc! { "_id": n, "t": tenant, "n": n }).await.unwrap();
    }
    coll.insert_one(doc! { "_id": 10, "t": "a", "n": 10 }).await.unwrap();
    for expected in 0..=10 {
        assert_eq!(everything.change().await["documentKey"]["_id"], expected);
    }
    for expected in [0, 2, 4, 6, 8, 10] {
        assert_eq!(chosen.change().await["documentKey"]["_id"], expected);
    }
    for expected in [6, 8, 10] {
        assert_eq!(staged.change().await["documentKey"]["_id"], expected);
    }
    for (stream, delivered, by, filtered) in
        [("c/all", 11, "scope", 0), ("c/chosen", 6, "notify_when", 5), ("c/staged", 3, "stage", 8)]
    {
        // Counted when it is handed over, which the client may see before.
        eventually("it is counted", async || {
            subscribers(&app, stream).await[0]["delivered"] == delivered
        })
        .await;
        let found = subscribers(&app, stream).await;
        let [subscriber] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(subscriber["seen"], 11, "{subscriber}");
        assert_eq!(subscriber["filtered"], filtered, "{subscriber}");
        assert_eq!(subscriber["filtered_by"][by], filtered, "{subscriber}");
        assert_eq!(subscriber["dropped"], 0, "{subscriber}");
        assert!(subscriber["sub"].as_u64().is_some_and(|sub| sub > 0), "{subscriber}");
    }
    let streams = |name: &str| format!("tailwater_events_{name}{{surface=\"streams\"}}");
    assert_eq!(metric(&app, &streams("delivered_total")).await, 20.0);
    drop((everything, chosen, staged));
    eventually("they are gone", async || {
        metric(&app, "tailwater_subscribers{surface=\"streams\"}").await == 0.0
    })
    .await;
    assert_eq!(metric(&app, &streams("delivered_total")).await, 20.0, "totals stay");
    let by = "tailwater_events_filtered_total{surface=\"streams\",by=\"stage\"}";
    assert_eq!(metric(&app, by).await, 8.0);
    assert_eq!(
        metric(&app, "tailwater_connections{transport=\"sse\",surface=\"streams\"}").await,
        0.0
    );
}

/// What the permission keeps from a caller is counted as that.
#[tokio::test]
async fn what_the_permission_keeps_is_counted_as_scope() {
    let app = TestApp::guarded("").await;
    for (name, role) in [("ann", "user"), ("root", "admin")] {
        add_user(&app.db, name, role, None).await;
    }
    let permission = doc! { "roles": ["user"], "predicate": "path-prefix('/')", "priority": 1, "mongo": { "readFilter": { "owner": "@user._id" } } };
    app.db.collection::<Document>("acl").insert_one(permission).await.unwrap();
    app.declare("c", vec![all()]).await;
    let path = app.path("c/all");
    eventually("permissions are seen", async || {
        app.as_user("ann", "GET", &app.coll_path("c")).await.status != 403
    })
    .await;
    let ann = [("authorization", "Basic YW5uOmFubg==")];
    let mut stream = crate::support::sse::Sse::open(app.address, &path, &ann).await;
    for owner in ["bob", "bob", "ann"] {
        app.coll("c").insert_one(doc! { "owner": owner }).await.unwrap();
    }
    stream.change().await;
    eventually("it is counted", async || {
        let status = app.as_user("root", "GET", "/_/status").await.json();
        let ann = &status["subscribers"][0];
        ann["delivered"] == 1 && ann["filtered_by"]["scope"] == 2 && ann["seen"] == 3
    })
    .await;
}

/// Lag is absent until something was read, near zero while the source is read to its end, and the cursor is
/// said to be degraded while MongoDB is out of reach.
#[tokio::test]
async fn lag_is_told_once_it_is_known() {
    let app = TestApp::with_streams("await: 50ms").await;
    app.declare("c", vec![all()]).await;
    let page = app.get("/_/metrics").await.body;
    assert_eq!(series(&page, "tailwater_source_lag_seconds"), None);
    assert_eq!(app.get("/_/status").await.json()["lag"], Value::Null);
    let _sse = app.sse("c/all").await;
    eventually("an empty batch came", async || {
        let page = app.get("/_/metrics").await.body;
        series(&page, "tailwater_source_lag_seconds").is_some_and(|lag| lag < 5.0)
    })
    .await;
    let status = app.get("/_/status").await.json();
    let name = format!("{}.c", app.db.name());
    let cursors = status["cursors"].as_array().unwrap();
    let cursor = cursors.iter().find(|cursor| cursor["namespace"] == name).unwrap();
    assert_eq!((&cursor["state"], &cursor["subscribers"]), (&"healthy".into(), &1.into()));
    assert!(cursor["lag"].as_f64().is_some_and(|lag| lag < 5.0), "{cursor}");
}

/// What is under `/_/` and takes another method says so in the contract's words.
#[tokio::test]
async fn wrong_methods_have_the_contracts_body() {
    let app = TestApp::at(&shared_uri().await, fresh_database().await, "").await;
    for (method, path, allowed) in [
        ("DELETE", "/_/tickets", "POST"),
        ("GET", "/_/tickets", "POST"),
        ("POST", "/_/explain", "GET,HEAD"),
        ("PUT", "/_/metrics", "GET,HEAD"),
        ("POST", "/_/health/live", "GET,HEAD"),
    ] {
        let answer = app.with(method, path, &[]).await;
        assert_eq!(answer.status, 405, "{method} {path}");
        assert_eq!(answer.message(), format!("method {method} not allowed"));
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
    }
}
