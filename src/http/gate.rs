//! Who is calling and what they may do: asked before anything that a request names is looked up.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::http::request::Parts;

use super::{
    decided::Decided, error::ApiError, head, look::Look, target::Target, websocket::handshake,
};
use crate::{
    access::{
        Authenticator, Caller, Decision, Denial, Grant, Identity, Origins, Permissions,
        ProjectResponse, Refusal, RequestHead, RequestKind, Secrecy, StandIn, Standing, Ticket,
    },
    binding::{Namespace, Scope},
    config::{Secret, TrustedProxies},
};

/// The one place where rights are decided. Shared by all requests.
pub struct Gate {
    authenticator: Authenticator,
    permissions: Permissions,
    origins: Origins,
    proxies: TrustedProxies,
    /// Collections that hold what nobody is shown.
    secrecy: Vec<(Namespace, Secrecy)>,
    ticket_ttl: Duration,
    /// Says who is calling, where a host knows.
    identity: Option<Identify>,
}

/// Who is calling, as a host sees it; `None` is a stranger.
pub type Identify = Arc<dyn Fn(&Parts) -> Option<Identity> + Send + Sync>;

/// A request that may go on.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    pub(crate) caller: Caller,
    pub(crate) grant: Grant,
    pub(crate) head: RequestHead,
    pub(crate) kind: RequestKind,
    /// The look at the caller.
    pub(crate) look: Look,
}

impl Admitted {
    /// Says with which look at its caller.
    #[must_use]
    pub(crate) fn by(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// The decision that let the request in.
    pub(crate) fn decided(&self) -> Decided {
        Decided::new(self.head.clone(), self.kind, Some(self.grant.clone()))
    }
}

impl Gate {
    /// `secrecy` names what is never shown, by collection.
    pub fn new(
        authenticator: Authenticator,
        permissions: Permissions,
        origins: Origins,
        proxies: TrustedProxies,
        secrecy: Vec<(Namespace, Secrecy)>,
        ticket_ttl: Duration,
    ) -> Self {
        Self { authenticator, permissions, origins, proxies, secrecy, ticket_ttl, identity: None }
    }

    /// Callers are those whom a host knows.
    pub fn identified_by(mut self, identity: Option<Identify>) -> Self {
        self.identity = identity;
        self
    }

    /// The permissions, to be replaced when they change.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Forgets what was read of users.
    pub fn forget(&self) {
        self.authenticator.forget();
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }

    pub(crate) fn head(&self, parts: &Parts) -> Result<RequestHead, ApiError> {
        head::read(parts, &self.proxies)
    }

    /// Lets a request in, or not. As in RESTHeart, strangers are asked who they are before anything is
    /// held against where they come from.
    pub(crate) async fn admit(
        &self,
        head: RequestHead,
        parts: &Parts,
        kind: RequestKind,
    ) -> Result<Admitted, ApiError> {
        let caller = self.identify(&head, parts).await?;
        let admitted = self.decide(caller, head, kind)?;
        self.check_origin(&admitted.caller, &admitted.head, parts)?;
        Ok(admitted)
    }

    /// A caller who is known, or anybody where authentication is off, whatever they may do.
    pub(crate) async fn caller(
        &self,
        head: &RequestHead,
        parts: &Parts,
    ) -> Result<Caller, ApiError> {
        let caller = self.identify(head, parts).await?;
        if caller == Caller::Anonymous && !self.permissions.allow_everything() {
            return Err(ApiError::Unauthorized(self.challenges(head)));
        }
        self.check_origin(&caller, head, parts)?;
        Ok(caller)
    }

    /// Whether a request may come from the page that it comes from.
    pub(crate) fn check_origin(
        &self,
        caller: &Caller,
        head: &RequestHead,
        parts: &Parts,
    ) -> Result<(), ApiError> {
        let upgrade = handshake::is_upgrade(&parts.headers);
        let admits_credential = |carrier| self.origins.admits_credential(head, carrier, upgrade);
        let carrier = caller.principal().map(|principal| principal.carrier());
        match self.origins.admits(head) && carrier.is_none_or(admits_credential) {
            true => Ok(()),
            false => Err(ApiError::Denied),
        }
    }

    /// A host's word is final; tickets, which it had made, are for requests that carry none.
    pub(crate) async fn identify(
        &self,
        head: &RequestHead,
        parts: &Parts,
    ) -> Result<Caller, ApiError> {
        let Some(identity) = &self.identity else {
            return Ok(self.authenticator.authenticate(head).await?);
        };
        match identity(parts) {
            Some(identity) => Ok(Caller::Known(self.authenticator.vouched(identity))),
            None if head.carries_ticket() => Ok(self.authenticator.authenticate(head).await?),
            None => Ok(Caller::Anonymous),
        }
    }

    pub(crate) fn decide(
        &self,
        caller: Caller,
        head: RequestHead,
        kind: RequestKind,
    ) -> Result<Admitted, ApiError> {
        match self.permissions.decide(&caller, &head, kind) {
            Decision::Allow(grant) => {
                Ok(Admitted { caller, grant, head, kind, look: Look::default() })
            }
            Decision::Deny(Denial::Unauthenticated) => {
                Err(ApiError::Unauthorized(self.authenticator.challenges(&head)))
            }
            Decision::Deny(denial @ Denial::NotLoaded) => {
                Err(ApiError::Unavailable(denial.to_string()))
            }
            Decision::Deny(denial) => {
                log_denial(&denial);
                Err(ApiError::Denied)
            }
        }
    }

