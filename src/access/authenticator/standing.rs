use std::sync::Arc;
use std::time::SystemTime;

use subtle::ConstantTimeEq;

use super::Authenticator;
use super::password::verified;
use crate::access::principal::{Fingerprint, Principal, Proof, Verified};
use crate::access::realm::Freshness;
use crate::access::refusal::Failure;

/// What became of a principal since they came in.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    Same,
    /// Still the same person, with other roles or properties: what they may see has to be decided
    /// anew.
    Changed(Arc<Principal>),
    /// Gone, expired, or with another password: the session ends.
    Ended,
    /// Nobody knows at the moment; ask again.
    Unknown,
}

impl Authenticator {
    /// Holds an open session against what is stored now. Nothing that was remembered is used.
    pub async fn recheck(&self, principal: &Principal, now: SystemTime) -> Standing {
        if principal.is_expired(now) {
            return Standing::Ended;
        }
        let current = match principal.proof() {
            Proof::Token => return Standing::Same,
            Proof::Key(hash) => self.key_by_hash(hash, Freshness::Fresh, now).await,
            Proof::Password(fingerprint) => self.user_now(principal.id(), fingerprint).await,
        };
        match current {
            Ok(verified) => {
                let current = self.principal(verified, principal.carrier());
                match *current == *principal {
                    true => Standing::Same,
                    false => Standing::Changed(current),
                }
            }
            Err(Failure::Unavailable | Failure::TooMany(_)) => Standing::Unknown,
            Err(Failure::Invalid | Failure::Expired) => Standing::Ended,
        }
    }

    async fn user_now(&self, id: &str, fingerprint: &Fingerprint) -> Result<Verified, Failure> {
        let users = self.realms.users.as_ref().ok_or(Failure::Invalid)?;
        let user = users.find(id, Freshness::Fresh).await.map_err(|_| Failure::Unavailable)?;
        let user = user.ok_or(Failure::Invalid)?;
        let is_same: bool = user.password.fingerprint()[..].ct_eq(&fingerprint[..]).into();
        if is_same { Ok(verified(id, &user)) } else { Err(Failure::Invalid) }
    }
}
