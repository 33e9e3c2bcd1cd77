//! From a credential to a principal.

mod api_key;
mod challenge;
mod password;
mod stand_in;
mod standing;
#[cfg(test)]
mod tests;
mod ticket;
mod token;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use self::stand_in::StandIn;
pub use self::standing::Standing;
use super::credential::{Content, Credential};
use super::guard::{Guard, Key};
use super::jwt::JwtVerifier;
use super::password::Passwords;
use super::principal::{Caller, Carrier, Identity, Principal, Verified};
use super::realm::{KeyRealm, UserRealm};
use super::refusal::{Failure, Refusal};
use super::request::RequestHead;
use super::tickets::TicketKey;
use crate::config::{AuthConfig, BasicRealm, CacheConfig, CompatMode};

/// Says who is calling. One serves all requests.
pub struct Authenticator {
    config: AuthConfig,
    realms: Realms,
    passwords: Passwords,
    tickets: TicketKey,
    guard: Option<Guard>,
    /// Whether what does not hold is as good as nothing, as in RESTHeart.
    is_lenient: bool,
}

/// What credentials are held against. A mechanism without one is switched off.
#[derive(Debug, Default, Clone)]
pub struct Realms {
    pub users: Option<Arc<dyn UserRealm>>,
    pub keys: Option<Arc<dyn KeyRealm>>,
    pub jwt: Option<Arc<JwtVerifier>>,
}

/// How long to wait when the reason is on this side.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl Authenticator {
    pub fn new(config: AuthConfig, realms: Realms, tickets: TicketKey, compat: CompatMode) -> Self {
        let off = CacheConfig { ttl: None, size: 0 };
        let basic = config.basic.as_ref();
        let cost = match basic.map(|basic| &basic.realm) {
            Some(BasicRealm::Mongo(realm)) => realm.bcrypt_complexity,
            _ => 12,
        };
        Self {
            passwords: Passwords::new(basic.map_or(off, |basic| basic.verified), cost),
            guard: config.guard.as_ref().map(Guard::new),
            is_lenient: compat == CompatMode::Restheart || config.insecure_no_auth,
            config,
            realms,
            tickets,
        }
    }

    /// Who is calling. Without a credential that is nobody in particular; with one that does not
    /// hold it is a refusal, never a stranger, unless RESTHeart's ways were asked for.
    ///
    /// # Errors
    /// [`Refusal`]; what does not hold is found out before anything is hashed or read, if it can be.
    pub async fn authenticate(&self, head: &RequestHead) -> Result<Caller, Refusal> {
        let cookie = self.config.cookie.as_ref().map(|cookie| cookie.name.as_str());
        let Some(credential) = Credential::of(head, cookie) else { return Ok(Caller::Anonymous) };
        self.check_guard(head)?;
        match self.verify(&credential, head).await {
            Ok((verified, carrier)) => Ok(Caller::Known(self.principal(verified, carrier))),
            Err(failure) => self.refuse(failure, head),
        }
    }

    /// Somebody whom the embedding host knows.
    pub fn vouched(&self, identity: Identity) -> Arc<Principal> {
        self.principal(identity.into(), Carrier::Bearer)
    }

    /// Values for `WWW-Authenticate`, for a `401` of any origin: strangers who may not do what they
    /// ask for get one too.
    pub fn challenges(&self, head: &RequestHead) -> Vec<String> {
        let takes_passwords = self.realms.users.is_some() || self.takes_tokens_as_passwords();
        challenge::challenges(head, takes_passwords.then_some(self.config.realm.as_str()))
    }

    /// Forgets what was read of users and keys: one of them changed.
    pub fn forget(&self) {
        if let Some(users) = &self.realms.users {
            users.forget();
        }
        if let Some(keys) = &self.realms.keys {
            keys.forget();
        }
    }

    /// The key that tickets are made with, for [`TicketKey::issue`].
    pub fn tickets(&self) -> &TicketKey {
        &self.tickets
    }

    async fn verify(
        &self,
        credential: &Credential,
        head: &RequestHead,
    ) -> Result<(Verified, Carrier), Failure> {
        let carrier = credential.carrier;
        let verified = match &credential.content {
            Content::Basic { user, password } => self.basic(user, password, head).await?,
            Content::Bearer(token) => self.bearer(token, head).await?,
            Content::Ticket(ticket) => self.ticket(ticket, head).await?,
            Content::Malformed => return Err(Failure::Invalid),
        };
        Ok((verified, carrier))
    }

    fn principal(&self, verified: Verified, carrier: Carrier) -> Arc<Principal> {
        Arc::new(Principal::new(verified, carrier, &self.config.tenant))
    }

    fn check_guard(&self, head: &RequestHead) -> Result<(), Refusal> {
        let (Some(guard), Some(ip)) = (&self.guard, head.remote_ip()) else { return Ok(()) };
        // A browser asks before it has anything to say.
        if head.method() == "OPTIONS" {
            return Ok(());
        }
        match guard.blocked(&Key::address(ip), Instant::now()) {
            Some(retry_after) => Err(Refusal::TooManyAttempts { retry_after }),
            None => Ok(()),
        }
    }

    fn refuse(&self, failure: Failure, head: &RequestHead) -> Result<Caller, Refusal> {
        if failure == Failure::Invalid
            && let (Some(guard), Some(ip)) = (&self.guard, head.remote_ip())
        {
            guard.failed(Key::address(ip), Instant::now());
        }
        match failure {
            Failure::TooMany(retry_after) => Err(Refusal::TooManyAttempts { retry_after }),
            _ if self.is_lenient => Ok(Caller::Anonymous),
            Failure::Invalid | Failure::Expired => {
                Err(Refusal::Unauthorized { challenges: self.challenges(head) })
            }
            Failure::Unavailable => Err(Refusal::Unavailable { retry_after: RETRY_AFTER }),
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("config", &self.config).finish_non_exhaustive()
    }
}
