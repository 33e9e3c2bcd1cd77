use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};

use crate::config::secret::Secret;
use crate::config::settings::Settings;

/// Bearer tokens: what is checked, and who they say is calling.
#[derive(Debug, Clone)]
pub struct JwtConfig {
    /// The one algorithm accepted.
    pub algorithm: JwtAlgorithm,
    pub key: JwtKey,
    /// One that holds as well, while one key replaces the other.
    pub second_key: Option<JwtKey>,
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
    /// A shared secret: the bytes that the text is the base64 of.
    SharedBase64(Secret),
    /// A public key or certificate: PEM, or base64 of DER. Not secret, but of no use in a log.
    Public(Secret),
    /// A key set, read again from time to time.
    KeySet { place: KeySetPlace, refresh: Duration },
}

/// Where a key set is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySetPlace {
    /// At a URL of http or https. `ca` is a file of certificates to trust in place of the machine's.
    Url {
        url: String,
        ca: Option<PathBuf>,
    },
    File(PathBuf),
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
const SECOND_KEY: &str = "auth.jwt.second_key";
const JWKS: &str = "auth.jwt.jwks";
const JWKS_FILE: &str = "auth.jwt.jwks_file";
const CA_FILE: &str = "auth.jwt.jwks_ca_file";

impl JwtConfig {
    pub(super) fn read(settings: &mut Settings) -> Option<Self> {
        if !settings.switched_on("auth.jwt") {
            return None;
        }
        let algorithm = JwtAlgorithm::read(settings);
        let encoding = settings.choice("auth.jwt.key_encoding");
        let is_base64 = encoding == "base64";
        let key = JwtKey::read(settings, algorithm, is_base64);
        let second_key = settings
            .secret(SECOND_KEY)
            .and_then(|key| JwtKey::fixed(settings, SECOND_KEY, algorithm, is_base64, key));
        let jwt = Self {
            algorithm,
            issuer: settings.optional_text("auth.jwt.issuer"),
            audience: audience(settings),
            username_claim: settings.text("auth.jwt.username_claim"),
            roles_claim: settings.optional_text("auth.jwt.roles_claim"),
            fixed_roles: settings.list("auth.jwt.fixed_roles"),
            base64_encoded: settings.flag("auth.jwt.base64_encoded"),
            second_key,
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
    fn read(settings: &mut Settings, algorithm: JwtAlgorithm, is_base64: bool) -> Option<Self> {
        let key = settings.secret(KEY);
        let place = KeySetPlace::read(settings);
        let refresh = settings.duration("auth.jwt.jwks_refresh");
        match (key, place) {
            (Some(_), Some(_)) => {
                let set = if settings.is_set(JWKS) { JWKS } else { JWKS_FILE };
                settings.refuse_set(set, "and auth.jwt.key are both set; keep one of them");
                None
            }
            (None, None) => {
                // One that is set but cannot be read has been reported already.
                let names = [KEY, "auth.jwt.key_file", JWKS, JWKS_FILE];
                if !names.iter().any(|name| settings.is_set(name)) {
                    let reason = "needs auth.jwt.key, auth.jwt.key_file, auth.jwt.jwks or auth.jwt.jwks_file";
                    settings.refuse_set("auth.jwt", reason);
                }
                None
            }
            (None, Some(place)) => Some(Self::set(settings, algorithm, place, refresh)),
            (Some(key), None) => Self::fixed(settings, KEY, algorithm, is_base64, key),
        }
    }

    fn set(
        settings: &mut Settings,
        algorithm: JwtAlgorithm,
        place: KeySetPlace,
        refresh: Duration,
    ) -> Self {
        if algorithm.is_shared() {
            let name = if settings.is_set(JWKS) { JWKS } else { JWKS_FILE };
            let reason = format!(
                "holds public keys, but auth.jwt.algorithm is {algorithm}; name one like RS256 or ES256"
            );
            settings.refuse_set(name, reason);
        }
        Self::KeySet { place, refresh }
    }

    /// A key that stands in the configuration, under `name`.
    fn fixed(
        settings: &mut Settings,
        name: &str,
        algorithm: JwtAlgorithm,
        is_base64: bool,
        key: Secret,
    ) -> Option<Self> {
        match (algorithm.is_shared(), is_base64) {
            (true, true) => Self::shared_base64(settings, name, key),
            (true, false) => Some(Self::shared(settings, name, key)),
            (false, _) => Some(Self::public(settings, name, algorithm, key)),
        }
    }

    fn shared(settings: &mut Settings, name: &str, key: Secret) -> Self {
        if key.expose().contains("-----BEGIN") {
            let reason =
                "is a PEM, which is no shared secret; name an algorithm like RS256 or ES256";
            refuse_key(settings, name, reason);
        } else {
            warn_of_length(settings, name, key.expose().len());
        }
        Self::Shared(key)
    }

    fn shared_base64(settings: &mut Settings, name: &str, key: Secret) -> Option<Self> {
        let Some(bytes) = decoded(key.expose()) else {
            refuse_key(settings, name, "is not base64, as auth.jwt.key_encoding says it is");
            return None;
        };
        warn_of_length(settings, name, bytes.len());
        Some(Self::SharedBase64(key))
    }

    fn public(settings: &mut Settings, name: &str, algorithm: JwtAlgorithm, key: Secret) -> Self {
        let text = key.expose().trim();
        if text.contains("PRIVATE KEY-----") {
            let reason = "is a private key; give the public key or the certificate";
            refuse_key(settings, name, reason);
        } else if !is_pem(text) && !is_der(text) {
            let reason = format!(
                "does not fit {algorithm}; give a public key or certificate, as PEM or as base64 of DER"
            );
            refuse_key(settings, name, reason);
        }
        Self::Public(key)
    }

    /// The bytes of a shared secret; `None` for every other key.
    pub fn secret(&self) -> Option<Vec<u8>> {
        match self {
            Self::Shared(secret) => Some(secret.expose().as_bytes().to_vec()),
            Self::SharedBase64(secret) => decoded(secret.expose()),
            Self::Public(_) | Self::KeySet { .. } => None,
        }
    }
}

impl KeySetPlace {
    fn read(settings: &mut Settings) -> Option<Self> {
        let (url, file) = (settings.optional_text(JWKS), settings.path(JWKS_FILE));
        let ca = settings.path(CA_FILE);
        if ca.is_some() && !url.as_ref().is_some_and(|url| url.starts_with("https://")) {
            settings.refuse_set(CA_FILE, "is only for an auth.jwt.jwks that starts with https://");
        }
        let Some(url) = url else { return file.map(Self::File) };
        if let Some(host) = url.strip_prefix("http://") {
            settings.warn(format!("{JWKS} reads keys from {host} without TLS"));
        } else if !url.starts_with("https://") {
            let reason =
                format!("is `{url}`; it must start with https://, or be a file under {JWKS_FILE}");
            settings.refuse_set(JWKS, reason);
        }
        Some(Self::Url { url, ca })
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

fn refuse_key(settings: &mut Settings, name: &str, reason: impl Into<String>) {
    let file = format!("{name}_file");
    let is_file = settings.is_set(&file);
    settings.refuse_set(if is_file { &file } else { name }, reason);
}

fn warn_of_length(settings: &mut Settings, name: &str, bytes: usize) {
    if bytes < 32 {
        settings.warn(format!("{name} is shorter than 32 bytes and may be guessed"));
    }
}

/// Base64 of either alphabet, padded or not, that is not empty.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let standard = text.trim().trim_end_matches('=').replace('-', "+").replace('_', "/");
    BASE64_STANDARD_NO_PAD.decode(standard).ok().filter(|bytes| !bytes.is_empty())
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
