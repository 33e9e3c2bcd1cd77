//! Tokens as an issuer signs them, and as forgers do.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

/// The shared secret of the tests' deployments.
pub(crate) const SECRET: &str = "a secret of at least 32 characters";

/// Claims of somebody, as the deployment wants them.
pub(crate) fn claims(user: &str, roles: &[&str]) -> Value {
    json!({ "sub": user, "roles": roles, "iss": "app.example", "aud": ["other", "app"] })
}

/// The same with more or other claims.
pub(crate) fn with(mut claims: Value, more: &Value) -> Value {
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    claims
}

/// Seconds since 1970, so many from now.
pub(crate) fn in_seconds(offset: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    i64::try_from(now).unwrap() + offset
}

/// Signed as it should be.
pub(crate) fn signed(claims: &Value) -> String {
    forged(claims, Algorithm::HS256, SECRET.as_bytes(), "HS256")
}

/// Signed with any key, saying any algorithm.
pub(crate) fn forged(claims: &Value, algorithm: Algorithm, key: &[u8], said: &str) -> String {
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", encode(&json!({ "alg": said, "typ": "JWT" })), encode(claims));
    let key = EncodingKey::from_secret(key).unwrap();
    format!("{message}.{}", crypto::sign(message.as_bytes(), &key, algorithm).unwrap())
}

/// `Authorization: Bearer`.
pub(crate) fn bearer(claims: &Value) -> String {
    format!("Bearer {}", signed(claims))
}

/// `Authorization: Bearer` of a user with roles.
pub(crate) fn bearer_of(user: &str, roles: &[&str]) -> String {
    bearer(&claims(user, roles))
}

/// `Authorization: Basic`.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}
