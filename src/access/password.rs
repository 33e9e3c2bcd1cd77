use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::cache::Memory;
use super::hash;
use super::principal::Fingerprint;
use crate::config::{CacheConfig, Secret};

/// A password as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredPassword {
    /// A bcrypt hash.
    Hash(Secret),
    Plain(Secret),
}

/// Checks passwords: bounded, in constant time, and not twice.
///
/// What was checked is remembered as a digest under a key that is made at start and kept nowhere,
/// so that neither a password nor anything to guess it by stays in memory.
pub(super) struct Passwords {
    key: [u8; 32],
    verified: Mutex<Memory<String, Fingerprint>>,
    /// Hashing takes a processor for a good part of a second: only some at a time.
    hashing: Semaphore,
    /// Checks that may wait for their turn.
    waiting: Semaphore,
    /// What a check cost last: an unknown user costs the same.
    cost: AtomicU32,
}

/// Too many passwords are waiting to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Busy;

/// Checks that wait; beyond, callers are told to come back.
const MAX_WAITING: usize = 256;

impl Passwords {
    pub(super) fn new(verified: CacheConfig, cost: u32) -> Self {
        let ttl = verified.ttl.unwrap_or_default();
        let size = if ttl.is_zero() { 0 } else { verified.size };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            key: rand::random(),
            verified: Mutex::new(Memory::new(ttl, size)),
            hashing: Semaphore::new((processors / 2).max(1)),
            waiting: Semaphore::new(MAX_WAITING),
            cost: AtomicU32::new(cost),
        }
    }

    /// Whether this is the user's password. `stored` is `None` for a user who does not exist, who
    /// must not be told from others by the time it takes.
    pub(super) async fn check(
        &self,
        user: &str,
        password: &str,
        stored: Option<&StoredPassword>,
        is_hashed: bool,
    ) -> Result<bool, Busy> {
        match stored {
            Some(StoredPassword::Plain(plain)) => {
                // Digests have one length, whatever the texts have.
                let given = self.digest(&[password]);
                Ok(given.ct_eq(&self.digest(&[plain.expose()])).into())
            }
            Some(StoredPassword::Hash(hash)) => self.check_hash(user, password, Some(hash)).await,
            None if is_hashed => self.check_hash(user, password, None).await,
            None => {
                let _ = self.digest(&[password]).ct_eq(&self.digest(&[user]));
                Ok(false)
            }
        }
    }

    /// Whether the password was checked lately, and is still the one that is stored.
    pub(super) fn is_verified(&self, user: &str, password: &str, stored: &StoredPassword) -> bool {
        let StoredPassword::Hash(hash) = stored else { return false };
        let digest = self.digest(&[user, hash.expose(), password]);
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let known = verified.get(&user.to_owned(), Instant::now());
        known.is_some_and(|known| known.ct_eq(&digest).into())
    }

    async fn check_hash(
        &self,
        user: &str,
        password: &str,
        stored: Option<&Secret>,
    ) -> Result<bool, Busy> {
        let usable = stored.and_then(|hash| hash::cost_of(hash.expose()).map(|cost| (hash, cost)));
        let Some((hash, cost)) = usable else {
            // The outcome is known, and takes as long as another one.
            let decoy = hash::decoy(self.cost.load(Ordering::Relaxed));
            self.compute(password, Secret::new(decoy)).await?;
            return Ok(false);
        };
        self.cost.store(cost, Ordering::Relaxed);
        let as_stored = StoredPassword::Hash(hash.clone());
        if self.is_verified(user, password, &as_stored) {
            return Ok(true);
        }
        let holds = self.compute(password, hash.clone()).await?;
        if holds {
            let digest = self.digest(&[user, hash.expose(), password]);
            let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
            verified.insert(user.to_owned(), digest, Instant::now());
        }
        Ok(holds)
    }

    /// Hashes on a thread that may block.
    async fn compute(&self, password: &str, hash: Secret) -> Result<bool, Busy> {
        let _place = self.waiting.try_acquire().map_err(|_| Busy)?;
        let _turn = self.hashing.acquire().await.map_err(|_| Busy)?;
        let password = Secret::new(password);
        let check = move || hash::verify(password.expose(), hash.expose());
        tokio::task::spawn_blocking(check).await.map_err(|_| Busy)
    }

    fn digest(&self, parts: &[&str]) -> [u8; 32] {
        keyed(&self.key, parts)
    }
}

