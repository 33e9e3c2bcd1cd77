use bson::{Document, doc};

use super::password::verified;
use super::{Authenticator, RETRY_AFTER};
use crate::access::principal::{Caller, Carrier, Mechanism, Proof, UNAUTHENTICATED, Verified};
use crate::access::realm::Freshness;
use crate::access::refusal::{Failure, Refusal};

/// Somebody whom an administrator asks about: nobody proved to be them, and no session is opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandIn {
    /// The name of a stored user, or of a token's. Empty with no other role than the strangers':
    /// a stranger.
    pub user: String,
    /// In place of those that are stored.
    pub roles: Vec<String>,
    /// What `@user` shows, in place of what is stored.
    pub claims: Option<Document>,
}

impl Authenticator {
    /// The caller that a stand-in is. `None`: there is no such user, and nothing else was said.
    ///
    /// # Errors
    /// The users cannot be read.
    pub async fn stand_in(&self, asked: &StandIn) -> Result<Option<Caller>, Refusal> {
        if asked.user.is_empty() && asked.roles == [UNAUTHENTICATED] {
            return Ok(Some(Caller::Anonymous));
        }
        let stored = self.stored(&asked.user).await;
        let stored = stored.map_err(|_| Refusal::Unavailable { retry_after: RETRY_AFTER })?;
        if stored.is_none() && asked.roles.is_empty() && asked.claims.is_none() {
            return Ok(None);
        }
        let mut shown = stored.unwrap_or_else(|| unknown(&asked.user));
        if !asked.roles.is_empty() {
            shown.roles.clone_from(&asked.roles);
        }
        if let Some(claims) = &asked.claims {
            shown.properties.clone_from(claims);
            shown.mechanism = Mechanism::Token;
        }
        Ok(Some(Caller::Known(self.principal(shown, Carrier::Bearer))))
    }

    async fn stored(&self, name: &str) -> Result<Option<Verified>, Failure> {
        let Some(users) = self.realms.users.as_ref().filter(|_| !name.is_empty()) else {
            return Ok(None);
        };
        let user = users.find(name, Freshness::Fresh).await.map_err(|error| {
            tracing::warn!(%error, "a user cannot be read");
            Failure::Unavailable
        })?;
        Ok(user.map(|user| verified(name, &user)))
    }
}

/// Of whom only the name is known: it is both what a user's document and what a token would say.
fn unknown(name: &str) -> Verified {
    Verified {
        id: name.to_owned(),
        roles: Vec::new(),
        properties: doc! { "_id": name, "sub": name },
        expires_at: None,
        mechanism: Mechanism::Token,
        proof: Proof::Token,
    }
}
