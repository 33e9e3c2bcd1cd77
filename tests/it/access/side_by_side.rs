//! A thousand users on one cursor, side by side with the pipelines that would do the same on MongoDB, one for
//! each user.
//!
//! `TAILWATER_CENSUS_USERS=1000 TAILWATER_CENSUS_WRITES=20000 cargo test --test it side_by_side` is the whole of
//! it; `TAILWATER_SEED` repeats a run.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bson::{Bson, Document, doc};
use futures_util::{StreamExt, stream};
use mongodb::{
    Collection,
    change_stream::event::ChangeStreamEvent,
    options::{FullDocumentBeforeChangeType, FullDocumentType},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    deployment::{Deployment, permission},
    tokens::{bearer, claims, with},
};
use crate::support::{TestApp, mongod, setting, sse::Sse};

/// An event as both sides name it: operation, `_id`, cluster time, version of the document.
type Event = (String, String, u32, u32, Option<i64>);

fn name(user: u64) -> String {
    format!("u{user}")
}

/// Random writes by a seed: inserts, updates, moves of ownership, replacements, deletes, transactions that are
/// committed and some that are not.
struct Workload {
    random: StdRng,
    users: u64,
    next: i64,
    alive: Vec<String>,
    /// Documents whose owner was not the same all the time.
    moved: BTreeSet<String>,
}

impl Workload {
    fn owner(&mut self) -> Bson {
        let mut one = || name(self.random.random_range(0..self.users));
        let (first, second) = (one(), one());
        match self.random.random_range(0..20) {
            0 => vec![first, second].into(),
            1 => Bson::Null,
            _ => first.into(),
        }
    }

    fn some(&mut self) -> Option<String> {
        let count = self.alive.len();
        (count > 0).then(|| self.alive[self.random.random_range(0..count)].clone())
    }

    async fn write(&mut self, coll: &Collection<Document>) {
        if self.random.random_range(0..25) == 0 {
            return self.transaction(coll).await;
        }
        self.change(coll, None).await;
    }

    /// Several changes that are seen together, or not at all.
    async fn transaction(&mut self, coll: &Collection<Document>) {
        let mut session = coll.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let (alive, moved) = (self.alive.clone(), self.moved.clone());
        for _ in 0..self.random.random_range(2..6) {
            self.change(coll, Some(&mut session)).await;
        }
        if self.random.random_range(0..5) == 0 {
            session.abort_transaction().await.unwrap();
            (self.alive, self.moved) = (alive, moved);
        } else {
            session.commit_transaction().await.unwrap();
        }
    }

    async fn change(
        &mut self,
        coll: &Collection<Document>,
        session: Option<&mut mongodb::ClientSession>,
    ) {
        self.next += 1;
        let (version, owner) = (self.next, self.owner());
        let id = self.some();
        match (self.random.random_range(0..100), id) {
            (0..40, _) | (_, None) => {
                let id = format!("d{version}");
                let insert = coll.insert_one(doc! { "_id": &id, "owner": owner, "v": version });
                match session {
                    Some(session) => insert.session(session).await.unwrap(),
                    None => insert.await.unwrap(),
                };
                self.alive.push(id);
            }
            (40..90, Some(id)) => {
                let moves = self.random.random_range(0..3) == 0;
                let mut set = doc! { "v": version };
                if moves {
                    set.insert("owner", owner);
                    self.moved.insert(id.clone());
                }
                let update = coll.update_one(doc! { "_id": &id }, doc! { "$set": set });
                match session {
                    Some(session) => update.session(session).await.unwrap(),
                    None => update.await.unwrap(),
                };
            }
            (90..95, Some(id)) => {
                let whole = doc! { "_id": &id, "owner": owner, "v": version };
                let replace = coll.replace_one(doc! { "_id": &id }, whole);
                match session {
                    Some(session) => replace.session(session).await.unwrap(),
                    None => replace.await.unwrap(),
                };
                self.moved.insert(id);
            }
            (_, Some(id)) => {
                let delete = coll.delete_one(doc! { "_id": &id });
                match session {
                    Some(session) => delete.session(session).await.unwrap(),
                    None => delete.await.unwrap(),
                };
                self.alive.retain(|alive| *alive != id);
                self.moved.insert(id);
            }
        }
    }
}