impl StoredPassword {
    /// A text that is a bcrypt hash, or a password as it is.
    pub(super) fn detect(text: String) -> Self {
        match hash::cost_of(&text) {
            Some(_) => Self::Hash(Secret::new(text)),
            None => Self::Plain(Secret::new(text)),
        }
    }

    /// Changes whenever the stored password does.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let (Self::Hash(text) | Self::Plain(text)) = self;
        Sha256::new().chain_update(b"stored password").chain_update(text.expose()).finalize().into()
    }
}

/// HMAC over texts that cannot run into one another.
pub(super) fn keyed(key: &[u8; 32], parts: &[&str]) -> [u8; 32] {
    // The key of one block that HMAC would make of the shorter one.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().into()
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn passwords(size: usize) -> Passwords {
        let ttl = Some(Duration::from_secs(60));
        Passwords::new(CacheConfig { ttl, size }, 4)
    }

    fn hashed(password: &str) -> StoredPassword {
        StoredPassword::Hash(Secret::new(hash::hash_password(password, 4).unwrap()))
    }

    #[tokio::test]
    async fn checks_hashes_and_plain_texts() {
        let passwords = passwords(10);
        let plain = StoredPassword::Plain(Secret::new("a"));
        let broken = StoredPassword::Hash(Secret::new("a"));
        for (stored, password, expected) in [
            (Some(&hashed("a")), "a", true),
            (Some(&hashed("a")), "b", false),
            (Some(&plain), "a", true),
            (Some(&plain), "ab", false),
            (Some(&broken), "a", false),
            (None, "a", false),
        ] {
            let holds = passwords.check("u", password, stored, true).await;
            assert_eq!(holds, Ok(expected), "{stored:?} {password}");
        }
        assert_eq!(passwords.check("u", "a", None, false).await, Ok(false));
    }

    #[tokio::test]
    async fn remembers_what_was_checked() {
        let (passwords, stored) = (passwords(10), hashed("a"));
        assert!(!passwords.is_verified("u", "a", &stored));
        passwords.check("u", "a", Some(&stored), true).await.unwrap();
        assert!(passwords.is_verified("u", "a", &stored));
        assert!(!passwords.is_verified("u", "b", &stored));
        assert!(!passwords.is_verified("v", "a", &stored));
        // Another hash of the same password: it was set anew.
        assert!(!passwords.is_verified("u", "a", &hashed("a")));
        let forgetful = self::passwords(0);
        forgetful.check("u", "a", Some(&stored), true).await.unwrap();
        assert!(!forgetful.is_verified("u", "a", &stored));
    }

    #[tokio::test]
    async fn too_many_at_once_are_turned_away() {
        let passwords = passwords(10);
        let all = passwords.waiting.acquire_many(MAX_WAITING as u32).await.unwrap();
        assert_eq!(passwords.check("u", "a", Some(&hashed("a")), true).await, Err(Busy));
        drop(all);
        assert_eq!(passwords.check("u", "a", Some(&hashed("a")), true).await, Ok(true));
    }

    #[tokio::test]
    async fn unknown_users_cost_what_known_ones_do() {
        let passwords = Passwords::new(CacheConfig { ttl: None, size: 0 }, 12);
        passwords.check("u", "a", Some(&hashed("a")), true).await.unwrap();
        assert_eq!(passwords.cost.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn shows_no_secret() {
        let passwords = passwords(1);
        assert_eq!(format!("{passwords:?} {:?}", hashed("a")), "Passwords { .. } Hash(***)");
    }
}
