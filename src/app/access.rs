//! Users and permissions: loaded at the start, watched from then on.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use bson::{Document, doc};
use mongodb::Client;
use tokio_util::sync::CancellationToken;

use super::first_user;
use crate::{
    access::{
        Authenticator, JwtVerifier, Origins, Permissions, Realms, Secrecy, TicketKey,
        permissions::mongo::load,
        realm::{
            UserRealm,
            file::FileUsers,
            mongo::{MongoKeys, MongoUsers},
        },
    },
    backoff::Backoff,
    binding::{CursorSpec, Namespace, Selection},
    config::{self, AclSource, AuthConfig, BasicRealm, Config, CreateUser, MongoRealm},
    http::{gate::Gate, rights::Rights},
    hub::{Delivery, Hub, Item, Resume},
};

/// How often users are read again when they cannot be watched, and permissions unless configured.
const POLL: Duration = Duration::from_secs(5);

/// What an operator needs to know before anybody can do anything.
const FIRST_ADMINISTRATOR: &str = "there are no permissions yet, so only users with the root role may do \
    anything; make the first one: `tailwater hash-password` prints a hash, then in the collection of \
    users insert {_id: \"admin\", password: \"<hash>\", roles: [\"admin\"]} (restheart.users and admin \
    unless configured otherwise)";

/// Builds the gate.
///
/// # Errors
/// A file or a key that cannot be used.
pub(super) fn gate(config: &Config, client: &Client) -> anyhow::Result<Gate> {
    let permissions = permissions(config)?;
    let tickets = match &config.position_key {
        Some(key) => TicketKey::new(key.as_bytes()),
        None => TicketKey::random(),
    };
    let realms = realms(&config.auth, client)?;
    let authenticator = Authenticator::new(config.auth.clone(), realms, tickets, config.compat);
    Ok(Gate::new(
        authenticator,
        permissions,
        Origins::new(&config.auth.origins),
        config.listen.trusted_proxies.clone(),
        Secrecy::of(&config.auth),
        config.auth.ticket_ttl,
    ))
}

fn permissions(config: &Config) -> anyhow::Result<Permissions> {
    if config.auth.insecure_no_auth {
        return Ok(Permissions::everything());
    }
    let permissions = Permissions::new(config.acl.as_ref());
    let file = config.acl.as_ref().and_then(|acl| match &acl.source {
        AclSource::File(path) => Some(path),
        AclSource::Mongo { .. } => acl.also_file.as_ref(),
    });
    if let Some(path) = file {
        let errors = permissions.load_file(path).context("the permissions cannot be used")?;
        errors.iter().for_each(|error| tracing::warn!(%error, "a permission grants nothing"));
    }
    Ok(permissions)
}

fn realms(auth: &AuthConfig, client: &Client) -> anyhow::Result<Realms> {
    let users: Option<Arc<dyn UserRealm>> = match auth.basic.as_ref().map(|basic| &basic.realm) {
        None => None,
        Some(BasicRealm::Mongo(realm)) => Some(Arc::new(MongoUsers::new(client, realm))),
        Some(BasicRealm::File(path)) => {
            Some(Arc::new(FileUsers::load(path).context("the users cannot be used")?))
        }
    };
    let jwt = auth.jwt.as_ref().map(JwtVerifier::new).transpose();
    let keys = auth.api_keys.as_ref().map(|keys| Arc::new(MongoKeys::new(client, keys)) as Arc<_>);
    Ok(Realms { users, keys, jwt: jwt.context("auth.jwt cannot be used")?.map(Arc::new) })
}

fn namespace(configured: &config::Namespace) -> Namespace {
    Namespace::new(&configured.database, &configured.collection)
}

/// Reads the permissions of MongoDB once, where they are kept there.
pub(super) async fn read_permissions(
    gate: &Gate,
    client: &Client,
    config: &Config,
) -> anyhow::Result<()> {
    let source = config.acl.as_ref().map(|acl| &acl.source);
    if let Some(AclSource::Mongo { namespace, .. }) = source {
        let documents = load(client, namespace).await?;
        let errors = gate.permissions().replace(&documents);
        errors.iter().for_each(|error| tracing::warn!(%error, "a permission grants nothing"));
    }
    Ok(())
}

/// Keeps users and permissions current until `stop`.
pub(super) struct Watch {
    pub(super) gate: Arc<Gate>,
    pub(super) rights: Rights,
    pub(super) client: Client,
    pub(super) hub: Hub,
    pub(super) stop: CancellationToken,
    pub(super) administrators: Option<Administrators>,
    /// How often permissions are read again when they cannot be watched.
    pub(super) poll: Duration,
}

