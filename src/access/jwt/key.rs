use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jsonwebtoken::{Algorithm, DecodingKey};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::config::JwtAlgorithm;

/// A key that tokens are checked with.
#[derive(Clone)]
pub struct VerifyingKey {
    decoding: DecodingKey,
}

/// Why a key cannot be used. The key is not part of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the key is a shared secret, which {0} does not use")]
    Shared(JwtAlgorithm),
    #[error("the key is public, which {0} does not use")]
    Public(JwtAlgorithm),
    #[error("the key is empty")]
    Empty,
    #[error("the key is not base64")]
    Base64,
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    #[error("the key is not one for {algorithm}: {reason}")]
    Unusable { algorithm: JwtAlgorithm, reason: String },
    #[error("the key set `{0}` is no URL of http or https")]
    Source(String),
    #[error("TLS cannot be set up to fetch the key set: {0}")]
    Tls(String),
}

impl VerifyingKey {
    /// A shared secret, as bytes.
    ///
    /// # Errors
    /// [`KeyError`] for an empty one, and for an algorithm of public keys.
    pub fn shared(secret: &[u8], algorithm: JwtAlgorithm) -> Result<Self, KeyError> {
        if !algorithm.is_shared() {
            return Err(KeyError::Shared(algorithm));
        }
        if secret.is_empty() {
            return Err(KeyError::Empty);
        }
        Self::new(DecodingKey::from_secret(secret), algorithm)
    }

    /// A public key or the certificate of one: PEM, or DER in base64.
    ///
    /// # Errors
    /// [`KeyError`] when it is none, or of another kind than the algorithm.
    pub fn public(text: &str, algorithm: JwtAlgorithm) -> Result<Self, KeyError> {
        if algorithm.is_shared() {
            return Err(KeyError::Public(algorithm));
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        let pem = match text.starts_with("-----BEGIN") {
            true => of_pem(text)?,
            false => of_der(text)?,
        };
        let key = match algorithm {
            JwtAlgorithm::Es256 | JwtAlgorithm::Es384 => DecodingKey::from_ec_pem(pem.as_bytes()),
            JwtAlgorithm::EdDsa => DecodingKey::from_ed_pem(pem.as_bytes()),
            _ => DecodingKey::from_rsa_pem(pem.as_bytes()),
        };
        Self::new(key, algorithm)
    }

    fn new(
        key: Result<DecodingKey, jsonwebtoken::errors::Error>,
        algorithm: JwtAlgorithm,
    ) -> Result<Self, KeyError> {
        let unusable = |error: jsonwebtoken::errors::Error| KeyError::Unusable {
            algorithm,
            reason: error.to_string(),
        };
        key.map(|decoding| Self { decoding }).map_err(unusable)
    }

    pub(super) fn of_set(decoding: DecodingKey) -> Self {
        Self { decoding }
    }

    pub(super) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

pub(super) fn algorithm(algorithm: JwtAlgorithm) -> Algorithm {
    match algorithm {
        JwtAlgorithm::Hs256 => Algorithm::HS256,
        JwtAlgorithm::Hs384 => Algorithm::HS384,
        JwtAlgorithm::Hs512 => Algorithm::HS512,
        JwtAlgorithm::Rs256 => Algorithm::RS256,
        JwtAlgorithm::Rs384 => Algorithm::RS384,
        JwtAlgorithm::Rs512 => Algorithm::RS512,
        JwtAlgorithm::Ps256 => Algorithm::PS256,
        JwtAlgorithm::Ps384 => Algorithm::PS384,
        JwtAlgorithm::Ps512 => Algorithm::PS512,
        JwtAlgorithm::Es256 => Algorithm::ES256,
        JwtAlgorithm::Es384 => Algorithm::ES384,
        JwtAlgorithm::EdDsa => Algorithm::EdDSA,
    }
}

fn of_pem(text: &str) -> Result<String, KeyError> {
    if !text.starts_with("-----BEGIN CERTIFICATE-----") {
        return Ok(text.to_owned());
    }
    let certificate = CertificateDer::from_pem_slice(text.as_bytes());
    of_certificate(&certificate.map_err(|error| KeyError::Certificate(error.to_string()))?)
}

/// What RESTHeart is configured with is a certificate; a bare key is taken as well.
fn of_der(text: &str) -> Result<String, KeyError> {
    let one_line: String = text.split_ascii_whitespace().collect();
    let der = BASE64_STANDARD.decode(one_line).map_err(|_| KeyError::Base64)?;
    of_certificate(&CertificateDer::from(der.as_slice())).or_else(|_| Ok(pem(&der)))
}

fn of_certificate(certificate: &CertificateDer<'_>) -> Result<String, KeyError> {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    let parsed = parsed.map_err(|error| KeyError::Certificate(error.to_string()))?;
    Ok(pem(&parsed.subject_public_key_info()))
}

fn pem(der: &[u8]) -> String {
    let body = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = (0..body.len())
        .step_by(64)
        .filter_map(|start| body.get(start..body.len().min(start + 64)))
        .collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifyingKey")
    }
}
