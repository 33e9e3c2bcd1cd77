use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use bson::Document;

/// Somebody who proved who they are. Only this module's parts make one, after verification.
#[derive(Clone, PartialEq)]
pub struct Principal {
    id: String,
    roles: Vec<String>,
    properties: Document,
    tenant: Option<String>,
    expires_at: Option<SystemTime>,
    mechanism: Mechanism,
    carrier: Carrier,
    proof: Proof,
}

/// Who is calling.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    Anonymous,
    Known(Arc<Principal>),
}

/// The role of those who are not known. It is not a role of those who are.
pub const UNAUTHENTICATED: &str = "$unauthenticated";

static STRANGER: LazyLock<[String; 1]> = LazyLock::new(|| [UNAUTHENTICATED.to_owned()]);

/// How the principal proved who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// A user of a realm, by password.
    Password,
    /// A signed token.
    Token,
    /// A key of a collection of keys.
    ApiKey,
}

/// What brought the credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// `Authorization: Bearer`, which only code of the calling page sets.
    Bearer,
    /// `Authorization: Basic`, which a browser also sends on its own.
    Basic,
    /// A cookie, which a browser sends on its own.
    Cookie,
    /// The query parameter `ticket`.
    Ticket,
}

/// What has to stay true for the principal to stay one.
#[derive(Clone, PartialEq)]
pub(super) enum Proof {
    /// Digest of the stored password that was matched: another one ends the session.
    Password(Fingerprint),
    Token,
    /// The stored hash by which the key was found.
    Key(String),
}

/// A digest of a stored credential.
pub(super) type Fingerprint = [u8; 32];

/// What a mechanism found out; [`Principal`] adds how it came.
#[derive(Clone, PartialEq)]
pub(super) struct Verified {
    pub(super) id: String,
    pub(super) roles: Vec<String>,
    pub(super) properties: Document,
    pub(super) expires_at: Option<SystemTime>,
    pub(super) mechanism: Mechanism,
    pub(super) proof: Proof,
}

/// Somebody as an embedding host knows them. What it says holds until `expires_at`.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The user name.
    pub id: String,
    /// Permissions are looked up by these.
    pub roles: Vec<String>,
    /// What `@user` shows in permissions and variables.
    pub properties: Document,
    /// When sessions of theirs end; `None`: when the host closes them.
    pub expires_at: Option<SystemTime>,
}

impl From<Identity> for Verified {
    fn from(identity: Identity) -> Self {
        let Identity { id, roles, properties, expires_at } = identity;
        let (mechanism, proof) = (Mechanism::Token, Proof::Token);
        Self { id, roles, properties, expires_at, mechanism, proof }
    }
}

impl Principal {
    pub(super) fn new(verified: Verified, carrier: Carrier, tenant_path: &str) -> Self {
        let tenant = super::properties::find(&verified.properties, tenant_path);
        Self {
            tenant: tenant.and_then(super::properties::scalar_text),
            id: verified.id,
            roles: verified.roles,
            properties: verified.properties,
            expires_at: verified.expires_at,
            mechanism: verified.mechanism,
            carrier,
            proof: verified.proof,
        }
    }

    /// The user name, the username claim, or the key's owner.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// In the order of the account, which counts under the legacy semantics of permissions.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// What `@user` shows: the user's document without the password, or all claims.
    pub fn properties(&self) -> &Document {
        &self.properties
    }

    /// The property named by `auth.tenant`.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// When the credential ends, and with it every session opened by it.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }

    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Whether the credential is over. There is no leeway.
    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    pub(super) fn proof(&self) -> &Proof {
        &self.proof
    }
}

impl Caller {
    /// The principal, unless anonymous.
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        match self {
            Self::Anonymous => None,
            Self::Known(principal) => Some(principal),
        }
    }

    /// Those of the account; none of a stranger.
    pub fn roles(&self) -> &[String] {
        self.principal().map_or(&[], |principal| principal.roles())
    }

    /// Those that permissions are looked up by.
    pub(super) fn acl_roles(&self) -> &[String] {
        self.principal().map_or(&*STRANGER, |principal| principal.roles())
    }
}

/// Properties and proofs stay out: claims must not reach a log.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("id", &self.id)
            .field("roles", &self.roles)
            .field("mechanism", &self.mechanism)
            .field("carrier", &self.carrier)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").field("id", &self.id).finish_non_exhaustive()
    }
}
