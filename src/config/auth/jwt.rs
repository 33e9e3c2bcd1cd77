use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::config::secret::Secret;
use crate::config::settings::Settings;

/// Bearer tokens: what is checked, and who they say is calling.
#[derive(Debug, Clone)]
pub struct JwtConfig {
    /// The one algorithm accepted.
    pub algorithm: JwtAlgorithm,
    pub key: JwtKey,
    /// Required `iss`; `None` checks none.
    pub issuer: Option<String>,
    /// Names of which `aud` must hold one; empty checks none.
    pub audience: Vec<String>,
    pub username_claim: String,
    /// Claim that is the list of roles; `None` reads none.
    pub roles_claim: Option<String>,
    /// Roles that every token gets besides.
    pub fixed_roles: Vec<String>,
    /// Whether the whole token is base64url-encoded once more.
    pub base64_encoded: bool,
}

/// What signatures are checked with.
#[derive(Debug, Clone)]
pub enum JwtKey {
    /// A shared secret: the bytes of the text as written.
    Shared(Secret),
    /// A public key or certificate: PEM, or base64 of DER. Not secret, but of no use in a log.
    Public(Secret),
    /// A key set fetched from a URL.
    Jwks { url: String, refresh: Duration },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtAlgorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

const KEY: &str = "auth.jwt.key";
const JWKS: &str = "auth.jwt.jwks";

impl JwtConfig {
    pub(super) fn read(settings: &mut Settings) -> Option<Self> {
        if !settings.switched_on("auth.jwt") {
            return None;
        }
        let algorithm = JwtAlgorithm::read(settings);
        let key = JwtKey::read(settings, algorithm);
        let jwt = Self {
            algorithm,
            issuer: settings.optional_text("auth.jwt.issuer"),
            audience: audience(settings),
            username_claim: settings.text("auth.jwt.username_claim"),
            roles_claim: settings.optional_text("auth.jwt.roles_claim"),
            fixed_roles: settings.list("auth.jwt.fixed_roles"),
            base64_encoded: settings.flag("auth.jwt.base64_encoded"),
            key: key?,
        };
        if jwt.roles_claim.is_none() && jwt.fixed_roles.is_empty() {
            let reason =
                "is null and there are no auth.jwt.fixed_roles: no caller would have a role";
            settings.refuse_set("auth.jwt.roles_claim", reason);
        }
        Some(jwt)
    }
}

impl JwtKey {
    /// Key and algorithm must be of one kind: a public key taken for a shared secret would let
    /// anybody sign tokens.
    fn read(settings: &mut Settings, algorithm: JwtAlgorithm) -> Option<Self> {
        let key = settings.secret(KEY);
        let url = settings.optional_text(JWKS);
        let refresh = settings.duration("auth.jwt.jwks_refresh");
        match (key, url) {
            (Some(_), Some(_)) => {
                settings.refuse_set(JWKS, "and auth.jwt.key are both set; keep one of them");
                None
            }
            (None, None) => {
                // One that is set but cannot be read has been reported already.
                if ![KEY, "auth.jwt.key_file", JWKS].iter().any(|name| settings.is_set(name)) {
                    let reason = "needs auth.jwt.key, auth.jwt.key_file or auth.jwt.jwks";
                    settings.refuse_set("auth.jwt", reason);
                }
                None
            }
            (None, Some(url)) => Self::jwks(settings, algorithm, url, refresh),
            (Some(key), None) if algorithm.is_shared() => Self::shared(settings, key),
            (Some(key), None) => Self::public(settings, algorithm, key),
        }
    }

    fn jwks(
        settings: &mut Settings,
        algorithm: JwtAlgorithm,
        url: String,
        refresh: Duration,
    ) -> Option<Self> {
        if algorithm.is_shared() {
            let reason = format!(
                "holds public keys, but auth.jwt.algorithm is {algorithm}; name one like RS256 or ES256"
            );
            settings.refuse_set(JWKS, reason);
        }
        if let Some(host) = url.strip_prefix("http://") {
            settings.warn(format!("{JWKS} reads keys from {host} without TLS"));
        } else if !url.starts_with("https://") {
            settings.refuse_set(JWKS, format!("is `{url}`; it must start with https://"));
        }
        Some(Self::Jwks { url, refresh })
    }

    fn shared(settings: &mut Settings, key: Secret) -> Option<Self> {
        if key.expose().contains("-----BEGIN") {
            let reason =
                "is a PEM, which is no shared secret; name an algorithm like RS256 or ES256";
            refuse_key(settings, reason);
        } else if key.expose().len() < 32 {
            settings.warn(format!("{KEY} is shorter than 32 bytes and may be guessed"));
        }
        Some(Self::Shared(key))
    }

    fn public(settings: &mut Settings, algorithm: JwtAlgorithm, key: Secret) -> Option<Self> {
        let text = key.expose().trim();
        if text.contains("PRIVATE KEY-----") {
            refuse_key(settings, "is a private key; give the public key or the certificate");
        } else if !is_pem(text) && !is_der(text) {
            let reason = format!(
                "does not fit {algorithm}; give a public key or certificate, as PEM or as base64 of DER"
            );
            refuse_key(settings, reason);
        }
        Some(Self::Public(key))
    }
}

impl JwtAlgorithm {
    /// Whether signing and checking use the same key.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Hs256 | Self::Hs384 | Self::Hs512)
    }

    fn read(settings: &mut Settings) -> Self {
        match settings.choice("auth.jwt.algorithm").as_str() {
            "HS384" | "HMAC384" => Self::Hs384,
            "HS512" | "HMAC512" => Self::Hs512,
            "RS256" | "RSA256" => Self::Rs256,
            "RS384" | "RSA384" => Self::Rs384,
            "RS512" | "RSA512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" => Self::EdDsa,
            _ => Self::Hs256,
        }
    }
}

/// The name in the header of a token.
impl fmt::Display for JwtAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EdDsa => f.write_str("EdDSA"),
            other => f.write_str(&format!("{other:?}").to_ascii_uppercase()),
        }
    }
}

fn refuse_key(settings: &mut Settings, reason: impl Into<String>) {
    let file = settings.is_set("auth.jwt.key_file");
    settings.refuse_set(if file { "auth.jwt.key_file" } else { KEY }, reason);
}

fn is_pem(text: &str) -> bool {
    let kinds = ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"];
    kinds.iter().any(|kind| text.starts_with(&format!("-----BEGIN {kind}-----")))
}

/// Keys and certificates are DER sequences.
fn is_der(text: &str) -> bool {
    let one_line: String = text.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(one_line).is_ok_and(|der| der.first() == Some(&0x30))
}

/// Absent and `null` check none, but a list without names would let nobody in or everybody.
fn audience(settings: &mut Settings) -> Vec<String> {
    const NAME: &str = "auth.jwt.audience";
    let audience = settings.list(NAME);
    if audience.is_empty() && settings.is_set(NAME) {
        settings.refuse_set(NAME, "is an empty list; name an audience or say null to check none");
    }
    audience
}
