//! The administrator of `dev`: made on the first run, the same on every further one.

use std::{fs, path::Path};

use anyhow::Context;
use bson::{Document, doc};
use mongodb::{Client, options::WriteConcern};
use rand::distr::{Alphanumeric, SampleString};

use crate::{
    access::hash_password,
    config::{BasicRealm, Config},
};

/// The name of the administrator.
pub(super) const NAME: &str = "admin";

/// bcrypt's cost: the password is random and stands in a file beside the data.
const COST: u32 = 6;

/// Makes sure that the administrator exists, and gives the password. `None`: the configuration keeps
/// its users elsewhere, or asks for none.
pub(super) async fn ensure(
    client: &Client,
    config: &Config,
    data: &Path,
) -> anyhow::Result<Option<String>> {
    let basic = config.auth.basic.as_ref().filter(|_| !config.auth.insecure_no_auth);
    let Some(BasicRealm::Mongo(realm)) = basic.map(|basic| &basic.realm) else { return Ok(None) };
    let file = data.with_file_name("admin-password");
    let users = client.database(&realm.namespace.database);
    let users = users.collection::<Document>(&realm.namespace.collection);
    let known = users.find_one(doc! { &realm.prop_id: NAME }).await?.is_some();
    if let (true, Ok(password)) = (known, fs::read_to_string(&file)) {
        return Ok(Some(password.trim().to_owned()));
    }
    let password = Alphanumeric.sample_string(&mut rand::rng(), 20);
    let hash = hash_password(&password, COST)?;
    let set = doc! { &realm.prop_password: hash, "roles": [NAME] };
    users
        .update_one(doc! { &realm.prop_id: NAME }, doc! { "$set": set })
        .upsert(true)
        .write_concern(WriteConcern::majority())
        .await?;
    write_private(&file, &password).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Some(password))
}

/// Writes a file that only its owner can read.
fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}
