use std::fmt;
use std::time::{Duration, SystemTime};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bson::{DateTime, Document, doc};

use super::password::keyed;
use super::principal::{Fingerprint, Mechanism, Principal, Proof, Verified};

/// Makes and opens tickets: what a page puts into the URL of a stream, where a browser lets it set
/// no header.
///
/// A ticket is sealed (AES-256-GCM) under a key of its own, derived by HMAC from this one and a
/// salt, and bound to one path. It names a user or a key, or holds the claims of a token; it never
/// holds a credential, and who does not have this key reads nothing in it. It may be used again
/// until it expires, because browsers reconnect to the same URL. Every replica with the same key
/// opens it.
pub struct TicketKey([u8; 32]);

/// A ticket, and until when a connection may be opened with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    pub text: String,
    pub expires_at: SystemTime,
}

/// Why no ticket can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    #[error("the credential is expired")]
    Expired,
    #[error("the claims are too large for a URL; use a header or a cookie")]
    TooLarge,
    #[error("the ticket cannot be sealed")]
    Sealing,
}

/// What a ticket says once it is opened. It has yet to be held against what is stored.
#[derive(Debug, PartialEq)]
pub(super) enum Holder {
    /// A user or the owner of a key, by the digest of their proof.
    User { id: String, proof: Fingerprint },
    /// An API key, by its stored hash.
    Key { hash: String },
    /// The holder of a token, with its claims.
    Token(Verified),
    /// Anybody, where anybody may do everything; elsewhere it proves nothing.
    Anybody,
}

/// Proxies and browsers cut longer URLs.
const MAX_TEXT: usize = 4096;
const VERSION: u8 = 1;
const SALT: usize = 16;

impl TicketKey {
    /// A key from a secret that all replicas share.
    pub fn new(secret: &[u8]) -> Self {
        Self(keyed(&[0; 32], &["ticket key", &BASE64_URL_SAFE_NO_PAD.encode(secret)]))
    }

    /// A key of this process: its tickets end with it.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// Makes a ticket for one path, for anybody where nobody is told apart. The path is as [`RequestHead::path`](super::RequestHead::path) will show
    /// it. It expires with the credential, if that comes first.
    ///
    /// # Errors
    /// [`TicketError`], notably for claims that do not fit into a URL.
    pub fn issue(
        &self,
        path: &str,
        principal: Option<&Principal>,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Ticket, TicketError> {
        if principal.is_some_and(|principal| principal.is_expired(now)) {
            return Err(TicketError::Expired);
        }
        let end = now.checked_add(ttl).ok_or(TicketError::Sealing)?;
        let expiry = principal.and_then(|principal| principal.expires_at());
        let expires_at = expiry.map_or(end, |expiry| expiry.min(end));
        let mut content = doc! { "e": DateTime::from_system_time(expires_at) };
        content.extend(principal.map(|principal| self.content(principal)).unwrap_or_default());
        let mut bytes = content.to_vec().map_err(|_| TicketError::TooLarge)?;
        let salt: [u8; SALT] = rand::random();
        let tag = self
            .sealing(&salt)
            .and_then(|key| {
                let aad = Aad::from(bound_to(path));
                key.seal_in_place_separate_tag(nonce(), aad, &mut bytes).ok()
            })
            .ok_or(TicketError::Sealing)?;
        let sealed = [&[VERSION][..], &salt, &bytes, tag.as_ref()].concat();
        let text = BASE64_URL_SAFE_NO_PAD.encode(sealed);
        match text.len() > MAX_TEXT {
            true => Err(TicketError::TooLarge),
            false => Ok(Ticket { text, expires_at }),
        }
    }

    /// Opens a ticket for the path it is used for. `None` for everything that is not one: forged,
    /// expired, for another path, of another key.
    pub(super) fn verify(&self, text: &str, path: &str, now: SystemTime) -> Option<Holder> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let mut sealed = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (head, content) = sealed.split_at_mut_checked(1 + SALT)?;
        let (version, salt) = head.split_first()?;
        if *version != VERSION {
            return None;
        }
        let key = self.sealing(salt)?;
        let opened = key.open_in_place(nonce(), Aad::from(bound_to(path)), content).ok()?;
        let content = Document::from_reader(&*opened).ok()?;
        let expiry = content.get_datetime("e").ok()?.to_system_time();
        if expiry <= now { None } else { holder(&content) }
    }

