use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use serde_json::{Map, Value};

use super::claims::Rules;
use super::fetch::KeySource;
use super::key::{KeyError, VerifyingKey, algorithm};
use super::key_set::KeySet;
use super::{TokenError, claims};
use crate::access::principal::Verified;
use crate::config::{JwtConfig, JwtKey};

/// Checks tokens. Several keys may hold at once, so that one can be replaced without a pause.
#[derive(Debug)]
pub struct JwtVerifier {
    algorithm: Algorithm,
    rules: Rules,
    base64_encoded: bool,
    keys: Vec<Keys>,
}

#[derive(Debug)]
enum Keys {
    Fixed(VerifyingKey),
    Set(Box<KeySet>),
}

/// Longer than any token that fits into a header.
const MAX_BYTES: usize = 16 * 1024;

/// Tokens come without padding; some libraries add it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl JwtVerifier {
    /// # Errors
    /// [`KeyError`] when the key is not one for the algorithm.
    pub fn new(config: &JwtConfig) -> Result<Self, KeyError> {
        let verifier = Self {
            algorithm: algorithm(config.algorithm),
            rules: Rules::new(config),
            base64_encoded: config.base64_encoded,
            keys: Vec::new(),
        };
        let verifier = verifier.with_key(config, &config.key)?;
        match &config.second_key {
            Some(second) => verifier.with_key(config, second),
            None => Ok(verifier),
        }
    }

    fn with_key(self, config: &JwtConfig, key: &JwtKey) -> Result<Self, KeyError> {
        match key {
            JwtKey::Shared(_) | JwtKey::SharedBase64(_) => {
                let secret = key.secret().ok_or(KeyError::Base64)?;
                let key = VerifyingKey::shared(&secret, config.algorithm)?;
                Ok(self.with_verifying_key(key))
            }
            JwtKey::Public(text) => {
                let key = VerifyingKey::public(text.expose(), config.algorithm)?;
                Ok(self.with_verifying_key(key))
            }
            JwtKey::KeySet { place, refresh } => {
                let source = KeySource::new(place)?;
                Ok(self.with_key_set(source, *refresh))
            }
        }
    }

    /// Lets a key hold as well.
    #[must_use]
    pub fn with_verifying_key(mut self, key: VerifyingKey) -> Self {
        self.keys.push(Keys::Fixed(key));
        self
    }

    /// Lets the keys of a set hold as well, wherever it is kept.
    #[must_use]
    pub fn with_key_set(mut self, source: KeySource, refresh: std::time::Duration) -> Self {
        let set = KeySet::new(source, refresh, self.algorithm);
        self.keys.push(Keys::Set(Box::new(set)));
        self
    }

    pub(in crate::access) async fn verify(
        &self,
        token: &str,
        now: SystemTime,
    ) -> Result<Verified, TokenError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::Invalid("the token is too long"));
        }
        let inner = if self.base64_encoded { Some(unwrapped(token)?) } else { None };
        let token = inner.as_deref().unwrap_or(token);
        let parts = Parts::split(token)?;
        let kid = self.check_header(parts.header)?;
        self.check_signature(&parts, kid.as_deref()).await?;
        let claims = object(parts.claims).ok_or(TokenError::Invalid("the claims are not JSON"))?;
        claims::check(&claims, &self.rules, now)?;
        claims::verified(claims, &self.rules)
    }

    /// The key's id. Whatever else the header asks for is not heeded: it was written by a stranger.
    fn check_header(&self, header: &str) -> Result<Option<String>, TokenError> {
        let header = object(header).ok_or(TokenError::Invalid("the header is not JSON"))?;
        let named = header.get("alg").and_then(Value::as_str);
        if named.and_then(|alg| alg.parse::<Algorithm>().ok()) != Some(self.algorithm) {
            return Err(TokenError::Invalid("the token is signed by another algorithm"));
        }
        if header.contains_key("crit") {
            return Err(TokenError::Invalid("the token asks for extensions"));
        }
        Ok(header.get("kid").and_then(Value::as_str).map(str::to_owned))
    }

    async fn check_signature(
        &self,
        parts: &Parts<'_>,
        kid: Option<&str>,
    ) -> Result<(), TokenError> {
        let holds = |key: &DecodingKey| {
            let message = parts.message.as_bytes();
            crypto::verify(parts.signature, message, key, self.algorithm).unwrap_or(false)
        };
        let mut is_unavailable = false;
        for keys in &self.keys {
            let found = match keys {
                Keys::Fixed(key) => holds(key.decoding()),
                Keys::Set(set) => match set.candidates(kid).await {
                    Some(keys) => keys.iter().any(|key| holds(key.decoding())),
                    None => {
                        is_unavailable = true;
                        false
                    }
                },
            };
            if found {
                return Ok(());
            }
        }
        match is_unavailable {
            true => Err(TokenError::Unavailable),
            false => Err(TokenError::Invalid("the signature does not hold")),
        }
    }
}

/// Whether a text is built like a token. Used as a password, such a text is checked as a token only.
pub(in crate::access) fn looks_like_token(text: &str) -> bool {
    let parts = Parts::split(text).ok();
    parts.and_then(|parts| object(parts.header)).is_some_and(|header| header.contains_key("alg"))
}

struct Parts<'a> {
    header: &'a str,
    claims: &'a str,
    signature: &'a str,
    /// What is signed: header and claims as sent.
    message: &'a str,
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Result<Self, TokenError> {
        let broken = || TokenError::Invalid("the token has not three parts");
        let (message, signature) = token.rsplit_once('.').ok_or_else(broken)?;
        let (header, claims) = message.split_once('.').ok_or_else(broken)?;
        if claims.contains('.') {
            return Err(broken());
        }
        Ok(Self { header, claims, signature, message })
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&BASE64.decode(part).ok()?).ok()
}

fn unwrapped(token: &str) -> Result<String, TokenError> {
    let bytes = BASE64.decode(token).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(TokenError::Invalid("the token is not encoded as configured"))
}
