use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::key::KeyError;

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
    /// A URL of http or https, or the path of a file, which may be written as `file:` too.
    ///
    /// # Errors
    /// [`KeyError::Source`] for any other URL.
    pub fn new(place: &str) -> Result<Self, KeyError> {
        let refused = || KeyError::Source(place.to_owned());
        if let Some(path) = place.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Self(Place::File(PathBuf::from(path))));
        }
        if !place.contains("://") {
            return Ok(Self(Place::File(PathBuf::from(place))));
        }
        let uri: Uri = place.parse().map_err(|_| refused())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(refused());
        }
        let connector = https_connector().map_err(|error| KeyError::Tls(error.to_string()))?;
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

/// Trusts the certificates of the machine, which hold those of a company; without any, Mozilla's.
pub(crate) fn https_connector() -> std::io::Result<HttpsConnector<HttpConnector>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let native = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider.clone());
    let roots = native.or_else(|error| {
        tracing::warn!(%error, "this machine has no certificates; using the built-in ones");
        let mozilla = HttpsConnectorBuilder::new().with_provider_and_webpki_roots(provider);
        mozilla.map_err(std::io::Error::other)
    })?;
    Ok(roots.https_or_http().enable_http1().build())
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(path) => write!(f, "KeySource({})", path.display()),
            Place::Url { uri, .. } => write!(f, "KeySource({uri})"),
        }
    }
}
