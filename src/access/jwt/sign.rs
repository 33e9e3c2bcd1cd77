use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, crypto};
use serde_json::{Value, json};

use super::key::algorithm;
use crate::config::JwtConfig;

/// Why no token can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error(
        "auth.jwt checks tokens with a public key; only the holder of the private key can make one"
    )]
    NoPrivateKey,
    #[error("auth.jwt.roles_claim is null, so that a token cannot carry roles")]
    NoRolesClaim,
    #[error("the user name is empty")]
    NoUser,
    #[error("the token cannot be signed: {0}")]
    Signing(String),
}

/// Makes a token that this configuration accepts: for scripts and for trying things out.
///
/// # Errors
/// [`SignError`] when the configuration has no key to sign with, or no place for the roles.
pub fn sign_token(
    config: &JwtConfig,
    user: &str,
    roles: &[String],
    ttl: Duration,
    now: SystemTime,
) -> Result<String, SignError> {
    let secret = config.key.secret().ok_or(SignError::NoPrivateKey)?;
    if user.is_empty() {
        return Err(SignError::NoUser);
    }
    let header = json!({ "typ": "JWT", "alg": config.algorithm.to_string() });
    let claims = claims(config, user, roles, ttl, now)?;
    let encode = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", encode(&header), encode(&claims));
    let failed = |error: jsonwebtoken::errors::Error| SignError::Signing(error.to_string());
    let key = EncodingKey::from_secret(&secret).map_err(failed)?;
    let signature = crypto::sign(message.as_bytes(), &key, algorithm(config.algorithm));
    let token = format!("{message}.{}", signature.map_err(failed)?);
    Ok(match config.base64_encoded {
        true => BASE64_URL_SAFE_NO_PAD.encode(token),
        false => token,
    })
}

fn claims(
    config: &JwtConfig,
    user: &str,
    roles: &[String],
    ttl: Duration,
    now: SystemTime,
) -> Result<Value, SignError> {
    let issued = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let id: u128 = rand::random();
    let mut claims = json!({
        "sub": user,
        "iat": issued.as_secs(),
        "exp": issued.saturating_add(ttl).as_secs(),
        "jti": format!("{id:032x}"),
    });
    claims[config.username_claim.as_str()] = json!(user);
    match &config.roles_claim {
        Some(claim) => claims[claim.as_str()] = json!(roles),
        None if roles.is_empty() => {}
        None => return Err(SignError::NoRolesClaim),
    }
    if let Some(issuer) = &config.issuer {
        claims["iss"] = json!(issuer);
    }
    if let Some(audience) = config.audience.first() {
        claims["aud"] = json!(audience);
    }
    Ok(claims)
}
