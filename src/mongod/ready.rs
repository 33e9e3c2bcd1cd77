//! From "the process runs" to "writes succeed".

use std::{net::Ipv4Addr, process::ExitStatus, time::Duration};

use bson::{Document, doc};
use mongodb::{
    Client,
    error::{Error, ErrorKind},
    options::{ClientOptions, ServerAddress},
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

use super::{Mongod, MongodError, REPLICA_SET, builder::Topology, guard::POLL};

/// A fresh set is writable in under a second; recovery after a crash may take longer.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// One question to a mongod that may not answer yet.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// MongoDB's `AlreadyInitialized`.
const ALREADY_INITIALIZED: i32 = 23;

/// Why a mongod did not become ready.
#[derive(Debug)]
pub(super) enum NotReady {
    Exited(ExitStatus),
    TimedOut { seconds: u64, last: String },
    Failed(MongodError),
}

/// Waits until the mongod is what `topology` says, initiating its set where that is called for.
pub(super) async fn wait(mongod: &mut Mongod, topology: Topology) -> Result<(), NotReady> {
    let deadline = Instant::now() + READY_TIMEOUT;
    let mut client = None;
    loop {
        if let Some(status) = mongod.guard.ended().map_err(NotReady::Failed)? {
            return Err(NotReady::Exited(status));
        }
        let last = match step(mongod, topology, &mut client).await {
            Ok(None) => return Ok(()),
            Ok(Some(waiting)) => waiting.to_owned(),
            Err(error) => error.to_string(),
        };
        if Instant::now() > deadline {
            return Err(NotReady::TimedOut { seconds: READY_TIMEOUT.as_secs(), last });
        }
        sleep(POLL).await;
    }
}

/// One look, and one push where it helps: `None` once ready, else what is still awaited.
async fn step(
    mongod: &Mongod,
    topology: Topology,
    client: &mut Option<Client>,
) -> Result<Option<&'static str>, Error> {
    // The driver looks again only every 500 ms, so it is asked once something listens.
    if client.is_none() {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, mongod.port)).await.is_err() {
            return Ok(Some("it does not listen"));
        }
        *client = Some(connect(mongod.port)?);
    }
    let Some(client) = client else { return Ok(Some("there is no client")) };
    let hello = client.database("admin").run_command(doc! { "hello": 1 }).await?;
    let writable = hello.get_bool("isWritablePrimary").unwrap_or(false);
    match topology {
        Topology::Member => Ok(None),
        _ if writable => Ok(None),
        Topology::Standalone => Ok(Some("it is not writable")),
        Topology::SingleNode => {
            if hello.get_bool("isreplicaset").unwrap_or(false) {
                initiate(client, &mongod.member_host).await?;
            }
            Ok(Some("it is not primary"))
        }
    }
}

fn connect(port: u16) -> Result<Client, Error> {
    let mut options = ClientOptions::default();
    let host = Ipv4Addr::LOCALHOST.to_string();
    options.hosts = vec![ServerAddress::Tcp { host, port: Some(port) }];
    options.direct_connection = Some(true);
    options.server_selection_timeout = Some(ANSWER_TIMEOUT);
    options.connect_timeout = Some(ANSWER_TIMEOUT);
    Client::with_options(options)
}

/// Makes a set of this one member. Data from before belongs to a set already; its only member is
/// then renamed, because the port, and so the member's name, may be another one now.
async fn initiate(client: &Client, member_host: &str) -> Result<(), Error> {
    let admin = client.database("admin");
    let config = config(member_host);
    let initiated = admin.run_command(doc! { "replSetInitiate": config.clone() }).await;
    match initiated {
        Err(error) if code(&error) == Some(ALREADY_INITIALIZED) => {
            let rename = doc! { "replSetReconfig": config, "force": true };
            admin.run_command(rename).await.map(drop)
        }
        outcome => outcome.map(drop),
    }
}

fn config(member_host: &str) -> Document {
    doc! {
        "_id": REPLICA_SET,
        "version": 1,
        "members": [{ "_id": 0, "host": member_host }],
    }
}

fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}
