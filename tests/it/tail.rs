//! `tailwater tail`: a stream on the command line.

use bson::doc;
use serde_json::{Value, json};

use crate::support::{
    TestApp, all,
    proxy::{Direction, Flow, Proxy},
    tailwater::{Running, after, run},
    unused_port,
};

fn url(app: &TestApp) -> String {
    format!("http://{}", app.address)
}

/// Each event is a line of standard output, from after the id that is named; what concerns the stream
/// is said on standard error.
#[tokio::test]
async fn events_are_lines() {
    let app = TestApp::start().await;
    app.declare("c", vec![all()]).await;
    let id = app.sse("c/all").await.last_id;
    let documents = (1..=3).map(|n| doc! { "_id": n, "text": "a\nb" });
    app.coll("c").insert_many(documents).await.unwrap();
    let path = app.path("c/all");
    let url = url(&app);
    let tail = ["tail", &path, "--url", &url, "--count", "2"];
    let (code, out, err) = run(&[&tail[..], &["--last-event-id", &id]].concat()).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let ids: Vec<Value> = out.lines().map(|line| key(line, "/documentKey/_id")).collect();
    assert_eq!(ids, [1, 2]);

    let (code, out, err) = run(&[&tail[..], &["--last-event-id", &id, "--frames"]].concat()).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let names: Vec<Value> = out.lines().map(|line| key(line, "/event")).collect();
    assert_eq!(names, ["ready", "change", "change"]);
    let second = key(out.lines().last().unwrap(), "/id");

    let resumed = [&tail[..2], &["--url", &url, "--count", "1", "--last-event-id"]].concat();
    let (_, out, _) = run(&[&resumed[..], &[second.as_str().unwrap()]].concat()).await;
    assert_eq!(key(&out, "/documentKey/_id"), 3, "an id that was printed is one to begin after");
}

fn key(line: &str, pointer: &str) -> Value {
    let line: Value = serde_json::from_str(line).unwrap();
    line.pointer(pointer).cloned().unwrap_or_default()
}

/// A connection that is cut, or silent for longer than heartbeats allow, is opened again where it was.
#[tokio::test]
async fn a_lost_connection_loses_nothing() {
    let app = TestApp::with_streams("heartbeat: 300ms").await;
    app.declare("c", vec![all()]).await;
    let proxy = Proxy::start(app.address).await;
    let url = format!("http://{}", proxy.address());
    let id = app.sse("c/all").await.last_id;
    let path = app.path("c/all");
    let mut tail = Running::start(&["tail", &path, "--url", &url, "--last-event-id", &id], &[]);
    for (n, silent) in [(1, false), (2, true), (3, false)] {
        app.coll("c").insert_one(doc! { "_id": n }).await.unwrap();
        let line = tail.stdout.next_line().await.unwrap().unwrap();
        assert_eq!(key(&line, "/documentKey/_id"), n);
        if silent {
            proxy.set_flow(Direction::Down, Flow::Swallow);
            after(&mut tail.stderr, "opening it again").await;
            proxy.set_flow(Direction::Down, Flow::Pass);
        } else {
            proxy.cut_all();
        }
    }
    assert_eq!(tail.end("-INT").await, Some(0));
}

/// What cannot be opened ends the command with 1 and the reason.
#[tokio::test]
async fn refusals_are_told() {
    let app = TestApp::guarded("").await;
    app.declare("c", vec![all()]).await;
    let (here, nowhere) = (url(&app), format!("http://127.0.0.1:{}", unused_port()));
    let path = app.path("c/all");
    for (args, reason) in [
        (&[path.as_str(), "--url", &here][..], "401 Unauthorized: log in with --login or --token"),
        (&[&path, "--url", &here, "--login", "ann:wrong"], "401 Unauthorized"),
        (&[&path, "--url", &nowhere], "does not answer; is it running there?"),
        (&[&path, "--url", "nowhere"], "`nowhere` is no address of a service"),
        (&["/a b", "--url", &here], "`/a b` is no path"),
    ] {
        let (code, out, err) = run(&[&["tail"], args].concat()).await;
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        assert!(err.contains(reason), "{args:?}: {err}");
    }
    let open = TestApp::start().await;
    let missing = open.path("c/none");
    let (code, _, err) = run(&["tail", &missing, "--url", &url(&open)]).await;
    let answer = open.refused("c/none").await.json();
    assert_eq!((code, answer["http status code"].clone()), (1, json!(404)));
    assert!(err.contains(answer["message"].as_str().unwrap()), "{err}");
}
