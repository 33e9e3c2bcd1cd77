//! Races that cannot be forced from outside, on a deployment in memory and a clock that obeys.

mod feed;
mod hand_over;
mod lifetime;
mod replays;
mod snapshot;

use std::{sync::Arc, time::Duration};

use bson::{RawDocument, bson};
use tokio::{sync::watch, time::timeout};

use super::{
    Delivery, HistoryLimits, Hub, HubLimits, Item, MailboxLimits, OwnLimits, Resume,
    SubscribeError, Subscription,
};
use crate::{
    binding::{Binding, CursorSpec, Namespace, Scope, Selection},
    change::PositionKey,
    definition::{StreamDef, Variables},
    source::scripted::Scripted,
};

/// Of a clock that only moves when everyone waits.
const HOUR: Duration = Duration::from_secs(3600);

const LINGER: Duration = Duration::from_secs(5);

fn limits() -> HubLimits {
    HubLimits {
        cursors: 4,
        own: OwnLimits { total: 3, per_stream: 3, per_principal: 2 },
        catch_ups: 2,
        snapshots: 2,
        linger: LINGER,
        open_timeout: Duration::from_secs(10),
        event: usize::MAX,
        history: HistoryLimits { events: 1000, bytes: 1 << 20 },
        mailbox: MailboxLimits { events: 1000, bytes: 1 << 20 },
    }
}

fn key() -> PositionKey {
    PositionKey::new(b"a secret of the operator", *b"ep01")
}

fn hub(source: &Scripted, limits: HubLimits) -> Hub {
    let (_, key) = watch::channel(Some(key()));
    Hub::new(Arc::new(source.clone()), key, limits)
}

fn spec(coll: &str) -> CursorSpec {
    CursorSpec::bare(Namespace::new("d", coll))
}

async fn join(hub: &Hub, resume: Resume) -> Subscription {
    try_join(hub, "c", resume).await.unwrap()
}

async fn try_join(hub: &Hub, coll: &str, resume: Resume) -> Result<Subscription, SubscribeError> {
    hub.subscribe(spec(coll), Arc::new(Selection::default()), resume).await
}

/// A subscriber to the documents whose `even` is true.
async fn join_even(hub: &Hub, resume: Resume) -> Subscription {
    let element = bson!({ "uri": "even", "stages": [], "full_document": "off", "notify_when": { "fullDocument::even": true } });
    let definition = StreamDef::parse(&element).unwrap();
    let (namespace, variables) = (Namespace::new("d", "c"), Variables::default());
    let binding = Binding::plan(&namespace, &definition, &variables, &Scope::default()).unwrap();
    hub.subscribe(binding.cursor, Arc::new(binding.selection), resume).await.unwrap()
}

/// The next `count` items in short: a change is its `_id`.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<String> {
    let mut items = Vec::new();
    while items.len() < count {
        let delivery = timeout(HOUR, subscription.next(&mut items)).await;
        let so_far: Vec<_> = items.iter().map(short).collect();
        assert_eq!(delivery, Ok(Delivery::Items), "{so_far:?}");
    }
    items.iter().map(short).collect()
}

fn short(item: &Item) -> String {
    match item {
        Item::Change(event, _) => number(event.raw()).to_string(),
        Item::Document(event, _) => format!("={}", number(event.raw())),
        Item::SnapshotEnd(_) => "end".to_owned(),
        Item::Skipped(_) => "skipped".to_owned(),
        Item::Reset(reset) => reset.reason.to_owned(),
        Item::Status(status) => if status.healthy { "recovered" } else { "degraded" }.to_owned(),
    }
}

fn number(raw: &RawDocument) -> i32 {
    raw.get_document("documentKey").unwrap().get_i32("_id").unwrap()
}

fn numbers(range: impl IntoIterator<Item = i32>) -> Vec<String> {
    range.into_iter().map(|n| n.to_string()).collect()
}

/// The id that the client gets with `_id: n`.
fn id_of(source: &Scripted, n: i32) -> Resume {
    let position = key().after(&source.token(n));
    Resume::Id(key().seal(&position, "d.c").as_str().to_owned())
}

fn last_id(subscription: &Subscription) -> Resume {
    Resume::Id(subscription.last().id.as_str().to_owned())
}
