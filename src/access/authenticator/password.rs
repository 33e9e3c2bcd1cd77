use bson::Document;
use tokio::time::Instant;

use super::Authenticator;
use crate::access::guard::Key;
use crate::access::jwt::looks_like_token;
use crate::access::principal::{Mechanism, Proof, Verified};
use crate::access::realm::{Freshness, User, UserRealm};
use crate::access::refusal::Failure;
use crate::access::request::RequestHead;

/// Longer than any name or password that somebody typed.
const MAX_NAME: usize = 256;
const MAX_PASSWORD: usize = 1024;

impl Authenticator {
    pub(super) async fn basic(
        &self,
        name: &str,
        password: &str,
        head: &RequestHead,
    ) -> Result<Verified, Failure> {
        if self.takes_tokens_as_passwords() && looks_like_token(password) {
            let verified = self.token(password, head.received()).await?;
            return if verified.id == name { Ok(verified) } else { Err(Failure::Invalid) };
        }
        let users = self.realms.users.as_ref().ok_or(Failure::Invalid)?;
        if name.len() > MAX_NAME || password.len() > MAX_PASSWORD || password.contains('\0') {
            return Err(Failure::Invalid);
        }
        self.password(users.as_ref(), name, password).await
    }

    pub(super) fn takes_tokens_as_passwords(&self) -> bool {
        self.config.tokens.basic && self.realms.jwt.is_some()
    }

    /// A user who does not exist is looked up and hashed like one who does.
    async fn password(
        &self,
        users: &dyn UserRealm,
        name: &str,
        password: &str,
    ) -> Result<Verified, Failure> {
        let user = users.find(name, Freshness::Remembered).await.map_err(|error| {
            tracing::warn!(%error, "a password cannot be checked");
            Failure::Unavailable
        })?;
        let stored = user.as_ref().map(|user| &user.password);
        let is_known =
            stored.is_some_and(|stored| self.passwords.is_verified(name, password, stored));
        if !is_known {
            self.check_user_guard(name)?;
        }
        let holds = self.passwords.check(name, password, stored, users.is_hashed()).await;
        match (holds.map_err(|_| Failure::Unavailable)?, user) {
            (true, Some(user)) => Ok(verified(name, &user)),
            _ => {
                self.note_user_failure(name);
                Err(Failure::Invalid)
            }
        }
    }

    fn check_user_guard(&self, name: &str) -> Result<(), Failure> {
        let Some(guard) = &self.guard else { return Ok(()) };
        match guard.blocked(&Key::User(name.to_owned()), Instant::now()) {
            Some(retry_after) => Err(Failure::TooMany(retry_after)),
            None => Ok(()),
        }
    }

    fn note_user_failure(&self, name: &str) {
        if let Some(guard) = &self.guard {
            guard.failed(Key::User(name.to_owned()), Instant::now());
        }
    }
}

pub(super) fn verified(name: &str, user: &User) -> Verified {
    Verified {
        id: name.to_owned(),
        roles: user.roles.clone(),
        properties: Document::clone(&user.properties),
        expires_at: None,
        mechanism: Mechanism::Password,
        proof: Proof::Password(user.password.fingerprint()),
    }
}
