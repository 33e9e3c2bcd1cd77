//! Who may do anything.

use bson::{Document, doc};
use mongodb::Client;

use super::{deployment::reason, findings::Findings};
use crate::{
    access::{Permissions, permissions::mongo::load},
    config::{AclSource, BasicRealm, Config, Namespace},
};

pub(super) async fn examine(client: &Client, config: &Config, findings: &mut Findings) {
    if config.auth.insecure_no_auth {
        return findings.warn(
            "all checks are off (insecure_no_auth): whoever reaches the service may do everything",
        );
    }
    if let Some(BasicRealm::Mongo(realm)) = config.auth.basic.as_ref().map(|basic| &basic.realm) {
        users(client, &realm.namespace, findings).await;
    }
    match config.acl.as_ref().map(|acl| &acl.source) {
        None => findings.warn("permissions are switched off (acl: false): only users with the root role may do anything"),
        Some(AclSource::File(path)) => {
            let loaded = Permissions::new(config.acl.as_ref()).load_file(path);
            match loaded {
                Ok(errors) => refused(&errors, &path.display().to_string(), findings),
                Err(error) => findings.fail(&format!("the permissions cannot be used: {error}"), "mend the file"),
            }
        }
        Some(AclSource::Mongo { namespace, .. }) => permissions(client, config, namespace, findings).await,
    }
}

async fn users(client: &Client, namespace: &Namespace, findings: &mut Findings) {
    let place = format!("{}.{}", namespace.database, namespace.collection);
    let users = client.database(&namespace.database).collection::<Document>(&namespace.collection);
    match users.count_documents(doc! {}).limit(1).await {
        Ok(0) => findings.warn(&format!(
            "there are no users in {place}; make one: `tailwater hash-password` prints the hash of a password"
        )),
        Ok(_) => findings.fine(&format!("users in {place}")),
        Err(error) => unreadable("users", &place, &error, findings),
    }
}

async fn permissions(
    client: &Client,
    config: &Config,
    namespace: &Namespace,
    findings: &mut Findings,
) {
    let place = format!("{}.{}", namespace.database, namespace.collection);
    match load(client, namespace).await {
        Ok(documents) if documents.is_empty() => findings.warn(&format!(
            "there are no permissions in {place}: only users with the root role may do anything"
        )),
        Ok(documents) => {
            let errors = Permissions::new(config.acl.as_ref()).replace(&documents);
            findings.fine(&format!("permissions in {place}: {}", documents.len() - errors.len()));
            refused(&errors, &place, findings);
        }
        Err(error) => unreadable("permissions", &place, &error, findings),
    }
}

fn refused(errors: &[crate::access::PermissionError], place: &str, findings: &mut Findings) {
    for error in errors {
        findings
            .fail(&format!("a permission in {place} grants nothing: {error}"), "mend or remove it");
    }
}

fn unreadable(what: &str, place: &str, error: &mongodb::error::Error, findings: &mut Findings) {
    let text = format!("the {what} in {place} cannot be read: {}", reason(error));
    findings.fail(&text, &format!("grant find and changeStream on {place}"));
}
