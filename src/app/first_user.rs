//! The first user, as the configuration names one: inserted when there are no users at all.

use std::time::Duration;

use bson::{Document, doc};
use mongodb::{Client, options::WriteConcern};

use crate::{
    access::hash_password,
    backoff::Backoff,
    config::{CreateUser, MongoRealm},
};

/// Tries until MongoDB answers. Users that are there already are left alone.
pub(super) async fn create(client: Client, realm: MongoRealm, user: CreateUser) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    loop {
        tokio::time::sleep(backoff.wait()).await;
        match insert(&client, &realm, &user).await {
            Ok(true) => return tracing::info!(user = user.id, "the first user was made"),
            Ok(false) => return,
            Err(error) if backoff.attempts() == 1 => {
                tracing::warn!(%error, "the first user cannot be made yet");
            }
            Err(_) => {}
        }
    }
}

async fn insert(client: &Client, realm: &MongoRealm, user: &CreateUser) -> anyhow::Result<bool> {
    let database = client.database(&realm.namespace.database);
    let users = database.collection::<Document>(&realm.namespace.collection);
    if users.find_one(doc! {}).await?.is_some() {
        return Ok(false);
    }
    let password = stored(realm, user).await?;
    let roles = realm.json_path_roles.strip_prefix("$.").unwrap_or(&realm.json_path_roles);
    let set = doc! { &realm.prop_password: password, roles: user.roles.clone() };
    // Several replicas start at the same time: one of them inserts.
    let filter = doc! { &realm.prop_id: { "$eq": &user.id } };
    let inserting = users.update_one(filter, doc! { "$setOnInsert": set }).upsert(true);
    let inserted = inserting.write_concern(WriteConcern::majority()).await?;
    Ok(inserted.upserted_id.is_some())
}

/// Hashing takes a while and is not for the threads that serve.
async fn stored(realm: &MongoRealm, user: &CreateUser) -> anyhow::Result<String> {
    let (password, cost) = (user.password.clone(), realm.bcrypt_complexity);
    if !realm.bcrypt_hashed_password {
        return Ok(password.expose().to_owned());
    }
    let hashed = tokio::task::spawn_blocking(move || hash_password(password.expose(), cost));
    Ok(hashed.await??)
}
