//! `serve` and `dev` as processes: who may reach them, how they end, and that nothing is left behind.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use bson::{Document, doc};

use crate::support::{
    all,
    clients::Tool,
    http, listens,
    mongod::{connect, fresh_database, shared_uri},
    sse::Sse,
    tailwater::{Folder, Running, after, run},
    unused_port,
};

/// Nobody is exposed by accident: beyond loopback `serve` is closed to strangers unless it is told otherwise,
/// which it then says, and `dev` never goes there.
#[tokio::test]
async fn an_exposed_service_is_closed_to_strangers() {
    let uri = shared_uri().await;
    let none = fresh_database().await.name().to_owned();
    let auth = format!("auth: {{ basic: {{ database: {none} }} }}\nacl: {{ database: {none} }}\n");
    let folder = Folder::new().with("t.yaml", &auth);
    let file = format!("{}/t.yaml", folder.path());
    let (port, path) = (unused_port(), format!("/{none}/c/_streams/all"));
    let listen = format!("0.0.0.0:{port}");
    let common = ["serve", "--mongodb-uri", &uri, "--listen", &listen, "--config", &file];
    for (flags, expected) in [(&[][..], 401), (&["--insecure-no-auth"], 404)] {
        let mut serving = Running::start(&[&common[..], flags].concat(), &[]);
        if !flags.is_empty() {
            let said = after(&mut serving.stderr, "authentication is off").await;
            assert!(said.contains("insecure_no_auth") && said.contains(&listen), "{said}");
        }
        assert_eq!(after(&mut serving.stderr, "ready on http://").await, listen);
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let accept = [("accept", "text/event-stream")];
        let answer = http::request(address, "GET", &path, &accept, "").await;
        assert_eq!(answer.status, expected, "{}", answer.body);
        assert_eq!(serving.end("-TERM").await, Some(0));
    }
    for address in [listen, format!("[::]:{port}")] {
        let (code, out, err) = run(&["dev", "--listen", &address]).await;
        assert_ne!(code, 0, "{out}{err}");
        assert!(err.contains(&address) && !err.contains("starting MongoDB"), "{err}");
    }
}

/// SIGTERM says goodbye to every client and ends with 0 within the drain.
#[tokio::test]
async fn sigterm_drains() {
    let (db, uri) = (fresh_database().await, shared_uri().await);
    let stored = db.collection("_properties");
    stored.insert_one(doc! { "_id": "_properties.c", "streams": [all()] }).await.unwrap();
    let args = ["serve", "--mongodb-uri", &uri, "--listen", "127.0.0.1:0", "--insecure-no-auth"];
    let mut serving = Running::start(&args, &[("TAILWATER_STREAMS__DRAIN", "1s")]);
    let address = after(&mut serving.stderr, "ready on http://").await.parse().unwrap();
    let path = format!("/{}/c/_streams/all", db.name());
    let sse = Sse::open(address, &path, &[]).await;
    let asked = Instant::now();
    let (code, rest) = tokio::join!(serving.end("-TERM"), sse.rest());
    assert_eq!(code, Some(0));
    assert_eq!(rest.last().unwrap().json()["code"], 1012);
    assert!(asked.elapsed().as_secs() < 8, "{:?}", asked.elapsed());
    assert!(!listens(address.port()).await);
}

/// `dev`: a banner with lines to copy, an event within moments, nothing left after Ctrl-C, and the data there
/// again at the next start.
#[tokio::test]
async fn dev_shows_an_event_and_leaves_nothing() {
    let (Some(_), Some(shell)) = (Tool::require("curl"), Tool::require("sh")) else { return };
    let folder = Folder::new();
    let data = format!("{}/data", folder.path());
    let port = unused_port();
    let listen = format!("127.0.0.1:{port}");
    let args = ["dev", "--listen", &listen, "--data", &data];
    for start in 1..=2 {
        let mut dev = Running::start(&args, &[]);
        let url = after(&mut dev.stdout, "tailwater ").await;
        assert_eq!(url, format!("http://{listen}"));
        let mongodb = after(&mut dev.stdout, "MongoDB ").await;
        let watch = after(&mut dev.stdout, "watch ").await;
        assert!(watch.ends_with(&format!("{url}/demo/orders/_streams/all")), "{watch}");
        assert!(after(&mut dev.stdout, "or ").await.starts_with("websocat ws://"));
        let feed = after(&mut dev.stdout, "entities ").await;
        assert!(after(&mut dev.stdout, "resume ").await.contains("Last-Event-ID"));

        let shown = Instant::now();
        let mut events = shell.run(["-c", &format!("exec {watch}")]);
        assert!(events.block().await.contains(&"event: ready".to_owned()));
        while !events.block().await.contains(&"event: change".to_owned()) {}
        assert!(shown.elapsed().as_secs() < 10, "{:?}", shown.elapsed());

        let mut entities = shell.run(["-c", &format!("exec {feed}")]);
        let first = entities.block().await.join("\n");
        assert!(
            first.starts_with(": connected sub=") && first.ends_with(" heartbeat=30s"),
            "{first}"
        );
        while !entities.block().await.iter().any(|line| line.starts_with("event: entity.")) {}

        let kept = connect(&mongodb).await.database("mine").collection::<Document>("kept");
        assert_eq!(kept.count_documents(doc! {}).await.unwrap(), start - 1, "data of runs before");
        kept.insert_one(doc! {}).await.unwrap();

        assert_eq!(dev.end("-INT").await, Some(0));
        events.finish().await;
        entities.finish().await;
        assert!(!listens(port).await);
        let mongod: u16 =
            mongodb.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
        assert!(!listens(mongod).await, "{mongodb}");
        assert_eq!(processes_with(&data), Vec::<String>::new());
    }
}

/// Command lines of running processes that name a folder.
fn processes_with(folder: &str) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let lines = processes.flatten().map(|process| process.path().join("cmdline"));
    let lines = lines.filter_map(|file: PathBuf| fs::read(Path::new(&file)).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}

/// `dev` on a port that is taken, or with definitions that are wrong, says so and leaves nothing behind.
#[tokio::test]
async fn dev_that_cannot_start_leaves_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let folder = Folder::new().with("bad.yaml", "db: x\ncoll: y\nstreams: [{ uri: a }]\n");
    let data = format!("{}/data", folder.path());
    let (code, _, err) = run(&["dev", "--listen", &listen, "--data", &data]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(&listen) && !err.contains("starting MongoDB"), "{err}");
    let free = format!("127.0.0.1:{}", unused_port());
    let args = ["dev", "--listen", &free, "--data", &data, "--definitions", folder.path()];
    let (code, _, err) = run(&args).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("bad.yaml") && !err.contains("starting MongoDB"), "{err}");
    let args = ["dev", "--listen", &free, "--data", &data, "--definitions", "nowhere"];
    let (code, _, err) = run(&args).await;
    assert_eq!(code, 1, "{err}");
    let said = "nowhere is no folder; name one with --definitions";
    assert!(err.contains(said) && !err.contains("starting MongoDB"), "{err}");
    assert_eq!(processes_with(&data), Vec::<String>::new());
}