/// An event as a client of the service received it.
fn received(change: &Value) -> Event {
    let time = &change["clusterTime"]["$timestamp"];
    let part = |name: &str| u32::try_from(time[name].as_u64().unwrap()).unwrap();
    (
        change["operationType"].as_str().unwrap().to_owned(),
        change["documentKey"]["_id"].as_str().unwrap().to_owned(),
        part("t"),
        part("i"),
        change["fullDocument"]["v"].as_i64(),
    )
}

/// The same as MongoDB's own cursor yields it.
fn yielded(event: &ChangeStreamEvent<Document>) -> Event {
    let time = event.cluster_time.unwrap();
    let id = event.document_key.as_ref().unwrap().get_str("_id").unwrap().to_owned();
    let version = event.full_document.as_ref().and_then(|it| it.get_i64("v").ok());
    let operation = format!("{:?}", event.operation_type).to_lowercase();
    (operation, id, time.time, time.increment, version)
}

/// Reads to the user's last document, without it.
async fn collect(mut sse: Sse, end: String) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let change = sse.change().await;
        let owner = &change["fullDocument"]["owner"];
        let user = json!(end.trim_start_matches("end-"));
        let is_own = *owner == user || owner.as_array().is_some_and(|it| it.contains(&user));
        assert!(is_own || change["operationType"] == "delete", "nothing of others: {change}");
        let event = received(&change);
        if event.1 == end {
            return events;
        }
        events.push(event);
    }
}

/// The pipeline that shows a user's documents, without and with images.
fn pipeline(user: &str, images: bool) -> Vec<Document> {
    let own = doc! { "fullDocument": { "$type": "object" }, "fullDocument.owner": user };
    let deleted = doc! { "operationType": "delete", "fullDocumentBeforeChange.owner": user };
    let filter = if images {
        doc! { "$or": [own, deleted] }
    } else {
        own
    };
    vec![doc! { "$match": filter }]
}

/// Starts MongoDB's own cursor and gives what it yields, up to a document.
async fn cursor(
    coll: &Collection<Document>,
    stages: Vec<Document>,
    images: bool,
    end: String,
) -> tokio::task::JoinHandle<Vec<ChangeStreamEvent<Document>>> {
    let watch = coll.watch().pipeline(stages);
    let mut changes = match images {
        false => watch.full_document(FullDocumentType::UpdateLookup).await,
        true => {
            let before = FullDocumentBeforeChangeType::WhenAvailable;
            let watch = watch.full_document(FullDocumentType::WhenAvailable);
            watch.full_document_before_change(before).await
        }
    }
    .unwrap();
    tokio::spawn(async move {
        let mut events = Vec::new();
        while let Some(event) = changes.next().await {
            let event = event.unwrap();
            if yielded(&event).1 == end {
                return events;
            }
            events.push(event);
        }
        events
    })
}

/// Who sees an event, by its own content.
fn readers(event: &ChangeStreamEvent<Document>) -> HashSet<String> {
    let image = match yielded(event).0.as_str() {
        "delete" => event.full_document_before_change.as_ref(),
        _ => event.full_document.as_ref(),
    };
    match image.and_then(|image| image.get("owner")) {
        Some(Bson::String(owner)) => HashSet::from([owner.clone()]),
        Some(Bson::Array(owners)) => {
            owners.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
        }
        _ => HashSet::new(),
    }
}

