//! The server: whether it is there, and whether change streams work on it.

use bson::{Document, Timestamp, doc};
use mongodb::{Client, error::Error, options::ReadConcern};

use super::findings::Findings;
use crate::config::Config;

/// The oldest version whose change streams have what is needed.
const OLDEST: i32 = 6;

/// Clocks further apart make tokens expire at the wrong time, milliseconds.
const SKEW: i64 = 5_000;

/// An oplog that forgets sooner makes clients lose history, hours.
const SHORT_OPLOG: f64 = 2.0;

/// Whether it is worth looking further.
pub(super) async fn examine(client: &Client, config: &Config, findings: &mut Findings) -> bool {
    let hello = match client.database("admin").run_command(doc! { "hello": 1 }).await {
        Ok(hello) => hello,
        Err(error) => {
            let remedy = "check mongodb.uri, and that the names a replica set gives its members are known here";
            findings.fail(&format!("MongoDB cannot be reached: {}", reason(&error)), remedy);
            return false;
        }
    };
    let replicated = topology(&hello, findings);
    clock(&hello, findings);
    version(client, findings).await;
    if replicated {
        oplog(client, &hello, findings).await;
        key(client, config, findings).await;
    }
    replicated
}

fn topology(hello: &Document, findings: &mut Findings) -> bool {
    if hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid") {
        findings.fine("a sharded cluster");
        return true;
    }
    match hello.get_str("setName") {
        Ok(set) => {
            let members = hello.get_array("hosts").map(Vec::len).unwrap_or_default();
            findings.fine(&format!("replica set `{set}`, members with data: {members}"));
            true
        }
        Err(_) => {
            let remedy = "start mongod with --replSet and run rs.initiate()";
            findings.fail("a standalone server, which has no change streams", remedy);
            false
        }
    }
}

fn clock(hello: &Document, findings: &mut Findings) {
    let Ok(theirs) = hello.get_datetime("localTime") else { return };
    let apart = (bson::DateTime::now().timestamp_millis() - theirs.timestamp_millis()).abs();
    if apart > SKEW {
        findings.warn(&format!(
            "the clocks here and on MongoDB are {:.1} s apart; keep both in step, tokens expire by the one here",
            apart as f64 / 1000.0
        ));
    }
}

async fn version(client: &Client, findings: &mut Findings) {
    let info = client.database("admin").run_command(doc! { "buildInfo": 1 }).await;
    let info = info.unwrap_or_default();
    let version = info.get_str("version").unwrap_or("unknown");
    let major = version.split('.').next().and_then(|major| major.parse::<i32>().ok());
    match major {
        Some(major) if major >= OLDEST => findings.fine(&format!("MongoDB {version}")),
        _ => findings.fail(&format!("MongoDB {version}"), "use 6.0 or later"),
    }
}

/// How far back clients can come.
async fn oplog(client: &Client, hello: &Document, findings: &mut Findings) {
    if hello.get_str("setName").is_err() {
        return;
    }
    match (entry(client, 1).await, entry(client, -1).await) {
        (Some(first), Some(last)) => {
            let hours = f64::from(last.time.saturating_sub(first.time)) / 3600.0;
            let text = format!("the oplog holds {hours:.1} hours");
            if hours < SHORT_OPLOG {
                findings.warn(&format!(
                    "{text} so far; a client that is away for longer than it holds has to read anew"
                ));
            } else {
                findings.fine(&text);
            }
        }
        _ => findings
            .warn("how far the oplog reaches back cannot be told: no find on local.oplog.rs"),
    }
}

async fn entry(client: &Client, order: i32) -> Option<Timestamp> {
    let oplog = client.database("local").collection::<Document>("oplog.rs");
    let found =
        oplog.find_one(doc! {}).sort(doc! { "$natural": order }).projection(doc! { "ts": 1 });
    found.read_concern(ReadConcern::local()).await.ok()??.get_timestamp("ts").ok()
}

/// The key of event ids.
async fn key(client: &Client, config: &Config, findings: &mut Findings) {
    if config.position_key.is_some() {
        return findings.fine("the key of event ids is configured");
    }
    let settings = &config.mongodb.settings;
    let place = format!("{}.{}", settings.database, settings.collection);
    let collection =
        client.database(&settings.database).collection::<Document>(&settings.collection);
    match collection.find_one(doc! { "_id": "positions" }).await {
        Ok(Some(_)) => findings.fine(&format!("the key of event ids is kept in {place}")),
        Ok(None) => findings.warn(&format!(
            "there is no key of event ids yet; the first start creates it in {place}, which takes readWrite there"
        )),
        Err(error) => findings.fail(
            &format!("the key of event ids cannot be read from {place}: {}", reason(&error)),
            "grant readWrite there, or set position_key",
        ),
    }
}

/// The first line of what the driver says.
pub(super) fn reason(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