    /// What a caller who was let in may do besides.
    pub(crate) fn judge(&self, caller: &Caller, head: RequestHead, kind: RequestKind) -> Decided {
        let grant = match self.permissions.decide(caller, &head, kind) {
            Decision::Allow(grant) => Some(grant),
            Decision::Deny(denial) => {
                log_denial(&denial);
                None
            }
        };
        Decided::new(head, kind, grant)
    }

    /// What a grant lets its caller see of a collection.
    pub(crate) fn scope(&self, grant: &Grant, namespace: &Namespace) -> Scope {
        let closed = self.is_closed(grant, namespace).then(Scope::nothing);
        Scope {
            read_filter: closed.or_else(|| grant.read_filter.clone()),
            project_response: grant.project_response.as_ref().map(ProjectResponse::to_document),
            secrets: self.secrecy(namespace).map(Secrecy::secrets).unwrap_or_default(),
        }
    }

    /// Who a caller is by now. `Err(None)`: that cannot be told.
    pub(crate) async fn again(&self, caller: &Caller) -> Result<Caller, Option<Change>> {
        let Some(principal) = caller.principal() else { return Ok(Caller::Anonymous) };
        match self.authenticator.recheck(principal, SystemTime::now()).await {
            Standing::Same => Ok(Caller::Known(principal.clone())),
            Standing::Changed(now) => Ok(Caller::Known(now)),
            Standing::Ended => Err(Some(Change::Ended)),
            Standing::Unknown => Err(None),
        }
    }

    /// Whether a collection is for the root role only, and this is another.
    fn is_closed(&self, grant: &Grant, namespace: &Namespace) -> bool {
        self.secrecy(namespace) == Some(&Secrecy::RootOnly) && !grant.root
    }

    fn secrecy(&self, namespace: &Namespace) -> Option<&Secrecy> {
        let named = self.secrecy.iter().find(|(named, _)| named == namespace);
        named.map(|(_, secrecy)| secrecy)
    }

    /// Refuses what a permission alone cannot open.
    pub(crate) fn guard(&self, admitted: Admitted, target: &Target) -> Result<Admitted, ApiError> {
        let is_closed = |namespace| self.is_closed(&admitted.grant, namespace);
        if target.namespace().is_some_and(is_closed) {
            return Err(ApiError::Denied);
        }
        Ok(admitted)
    }

    /// What of an open session's rights is left: `None`, they are what they were.
    pub(crate) async fn changed(&self, caller: &Caller, decided: &[Decided]) -> Option<Change> {
        let now = match self.again(caller).await {
            Ok(now) => now,
            Err(change) => return change,
        };
        (!self.is_same(caller, &now, decided)).then_some(Change::Access)
    }

    /// Whether everything that was decided for a caller is decided alike for who they are now.
    pub(crate) fn is_same(&self, then: &Caller, now: &Caller, decided: &[Decided]) -> bool {
        decided.iter().all(|it| {
            let grant = match self.permissions.decide(now, &it.head, it.kind) {
                Decision::Allow(grant) => Some(grant),
                Decision::Deny(_) => None,
            };
            grant == it.grant && it.shows_the_same(then, now)
        })
    }

    /// Who is on a connection, by a credential that they show later: nobody else.
    pub(crate) async fn renewed(
        &self,
        head: &RequestHead,
        caller: &Caller,
        credential: &Secret,
    ) -> Result<Caller, ApiError> {
        if self.identity.is_some() {
            let message = "the host program says who is calling; open another connection";
            return Err(ApiError::BadRequest(message.to_owned()));
        }
        let head = head.presenting(credential.expose(), SystemTime::now());
        let now = self.authenticator.authenticate(&head).await?;
        match (caller.principal(), now.principal()) {
            (_, None) => Err(ApiError::Unauthorized(Vec::new())),
            (Some(then), Some(principal)) if then.id() == principal.id() => Ok(now),
            _ => {
                let message = "the credential is somebody else's; open another connection";
                Err(ApiError::Forbidden(message.to_owned()))
            }
        }
    }

    pub(crate) fn ticket(&self, path: &str, caller: &Caller) -> Result<Ticket, ApiError> {
        if *caller == Caller::Anonymous && !self.permissions.allow_everything() {
            return Err(ApiError::Unauthorized(Vec::new()));
        }
        let (principal, ttl) = (caller.principal().map(Arc::as_ref), self.ticket_ttl);
        let issued = self.authenticator.tickets().issue(path, principal, ttl, SystemTime::now());
        issued.map_err(|error| ApiError::BadRequest(format!("no ticket can be made: {error}")))
    }

    /// Whom an administrator asks about.
    pub(crate) async fn stand_in(&self, asked: &StandIn) -> Result<Caller, ApiError> {
        let found = self.authenticator.stand_in(asked).await?;
        found.ok_or_else(|| {
            let name = &asked.user;
            ApiError::NotFound(format!(
                "user {name} does not exist; give the roles of a token's user"
            ))
        })
    }

    pub(crate) fn challenges(&self, head: &RequestHead) -> Vec<String> {
        self.authenticator.challenges(head)
    }
}

/// What became of an open session's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The credential is over.
    Ended,
    /// What the caller may see is something else now.
    Access,
}

fn log_denial(denial: &Denial) {
    match denial {
        Denial::Broken { .. } | Denial::Unbound { .. } => {
            tracing::warn!(%denial, "a request is denied");
        }
        Denial::Unauthenticated | Denial::Forbidden | Denial::NotLoaded => {
            tracing::debug!(%denial, "a request is denied");
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unauthorized { challenges } => Self::Unauthorized(challenges),
            Refusal::TooManyAttempts { retry_after } => Self::TooManyAttempts(retry_after),
            Refusal::Unavailable { .. } => Self::Unavailable(refusal.to_string()),
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

/// A gate that many requests pass.
pub type SharedGate = Arc<Gate>;
