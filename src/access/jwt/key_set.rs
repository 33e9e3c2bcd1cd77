use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fetch::KeySource;
use super::key::VerifyingKey;

/// Keys that are published under ids and replaced from time to time.
///
/// The set is read again when it is old, and at once when a token names a key that is not in it;
/// tokens that name nonsense cannot make it read more often than [`MIN_INTERVAL`].
#[derive(Debug)]
pub(super) struct KeySet {
    source: KeySource,
    refresh: Duration,
    algorithm: Algorithm,
    known: RwLock<Known>,
    /// One reads; the others use what is known.
    reading: Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct Known {
    keys: Arc<Vec<(Option<String>, VerifyingKey)>>,
    /// When they were read, if ever.
    read: Option<Instant>,
    tried: Option<Instant>,
}

const MIN_INTERVAL: Duration = Duration::from_secs(10);

/// More than any issuer publishes at a time.
const MAX_KEYS: usize = 64;

impl KeySet {
    pub(super) fn new(source: KeySource, refresh: Duration, algorithm: Algorithm) -> Self {
        Self { source, refresh, algorithm, known: RwLock::default(), reading: Mutex::default() }
    }

    /// The keys to try, for a token that names one or none. `None` when no set was ever read.
    pub(super) async fn candidates(&self, kid: Option<&str>) -> Option<Vec<VerifyingKey>> {
        if self.is_due(kid) {
            self.read(kid).await;
        }
        let known = self.known();
        known.read?;
        let fits = |id: &Option<String>| kid.is_none_or(|kid| id.as_deref() == Some(kid));
        Some(known.keys.iter().filter(|(id, _)| fits(id)).map(|(_, key)| key.clone()).collect())
    }

    fn is_due(&self, kid: Option<&str>) -> bool {
        let known = self.known();
        let since = |at: Option<Instant>, limit| at.is_none_or(|at| at.elapsed() >= limit);
        let is_old = since(known.read, self.refresh);
        (is_old || !self.has(kid)) && since(known.tried, MIN_INTERVAL.min(self.refresh))
    }

    /// Whether there are keys to try for this token.
    fn has(&self, kid: Option<&str>) -> bool {
        let known = self.known();
        let is_named = |kid: &str| known.keys.iter().any(|(id, _)| id.as_deref() == Some(kid));
        known.read.is_some() && kid.is_none_or(is_named)
    }

    async fn read(&self, kid: Option<&str>) {
        // One reads what is only old; the others go by it meanwhile. Who has nothing to go by waits.
        let _turn = match self.has(kid) {
            true => match self.reading.try_lock() {
                Ok(turn) => turn,
                Err(_) => return,
            },
            false => self.reading.lock().await,
        };
        if !self.is_due(kid) {
            return;
        }
        let answer = self.source.fetch().await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.tried = Some(Instant::now());
        match answer {
            Ok(text) => match keys(&text, self.algorithm) {
                Ok(keys) => {
                    known.keys = Arc::new(keys);
                    known.read = known.tried;
                }
                Err(error) => tracing::warn!(%error, "the key set is no JSON Web Key Set"),
            },
            Err(error) => tracing::warn!(%error, "the key set cannot be read"),
        }
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Those keys of a set that are for checking signatures of this algorithm. A shared secret in a set
/// that anybody can read is never one.
fn keys(
    text: &str,
    algorithm: Algorithm,
) -> Result<Vec<(Option<String>, VerifyingKey)>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Raw {
        keys: Vec<serde_json::Value>,
    }
    // One by one: a key of a kind that is not known here does not spoil the others.
    let raw: Raw = serde_json::from_str(text)?;
    let parsed = raw.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    let set = JwkSet { keys: parsed.take(MAX_KEYS).collect() };
    let usable = set.keys.iter().filter(|jwk| is_for(jwk, algorithm));
    Ok(usable
        .filter_map(|jwk| {
            let key = DecodingKey::from_jwk(jwk).ok()?;
            Some((jwk.common.key_id.clone(), VerifyingKey::of_set(key)))
        })
        .collect())
}

fn is_for(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let is_signing = !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption));
    let named = jwk.common.key_algorithm.as_ref().map(ToString::to_string);
    let is_named = named.is_none_or(|name| name.parse::<Algorithm>().ok() == Some(algorithm));
    let is_of_kind = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => matches!(
            algorithm,
            Algorithm::RS256
                | Algorithm::RS384
                | Algorithm::RS512
                | Algorithm::PS256
                | Algorithm::PS384
                | Algorithm::PS512
        ),
        AlgorithmParameters::EllipticCurve(_) => {
            matches!(algorithm, Algorithm::ES256 | Algorithm::ES384)
        }
        AlgorithmParameters::OctetKeyPair(_) => algorithm == Algorithm::EdDSA,
        _ => false,
    };
    is_signing && is_named && is_of_kind
}
