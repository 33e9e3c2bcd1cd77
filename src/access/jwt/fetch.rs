use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::key::KeyError;
use crate::config::KeySetPlace;

/// Where a key set is kept.
pub struct KeySource(Place);

enum Place {
    File(PathBuf),
    Url { uri: Uri, client: Box<HttpsClient> },
}

/// A client of http and https.
pub(crate) type HttpsClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// Why a key set cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{uri}: {reason}")]
    Http { uri: Uri, reason: String },
    #[error("{uri}: status {status}")]
    Status { uri: Uri, status: StatusCode },
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 1024 * 1024;

impl KeySource {
    /// A URL of http or https, or a file.
    ///
    /// # Errors
    /// [`KeyError::Source`] for any other URL, [`KeyError::Tls`] for certificates that cannot be used.
    pub fn new(place: &KeySetPlace) -> Result<Self, KeyError> {
        let (url, ca) = match place {
            KeySetPlace::File(path) => return Ok(Self(Place::File(path.clone()))),
            KeySetPlace::Url { url, ca } => (url, ca.as_deref()),
        };
        let refused = || KeyError::Source(url.clone());
        let uri: Uri = url.parse().map_err(|_| refused())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(refused());
        }
        let connector = https_connector(ca).map_err(|error| KeyError::Tls(error.to_string()))?;
        let client = Box::new(Client::builder(TokioExecutor::new()).build(connector));
        Ok(Self(Place::Url { uri, client }))
    }

    /// Reads the set. Redirects are not followed: a set comes from where it is said to be.
    pub(super) async fn fetch(&self) -> Result<String, FetchError> {
        let reading = async {
            match &self.0 {
                Place::File(path) => tokio::fs::read_to_string(path)
                    .await
                    .map_err(|source| FetchError::File { path: path.clone(), source }),
                Place::Url { uri, client } => get(uri, client).await,
            }
        };
        tokio::time::timeout(TIMEOUT, reading).await.unwrap_or(Err(FetchError::Timeout(TIMEOUT)))
    }
}

async fn get(uri: &Uri, client: &HttpsClient) -> Result<String, FetchError> {
    let failed = |reason: String| FetchError::Http { uri: uri.clone(), reason };
    let answer = client.get(uri.clone()).await.map_err(|error| failed(error.to_string()))?;
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status { uri: uri.clone(), status: answer.status() });
    }
    let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
    let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
    String::from_utf8(body.into()).map_err(|_| failed("not UTF-8".to_owned()))
}

/// Trusts the certificates of a file if one is named, else those of the machine, which hold those of a
/// company; without any, Mozilla's.
pub(crate) fn https_connector(ca: Option<&Path>) -> std::io::Result<HttpsConnector<HttpConnector>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    if let Some(path) = ca {
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(std::io::Error::other)?
            .with_root_certificates(roots(path)?)
            .with_no_client_auth();
        let builder = HttpsConnectorBuilder::new().with_tls_config(config);
        return Ok(builder.https_only().enable_http1().build());
    }
    let native = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider.clone());
    let roots = native.or_else(|error| {
        tracing::warn!(%error, "this machine has no certificates; using the built-in ones");
        let mozilla = HttpsConnectorBuilder::new().with_provider_and_webpki_roots(provider);
        mozilla.map_err(std::io::Error::other)
    })?;
    Ok(roots.https_or_http().enable_http1().build())
}

/// The certificates of a PEM file; one at least.
fn roots(path: &Path) -> std::io::Result<RootCertStore> {
    let unusable = |reason: String| {
        std::io::Error::other(format!("{} cannot be used: {reason}", path.display()))
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path);
    for certificate in certificates.map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("it holds no certificate".to_owned())) } else { Ok(roots) }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(path) => write!(f, "KeySource({})", path.display()),
            Place::Url { uri, .. } => write!(f, "KeySource({uri})"),
        }
    }
}
