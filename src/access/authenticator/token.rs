use std::time::SystemTime;

use super::Authenticator;
use crate::access::jwt::TokenError;
use crate::access::principal::Verified;
use crate::access::refusal::Failure;
use crate::access::request::RequestHead;

impl Authenticator {
    /// A key, if it begins like one; else a token.
    pub(super) async fn bearer(&self, text: &str, head: &RequestHead) -> Result<Verified, Failure> {
        match self.key_prefix().filter(|prefix| text.starts_with(prefix)) {
            Some(_) => self.api_key(text, head.received()).await,
            None => self.token(text, head.received()).await,
        }
    }

    pub(super) async fn token(&self, token: &str, now: SystemTime) -> Result<Verified, Failure> {
        let jwt = self.realms.jwt.as_ref().ok_or(Failure::Invalid)?;
        jwt.verify(token, now).await.map_err(|error| match error {
            TokenError::Invalid(reason) => {
                tracing::debug!(reason, "a token is refused");
                Failure::Invalid
            }
            TokenError::Expired => Failure::Expired,
            TokenError::Unavailable => Failure::Unavailable,
        })
    }
}
