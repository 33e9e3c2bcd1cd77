//! The mongod that `dev` and the tests start: it becomes writable, keeps its data, and leaves nothing.

use std::{
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Command, Stdio},
};

use bson::{Document, doc};
use futures_util::StreamExt;
use mongodb::error::ErrorKind;
use tailwater::mongod::{Mongod, MongodError, Signal};

use crate::support::{
    eventually, listens,
    mongod::{ThreeNodes, WithUsers, connect, fresh_database, private, standalone, tiny_oplog},
    unused_port,
};

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("tailwater-data-{:016x}", rand::random::<u64>())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn code(error: &mongodb::error::Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

#[tokio::test]
async fn data_survives_a_restart_on_another_port_and_a_stop_leaves_nothing_listening() {
    let folder = Folder::new();
    let mongod = Mongod::builder().data_dir(&folder.0).start().await.unwrap();
    let first = mongod.port();
    let kept = connect(&mongod.uri()).await.database("d").collection::<Document>("c");
    kept.insert_one(doc! { "_id": 1 }).await.unwrap();
    let second = unused_port();
    mongod.stop().await.unwrap();
    assert!(!listens(first).await);

    // The set's configuration still names the first port, at which the member finds no one.
    let mongod = Mongod::builder().data_dir(&folder.0).port(second).start().await.unwrap();
    let kept = connect(&mongod.uri()).await.database("d").collection::<Document>("c");
    assert_eq!(kept.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
    kept.insert_one(doc! { "_id": 2 }).await.unwrap();
    mongod.stop().await.unwrap();
    assert!(!listens(second).await);
}

#[tokio::test]
async fn a_second_mongod_on_the_same_data_or_port_is_told_so() {
    let folder = Folder::new();
    let mongod = Mongod::builder().native_only().data_dir(&folder.0).start().await.unwrap();
    let second = Mongod::builder().native_only().data_dir(&folder.0).start().await.unwrap_err();
    assert!(matches!(second, MongodError::DataInUse { .. }), "{second}");
    let third = Mongod::builder().port(mongod.port()).start().await.unwrap_err();
    assert!(matches!(third, MongodError::PortInUse { .. }), "{third}");
    assert!(listens(mongod.port()).await);
    mongod.stop().await.unwrap();
}

#[tokio::test]
async fn a_mongod_that_cannot_start_says_why() {
    let bad = Mongod::builder().parameter("noSuchParameter", "1").start().await.unwrap_err();
    assert!(matches!(bad, MongodError::Exited { .. }), "{bad}");
    assert!(bad.to_string().contains("noSuchParameter"), "{bad}");
}

#[tokio::test]
async fn a_dropped_mongod_ends_by_itself() {
    let mongod = private().await;
    let port = mongod.port();
    drop(mongod);
    eventually("the port is closed", async || !listens(port).await).await;
}

/// Run by the next test in a process of its own.
#[tokio::test]
#[ignore = "the next test runs it, and kills it"]
async fn a_process_that_waits_to_be_killed() {
    let mongod = private().await;
    println!("\nport {}", mongod.port());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[tokio::test]
async fn a_mongod_ends_when_its_owner_is_killed() {
    let name = "mongod_lifecycle::a_process_that_waits_to_be_killed";
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.filter_map(|line| line.strip_prefix("port ").map(str::to_owned)).next();
    let port: u16 = line.unwrap().parse().unwrap();
    assert!(listens(port).await);
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the port is closed", async || !listens(port).await).await;
}

#[tokio::test]
async fn a_change_stream_works_on_the_shared_set() {
    let collection = fresh_database().await.collection::<Document>("c");
    let mut changes = collection.watch().await.unwrap();
    collection.insert_one(doc! { "_id": 1 }).await.unwrap();
    let change = changes.next().await.unwrap().unwrap();
    assert_eq!(change.full_document, Some(doc! { "_id": 1 }));
}

#[tokio::test]
async fn a_standalone_takes_writes_and_refuses_change_streams() {
    let mongod = standalone().await;
    let collection = connect(&mongod.uri()).await.database("d").collection::<Document>("c");
    collection.insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(code(&collection.watch().await.unwrap_err()), Some(40573));
    mongod.stop().await.unwrap();
}

#[tokio::test]
async fn the_tiny_oplog_is_tiny() {
    let mongod = tiny_oplog().await;
    let local = connect(&mongod.uri()).await.database("local");
    let stats = local.run_command(doc! { "collStats": "oplog.rs" }).await.unwrap();
    assert_eq!(stats.get("maxSize").and_then(bson::Bson::as_i32), Some(16 * 1024 * 1024));
    mongod.stop().await.unwrap();
}

#[tokio::test]
async fn a_paused_mongod_answers_again_when_resumed() {
    let mut mongod = private().await;
    mongod.signal(Signal::Pause).unwrap();
    let limits = "connectTimeoutMS=300&serverSelectionTimeoutMS=300";
    let impatient = connect(&format!("{}&{limits}", mongod.uri())).await;
    let ping = async || impatient.database("d").run_command(doc! { "ping": 1 }).await.is_ok();
    eventually("nothing answers", async || !ping().await).await;
    mongod.signal(Signal::Resume).unwrap();
    eventually("it answers", ping).await;
    mongod.stop().await.unwrap();
}

#[tokio::test]
async fn three_nodes_elect_a_new_primary_when_the_first_is_killed() {
    let mut nodes = ThreeNodes::start().await;
    let collection = connect(&nodes.uri()).await.database("d").collection::<Document>("c");
    collection.insert_one(doc! { "_id": 1 }).await.unwrap();
    let killed = nodes.kill_primary().await;
    assert_ne!(nodes.primary().await, killed);
    assert_eq!(collection.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
}

#[tokio::test]
async fn users_may_do_what_their_roles_say() {
    let set = WithUsers::start().await;
    let reader = set.user("reader", vec![doc! { "role": "read", "db": "d" }]).await;
    let collection = async |uri: &str| connect(uri).await.database("d").collection::<Document>("c");
    collection(&set.root_uri()).await.insert_one(doc! { "_id": 1 }).await.unwrap();
    let read = collection(&reader).await;
    assert_eq!(read.find_one(doc! {}).await.unwrap(), Some(doc! { "_id": 1 }));
    assert_eq!(code(&read.insert_one(doc! {}).await.unwrap_err()), Some(13));
    let anonymous = collection(&set.anonymous_uri()).await;
    assert_eq!(code(&anonymous.find_one(doc! {}).await.unwrap_err()), Some(13));
}