/// Where users with the root role are stored, if they are.
pub(super) struct Administrators {
    users: config::Namespace,
    filter: Document,
}

/// What the configuration says of it.
pub(super) fn poll(config: &Config) -> Duration {
    match config.acl.as_ref().map(|acl| &acl.source) {
        Some(AclSource::Mongo { cache, .. }) => cache.ttl.unwrap_or(POLL),
        _ => POLL,
    }
}

impl Administrators {
    pub(super) fn of(config: &Config) -> Option<Self> {
        let BasicRealm::Mongo(realm) = &config.auth.basic.as_ref()?.realm else { return None };
        let root = config.acl.as_ref()?.root_role.as_ref()?;
        let path = &realm.json_path_roles;
        let roles = path.strip_prefix("$.").unwrap_or(path);
        Some(Self { users: realm.namespace.clone(), filter: doc! { roles: { "$eq": root } } })
    }
}

impl Watch {
    /// Starts watching what the configuration says is kept in MongoDB.
    pub(super) fn start(self: Arc<Self>, config: &Config) {
        if config.auth.insecure_no_auth {
            return;
        }
        if let Some(AclSource::Mongo { namespace: configured, .. }) =
            config.acl.as_ref().map(|acl| &acl.source)
        {
            let (this, configured) = (self.clone(), configured.clone());
            tokio::spawn(async move { this.follow(&configured, true).await });
        }
        let realm = config.auth.basic.as_ref().and_then(|basic| match &basic.realm {
            BasicRealm::Mongo(realm) => Some(realm),
            BasicRealm::File(_) => None,
        });
        if let Some((realm, user)) = realm.and_then(|it| Some((it, it.create_user.as_ref()?))) {
            self.create(realm, user);
        }
        let users = realm.map(|realm| realm.namespace.clone());
        let keys = config.auth.api_keys.as_ref().map(|keys| keys.namespace.clone());
        for configured in users.into_iter().chain(keys) {
            let this = self.clone();
            tokio::spawn(async move { this.follow(&configured, false).await });
        }
    }

    fn create(&self, realm: &MongoRealm, user: &CreateUser) {
        let creating = first_user::create(self.client.clone(), realm.clone(), user.clone());
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = creating => {}
                () = stop.cancelled() => {}
            }
        });
    }

    async fn follow(&self, collection: &config::Namespace, permissions: bool) {
        tokio::select! {
            () = self.follow_on(collection, permissions) => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn follow_on(&self, collection: &config::Namespace, permissions: bool) {
        let spec = CursorSpec::bare(namespace(collection));
        loop {
            let selection = Arc::new(Selection::default());
            match self.hub.subscribe(spec.clone(), selection, Resume::Live).await {
                Ok(mut subscription) => {
                    // What changed before the watch began.
                    self.refresh(collection, permissions).await;
                    let mut items = Vec::new();
                    while subscription.next(&mut items).await == Delivery::Items {
                        let changed = items.drain(..).any(|item| !matches!(item, Item::Status(_)));
                        if changed {
                            self.refresh(collection, permissions).await;
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "users and permissions are polled");
                    self.refresh(collection, permissions).await;
                    tokio::time::sleep(if permissions { self.poll } else { POLL }).await;
                }
            }
        }
    }

    /// Reads anew, and looks at every open session again.
    async fn refresh(&self, collection: &config::Namespace, permissions: bool) {
        if permissions {
            self.reload(collection).await;
        }
        self.gate.forget();
        self.rights.review(&self.gate).await;
    }

    /// Whether somebody could make permissions. Only the hint depends on it.
    async fn has_administrator(&self) -> bool {
        let Some(administrators) = &self.administrators else { return false };
        let database = self.client.database(&administrators.users.database);
        let users = database.collection::<Document>(&administrators.users.collection);
        let found = users.find_one(administrators.filter.clone()).max_time(POLL).await;
        matches!(found, Ok(Some(_)))
    }

    /// Until MongoDB answers: what was in place stays meanwhile.
    async fn reload(&self, collection: &config::Namespace) {
        let mut backoff = Backoff::new(Duration::from_millis(200), POLL);
        loop {
            tokio::time::sleep(backoff.wait()).await;
            match load(&self.client, collection).await {
                Ok(documents) => {
                    if documents.is_empty() && !self.has_administrator().await {
                        tracing::warn!("{FIRST_ADMINISTRATOR}");
                    }
                    let errors = self.gate.permissions().replace(&documents);
                    errors
                        .iter()
                        .for_each(|error| tracing::warn!(%error, "a permission grants nothing"));
                    return;
                }
                Err(error) if backoff.attempts() == 1 => {
                    tracing::warn!(%error, "permissions cannot be read");
                }
                Err(_) => {}
            }
        }
    }
}
