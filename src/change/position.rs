//! Positions: where a client stands, and the opaque id that says so outside.
//!
//! An id is the same on every replica that shares the key and each time the event is delivered. It
//! holds no part of the document's `_id`: the resume token enters only through a keyed hash.

use std::{fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{ClusterTime, ResumeToken};

/// First byte of every id; another value is another layout.
const VERSION: u8 = 1;
const EPOCH_BYTES: usize = 4;
const TIE_BYTES: usize = 10;
const MAC_BYTES: usize = 10;
const BODY_BYTES: usize = 1 + EPOCH_BYTES + 8 + TIE_BYTES;
const ID_BYTES: usize = BODY_BYTES + MAC_BYTES;

/// Where a client stands: after one event, or at the start of a cluster time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    /// The cluster time of the event, or the time from which nothing has been delivered yet.
    pub time: ClusterTime,
    /// Names the event within its cluster time.
    pub tie: Tie,
}

/// Tells the events of one cluster time apart (those of one transaction share it).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tie {
    /// Everything before the time was delivered, nothing of it.
    Before,
    /// Just after the event whose resume token has this keyed hash.
    After([u8; TIE_BYTES]),
}

/// An id as a client sees it: 44 characters of base64url.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PositionId(Arc<str>);

impl PositionId {
    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same position in the words of another surface.
    pub fn worded(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for PositionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an id that a client sent cannot be used. Each is answered with `reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// Not of the form of an id.
    #[error("the event id is malformed")]
    Malformed,
    /// Written with another key or for another collection, or altered.
    #[error("the event id was not issued for this collection")]
    Foreign,
    /// Issued before the deployment was restored or initiated anew.
    #[error("the event id belongs to an earlier life of this deployment")]
    OtherEpoch,
}

/// The secret behind ids, and the epoch they belong to.
#[derive(Clone)]
pub struct PositionKey {
    secret: Arc<[u8]>,
    epoch: [u8; EPOCH_BYTES],
}

impl PositionKey {
    /// `secret` is shared by all replicas; `epoch` changes when cluster times start anew.
    pub fn new(secret: &[u8], epoch: [u8; EPOCH_BYTES]) -> Self {
        Self { secret: secret.into(), epoch }
    }

    /// The position just after the event that has this token.
    pub fn after(&self, token: &ResumeToken) -> Position {
        Position { time: token.cluster_time(), tie: Tie::After(self.tie(token)) }
    }

    /// The position from which everything at `time` and later is still to come.
    pub fn before(&self, time: ClusterTime) -> Position {
        Position { time, tie: Tie::Before }
    }

    /// Whether `position` names the event of this token.
    pub fn names(&self, position: &Position, token: &ResumeToken) -> bool {
        position.time == token.cluster_time() && position.tie == Tie::After(self.tie(token))
    }

    /// The id of a position in a collection. `scope` is the collection's full name.
    pub fn seal(&self, position: &Position, scope: &str) -> PositionId {
        let mut bytes = [0; ID_BYTES];
        let body = self.body(position);
        bytes[..BODY_BYTES].copy_from_slice(&body);
        bytes[BODY_BYTES..].copy_from_slice(&self.mac(&body, scope));
        PositionId(URL_SAFE_NO_PAD.encode(bytes).into())
    }

    /// The position that an id names, if the id was issued here for this collection.
    pub fn open(&self, id: &str, scope: &str) -> Result<Position, PositionError> {
        let bytes = decode(id)?;
        let (body, mac) = bytes.split_at(BODY_BYTES);
        let genuine: bool = self.mac(body, scope).ct_eq(mac).into();
        if !genuine {
            return Err(PositionError::Foreign);
        }
        if body[1..1 + EPOCH_BYTES] != self.epoch {
            return Err(PositionError::OtherEpoch);
        }
        Ok(read_body(body))
    }

    fn body(&self, position: &Position) -> [u8; BODY_BYTES] {
        let mut body = [0; BODY_BYTES];
        body[0] = VERSION;
        body[1..5].copy_from_slice(&self.epoch);
        body[5..13].copy_from_slice(&position.time.to_bits().to_be_bytes());
        if let Tie::After(tie) = position.tie {
            body[13..].copy_from_slice(&tie);
        }
        body
    }

    fn tie(&self, token: &ResumeToken) -> [u8; TIE_BYTES] {
        let mut tie = self.digest(b"tie", &[token.as_hex().as_bytes()]);
        // All zeros says "before": a hash never does.
        tie[0] |= 1;
        tie
    }

    fn mac(&self, body: &[u8], scope: &str) -> [u8; MAC_BYTES] {
        self.digest(b"mac", &[body, scope.as_bytes()])
    }

    fn digest<const N: usize>(&self, purpose: &[u8], parts: &[&[u8]]) -> [u8; N] {
        // HMAC takes a key of any length, so the error cannot occur; an empty digest opens nothing.
        let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(&self.secret) else { return [0; N] };
        hmac.update(purpose);
        parts.iter().for_each(|part| hmac.update(part));
        let full = hmac.finalize().into_bytes();
        let mut short = [0; N];
        short.copy_from_slice(&full[..N]);
        short
    }
}

impl fmt::Debug for PositionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PositionKey(…)")
    }
}

fn decode(id: &str) -> Result<[u8; ID_BYTES], PositionError> {
    let bytes = URL_SAFE_NO_PAD.decode(id).map_err(|_| PositionError::Malformed)?;
    let bytes: [u8; ID_BYTES] = bytes.try_into().map_err(|_| PositionError::Malformed)?;
    if bytes[0] == VERSION { Ok(bytes) } else { Err(PositionError::Malformed) }
}

fn read_body(body: &[u8]) -> Position {
    let mut time = [0; 8];
    time.copy_from_slice(&body[5..13]);
    let mut tie = [0; TIE_BYTES];
    tie.copy_from_slice(&body[13..BODY_BYTES]);
    let tie = if tie == [0; TIE_BYTES] { Tie::Before } else { Tie::After(tie) };
    Position { time: ClusterTime::from_bits(u64::from_be_bytes(time)), tie }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: &str = "shop.orders";

    fn key() -> PositionKey {
        PositionKey::new(b"a secret of the operator", *b"ep01")
    }

    fn token(tail: &str) -> ResumeToken {
        ResumeToken::from_hex(&format!("826565A1B200000003{tail}")).unwrap()
    }

    #[test]
    fn an_id_round_trips_and_stays_short() {
        for position in [key().after(&token("2B02AA")), key().before(token("").cluster_time())] {
            let id = key().seal(&position, SCOPE);
            assert!(id.as_str().len() < 48, "{id:?}");
            assert_eq!(key().open(id.as_str(), SCOPE), Ok(position));
        }
    }

    #[test]
    fn events_of_one_transaction_have_ids_of_their_own() {
        let (one, two) = (token("2B02AA"), token("2B02AB"));
        assert!(key().names(&key().after(&one), &one));
        assert!(!key().names(&key().after(&one), &two));
    }

    #[test]
    fn an_id_from_elsewhere_is_refused() {
        let id = key().seal(&key().after(&token("2B02AA")), SCOPE);
        let other_key = PositionKey::new(b"another", *b"ep01");
        let other_epoch = PositionKey::new(b"a secret of the operator", *b"ep02");
        assert_eq!(key().open(id.as_str(), "shop.carts"), Err(PositionError::Foreign));
        assert_eq!(other_key.open(id.as_str(), SCOPE), Err(PositionError::Foreign));
        assert_eq!(other_epoch.open(id.as_str(), SCOPE), Err(PositionError::OtherEpoch));
    }

    #[test]
    fn an_altered_id_is_refused_at_every_byte() {
        let id = key().seal(&key().after(&token("2B02AA")), SCOPE);
        let bytes = URL_SAFE_NO_PAD.decode(id.as_str()).unwrap();
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert!(key().open(&URL_SAFE_NO_PAD.encode(altered), SCOPE).is_err(), "byte {at}");
        }
    }

    #[test]
    fn garbage_is_malformed() {
        let long = "A".repeat(4000);
        for id in ["0", "null", "undefined", "%%%", "AAAA", "caf\u{e9}", long.as_str()] {
            assert_eq!(key().open(id, SCOPE), Err(PositionError::Malformed), "{id}");
        }
    }
}