    /// Whether what is stored is still what the ticket was made for.
    pub(super) fn is_proof(&self, proof: &Fingerprint, stored: &Fingerprint) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.proof(stored)[..], &proof[..]).into()
    }

    fn content(&self, principal: &Principal) -> Document {
        let mut content = Document::new();
        match principal.proof() {
            Proof::Password(fingerprint) => {
                content.insert("u", principal.id());
                content.insert("f", hex(&self.proof(fingerprint)));
            }
            Proof::Key(hash) => {
                content.insert("k", hash);
            }
            Proof::Token => {
                content.insert("t", principal.id());
                content.insert("r", principal.roles());
                content.insert("c", principal.properties());
                content.insert("x", principal.expires_at().map(DateTime::from_system_time));
            }
        }
        content
    }

    /// A digest of the digest, under this key: a ticket tells nothing about a stored password.
    fn proof(&self, fingerprint: &Fingerprint) -> Fingerprint {
        keyed(&self.0, &["proof", &hex(fingerprint)])
    }

    fn sealing(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let key = keyed(&self.0, &["seal", &hex(salt)]);
        UnboundKey::new(&AES_256_GCM, &key).ok().map(LessSafeKey::new)
    }
}

fn holder(content: &Document) -> Option<Holder> {
    if let Ok(hash) = content.get_str("k") {
        return Some(Holder::Key { hash: hash.to_owned() });
    }
    if let Ok(id) = content.get_str("u") {
        let proof = unhex(content.get_str("f").ok()?)?;
        return Some(Holder::User { id: id.to_owned(), proof });
    }
    if content.len() == 1 {
        return Some(Holder::Anybody);
    }
    let roles = content.get_array("r").ok()?.iter();
    Some(Holder::Token(Verified {
        id: content.get_str("t").ok()?.to_owned(),
        roles: roles.map(|role| role.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        properties: content.get_document("c").ok()?.clone(),
        expires_at: content.get_datetime("x").ok().map(|date| date.to_system_time()),
        mechanism: Mechanism::Token,
        proof: Proof::Token,
    }))
}

/// With and without a slash at the end, a path is the same stream.
fn bound_to(path: &str) -> Vec<u8> {
    [b"tailwater ticket 1 ", path.trim_end_matches('/').as_bytes()].concat()
}

/// Each key seals once, so that its nonce need not vary.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Fingerprint> {
    let mut bytes = Fingerprint::default();
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKey")
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::principal::Carrier;
    use crate::access::support::now;

    const TTL: Duration = Duration::from_secs(30);

    fn principal(proof: Proof, expires_at: Option<SystemTime>) -> Principal {
        let verified = Verified {
            id: "nora".into(),
            roles: vec!["reader".into()],
            properties: doc! { "sub": "nora", "city": "Rome" },
            expires_at,
            mechanism: Mechanism::Token,
            proof,
        };
        Principal::new(verified, Carrier::Bearer, "tenant")
    }

    fn issue(key: &TicketKey, proof: Proof) -> String {
        key.issue("/a/b", Some(&principal(proof, None)), TTL, now()).unwrap().text
    }

    #[test]
    fn opens_what_it_made() {
        let key = TicketKey::new(b"shared");
        let token = issue(&key, Proof::Token);
        let Some(Holder::Token(verified)) = key.verify(&token, "/a/b/", now()) else {
            panic!("not opened");
        };
        assert_eq!(verified.id, "nora");
        assert_eq!(verified.roles, ["reader"]);
        assert_eq!(verified.properties, doc! { "sub": "nora", "city": "Rome" });
        let hash = Holder::Key { hash: "abc".into() };
        assert_eq!(key.verify(&issue(&key, Proof::Key("abc".into())), "/a/b", now()), Some(hash));
        let user = issue(&key, Proof::Password([7; 32]));
        let Some(Holder::User { id, proof }) = key.verify(&user, "/a/b", now()) else {
            panic!("not opened");
        };
        assert_eq!(id, "nora");
        assert!(key.is_proof(&proof, &[7; 32]) && !key.is_proof(&proof, &[8; 32]));
        let anybody = key.issue("/a/b", None, TTL, now()).unwrap().text;
        assert_eq!(key.verify(&anybody, "/a/b", now()), Some(Holder::Anybody));
        // Another replica.
        assert!(TicketKey::new(b"shared").verify(&user, "/a/b", now()).is_some());
    }

    #[test]
    fn can_be_used_until_it_expires() {
        let key = TicketKey::random();
        let ticket = issue(&key, Proof::Token);
        let at = |seconds| key.verify(&ticket, "/a/b", now() + Duration::from_secs(seconds));
        assert!(at(0).is_some() && at(29).is_some());
        assert!(at(30).is_none());
    }

    #[test]
    fn does_not_outlive_the_credential() {
        let key = TicketKey::random();
        let expiry = now() + Duration::from_secs(5);
        let ticket =
            key.issue("/a", Some(&principal(Proof::Token, Some(expiry))), TTL, now()).unwrap();
        assert_eq!(ticket.expires_at, expiry);
        let Some(Holder::Token(verified)) = key.verify(&ticket.text, "/a", now()) else {
            panic!("not opened");
        };
        assert_eq!(verified.expires_at, Some(expiry));
        let late = key.issue("/a", Some(&principal(Proof::Token, Some(now()))), TTL, now());
        assert_eq!(late, Err(TicketError::Expired));
    }

    #[test]
    fn is_good_for_nothing_else() {
        let key = TicketKey::random();
        let ticket = issue(&key, Proof::Token);
        let check = |text: &str, path: &str| assert_eq!(key.verify(text, path, now()), None);
        check(&ticket, "/a/c");
        check(&ticket, "/a/b/c");
        check(&ticket, "/a");
        check("", "/a/b");
        check("AAAA", "/a/b");
        check("!", "/a/b");
        check(&"A".repeat(5000), "/a/b");
        assert_eq!(TicketKey::random().verify(&ticket, "/a/b", now()), None);
        for at in 0..ticket.len() {
            let mut forged = ticket.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            check(&String::from_utf8(forged).unwrap(), "/a/b");
        }
    }

    #[test]
    fn shows_nothing() {
        let key = TicketKey::random();
        let ticket = key.issue("/a", Some(&principal(Proof::Token, None)), TTL, now()).unwrap();
        let opened = BASE64_URL_SAFE_NO_PAD.decode(&ticket.text).unwrap();
        assert!(!opened.windows(4).any(|bytes| bytes == b"Rome" || bytes == b"nora"));
        assert!(!format!("{ticket:?} {key:?}").contains(&ticket.text));
        assert_ne!(
            ticket.text,
            key.issue("/a", Some(&principal(Proof::Token, None)), TTL, now()).unwrap().text
        );
    }

    #[test]
    fn large_claims_do_not_fit() {
        let mut verified = principal(Proof::Token, None);
        for size in [2000, 4000] {
            let large = Verified {
                id: "nora".into(),
                roles: Vec::new(),
                properties: doc! { "x": "x".repeat(size) },
                expires_at: None,
                mechanism: Mechanism::Token,
                proof: Proof::Token,
            };
            verified = Principal::new(large, Carrier::Bearer, "tenant");
            let fits = TicketKey::random().issue("/a", Some(&verified), TTL, now()).is_ok();
            assert_eq!(fits, size < 3000, "{size}");
        }
        assert_eq!(verified.id(), "nora");
    }
}
