use std::time::SystemTime;

use bson::doc;
use sha2::{Digest, Sha256};

use super::Authenticator;
use crate::access::principal::{Mechanism, Proof, Verified};
use crate::access::realm::{ApiKey, Freshness};
use crate::access::refusal::Failure;
use crate::access::tickets::hex;

/// Longer than any key that was made.
const MAX_KEY: usize = 1024;

impl Authenticator {
    pub(super) fn key_prefix(&self) -> Option<&str> {
        let is_on = self.realms.keys.is_some();
        self.config.api_keys.as_ref().filter(|_| is_on).map(|config| config.prefix.as_str())
    }

    pub(super) async fn api_key(&self, key: &str, now: SystemTime) -> Result<Verified, Failure> {
        if key.len() > MAX_KEY {
            return Err(Failure::Invalid);
        }
        self.key_by_hash(&hex(&Sha256::digest(key)), Freshness::Remembered, now).await
    }

    pub(super) async fn key_by_hash(
        &self,
        hash: &str,
        freshness: Freshness,
        now: SystemTime,
    ) -> Result<Verified, Failure> {
        let keys = self.realms.keys.as_ref().ok_or(Failure::Invalid)?;
        let found = keys.find(hash, freshness).await.map_err(|error| {
            tracing::warn!(%error, "a key cannot be checked");
            Failure::Unavailable
        })?;
        let key = found.ok_or(Failure::Invalid)?;
        match key.expires_at.is_some_and(|expiry| expiry <= now) {
            true => Err(Failure::Expired),
            false => Ok(verified(&key, hash)),
        }
    }
}

fn verified(key: &ApiKey, hash: &str) -> Verified {
    Verified {
        id: key.principal.clone(),
        roles: key.roles.clone(),
        properties: doc! { "_id": key.principal.clone() },
        expires_at: key.expires_at,
        mechanism: Mechanism::ApiKey,
        proof: Proof::Key(hash.to_owned()),
    }
}