async fn run(images: bool) {
    let users = setting("TAILWATER_CENSUS_USERS", 100);
    let writes = setting("TAILWATER_CENSUS_WRITES", 2_000);
    let seed = setting("TAILWATER_SEED", 7);
    println!(
        "side by side: {users} users, {writes} writes, images {images}, TAILWATER_SEED={seed}"
    );
    let filter = doc! { "readFilter": { "owner": "@user._id" } };
    let app = Deployment::new().await.permissions([permission("user", "path-prefix('/')", filter)]);
    let app = app.await.start().await;
    let mut stream = doc! { "uri": "mine", "stages": [] };
    if images {
        let enabled = doc! { "collMod": "c", "changeStreamPreAndPostImages": { "enabled": true } };
        app.db.run_command(enabled).await.unwrap();
        stream.extend(doc! { "full_document": "whenAvailable", "full_document_before_change": "whenAvailable" });
    }
    app.declare("c", vec![stream]).await;
    let clients = open(&app, users).await;
    app.has_cursors("c", 1).await;

    let end = |user: u64| format!("end-{}", name(user));
    let uri = format!("{}&maxPoolSize=64", mongod::shared_uri().await);
    let direct = mongod::connect(&uri).await.database(app.db.name()).collection("c");
    let sample: Vec<_> = (0..users).step_by(usize::try_from(users / 20).unwrap().max(1)).collect();
    let mut oracles = BTreeMap::new();
    for user in &sample {
        let cursor = cursor(&direct, pipeline(&name(*user), images), images, end(*user)).await;
        oracles.insert(*user, cursor);
    }
    let whole = cursor(&direct, Vec::new(), images, end(users - 1)).await;
    let reading: Vec<_> = clients
        .into_iter()
        .zip(0..users)
        .map(|(client, user)| tokio::spawn(collect(client, end(user))))
        .collect();

    let random = StdRng::seed_from_u64(seed);
    let mut workload =
        Workload { random, users, next: 0, alive: Vec::new(), moved: BTreeSet::new() };
    let written = app.db.collection("c");
    for _ in 0..writes {
        workload.write(&written).await;
    }
    let last = (0..users).map(|user| doc! { "_id": end(user), "owner": name(user) });
    app.coll("c").insert_many(last).await.unwrap();

    let whole: Vec<_> = whole.await.unwrap();
    let mut expected: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in &whole {
        for reader in readers(event) {
            expected.entry(reader).or_default().push(yielded(event));
        }
    }
    // What is looked up is as it is when a cursor gets there: of a document that changed hands, two cursors may
    // say different things of one update. Everything else is the same to the letter.
    let settled =
        |event: &Event| images || event.0 != "update" || !workload.moved.contains(&event.1);
    let (mut total, mut compared) = (0, 0);
    for (user, reading) in (0..users).zip(reading) {
        let got = reading.await.unwrap();
        let keep = |events: &[Event]| -> Vec<Event> {
            let mut kept: Vec<_> = events.iter().filter(|it| settled(it)).cloned().collect();
            if !images {
                // The version that is looked up may be a later one.
                kept.iter_mut().filter(|it| it.0 == "update").for_each(|it| it.4 = None);
            }
            kept
        };
        let unnamed = Vec::new();
        let meant: Vec<Event> = expected
            .get(&name(user))
            .unwrap_or(&unnamed)
            .iter()
            .filter(|it| !it.1.starts_with("end-"))
            .cloned()
            .collect();
        assert_eq!(keep(&got), keep(&meant), "user {user}: what their own pipeline yields");
        if let Some(oracle) = oracles.remove(&user) {
            let own: Vec<_> = oracle.await.unwrap().iter().map(yielded).collect();
            assert_eq!(keep(&got), keep(&own), "user {user}: what their own cursor yields");
        }
        total += got.len();
        compared += keep(&got).len();
    }
    for client in [direct.client(), app.db.client()] {
        client.clone().shutdown().await;
    }
    println!(
        "side by side: {} events, {total} deliveries, {compared} compared to the letter",
        whole.len()
    );
    assert!(compared * 4 >= total * if images { 4 } else { 1 }, "{compared} of {total}");
}

async fn open(app: &TestApp, users: u64) -> Vec<Sse> {
    let path = app.path("c/mine");
    let open = |user: u64| {
        let id = json!({ "_id": name(user) });
        let bearer = bearer(&with(claims(&name(user), &["user"]), &id));
        let path = path.clone();
        async move { Sse::open(app.address, &path, &[("authorization", &bearer)]).await }
    };
    stream::iter(0..users).map(open).buffered(16).collect().await
}

/// Each user receives exactly the events that the equivalent pipeline of its own yields, from one cursor for
/// all, where documents are looked up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_receive_what_their_own_pipeline_yields() {
    run(false).await;
}

/// So it is with images, deletes included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_receive_what_their_own_pipeline_yields_with_images() {
    run(true).await;
}
