//! The one place where errors become HTTP.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    backoff::jitter,
    binding::PlanError,
    catalog::{CatalogError, WriteError},
    definition::{BindError, DefinitionError, VariableError},
    hub::SubscribeError,
    json::{JsonMode, error_body},
    source::Fault,
    telemetry::Cap,
};

/// Why a request is not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// 400
    #[error("{0}")]
    BadRequest(String),
    /// 401, with the challenges to send. Tells a stranger nothing.
    #[error("unauthorized")]
    Unauthorized(Vec<String>),
    /// 403, without a word.
    #[error("forbidden")]
    Denied,
    /// 429
    #[error("too many failed attempts")]
    TooManyAttempts(Duration),
    /// 503 or 429: one connection, or refused request, too many.
    #[error("{}", too_many(*.0))]
    Capped(Cap),
    /// 403, with a reason that concerns the request alone.
    #[error("{0}")]
    Forbidden(String),
    /// 404
    #[error("{0}")]
    NotFound(String),
    /// 404: outside every mount.
    #[error("no database is mounted at this path")]
    NoMount,
    /// 405, with what is allowed; empty where the router says it.
    #[error("method {0} not allowed")]
    MethodNotAllowed(String, &'static str),
    /// 409 or 412, with the current tag.
    #[error("{message}")]
    Tag { status: StatusCode, message: String, current: Option<String> },
    /// 413
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// 415
    #[error("send the body as application/json")]
    MediaType,
    /// 422: a declaration that cannot work.
    #[error("{0}")]
    Unprocessable(String),
    /// 426: the upgrade is not one that this server speaks.
    #[error("{0}")]
    UpgradeRequired(String),
    /// 500: stored metadata that RESTHeart fails on; only where its rules hold.
    #[error("{0}")]
    Broken(String),
    /// 503: the server's own state.
    #[error("{0}")]
    Unavailable(String),
}

/// What clients are told to wait before they try again, before jitter.
const RETRY_AFTER: Duration = Duration::from_secs(4);

/// Most characters of a path that an answer repeats.
const MAX_ECHO: usize = 300;

impl ApiError {
    /// The status that says it.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Denied | Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::TooManyAttempts(_)
            | Self::Capped(Cap::Principal | Cap::Address | Cap::Refusals) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::NotFound(_) | Self::NoMount => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(..) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Tag { status, .. } => *status,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UpgradeRequired(_) => StatusCode::UPGRADE_REQUIRED,
            Self::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable(_) | Self::Capped(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The same, said of one of several streams. Its path is the client's own word.
    #[must_use]
    pub(crate) fn about(self, path: &str) -> Self {
        let path: String = path.chars().take(MAX_ECHO).collect();
        let about = |message: String| format!("{path}: {message}");
        match self {
            Self::BadRequest(message) => Self::BadRequest(about(message)),
            Self::Denied => Self::Forbidden(about("forbidden".to_owned())),
            Self::Forbidden(message) => Self::Forbidden(about(message)),
            Self::NotFound(message) => Self::NotFound(about(message)),
            Self::NoMount => Self::NotFound(about(Self::NoMount.to_string())),
            Self::Unprocessable(message) => Self::Unprocessable(about(message)),
            Self::Broken(message) => Self::Broken(about(message)),
            Self::Unavailable(message) => Self::Unavailable(about(message)),
            other => other,
        }
    }

    fn add_headers(&self, response: &mut Response) {
        let headers = response.headers_mut();
        match self {
            Self::MethodNotAllowed(_, allowed) if !allowed.is_empty() => {
                headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
            }
            Self::Tag { current: Some(tag), .. } => {
                if let Ok(tag) = HeaderValue::from_str(tag) {
                    headers.insert(header::ETAG, tag);
                }
            }
            Self::UpgradeRequired(_) => {
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            Self::Unauthorized(challenges) => {
                for challenge in challenges.iter().filter_map(|text| text.parse().ok()) {
                    headers.append(header::WWW_AUTHENTICATE, challenge);
                }
            }
            Self::TooManyAttempts(wait) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
            }
            Self::Unavailable(_) | Self::Capped(_) => {
                let wait = jitter(RETRY_AFTER, 0.5, 2.0).as_secs().max(1);
                headers.insert(header::RETRY_AFTER, HeaderValue::from(wait));
            }
            _ => {}
        }
    }
}

fn too_many(cap: Cap) -> &'static str {
    match cap {
        Cap::Principal => "too many open streams of one principal (limits.per_principal)",
        Cap::Address => "too many open connections of one address (limits.per_address)",
        Cap::Refusals => "too many refused requests of one caller (limits.refusals)",
        Cap::Connections | Cap::Cursors | Cap::OwnCursors => {
            "the service has as many open connections as it may (limits.connections)"
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        if matches!(self, Self::Unauthorized(_) | Self::Denied) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            self.add_headers(&mut response);
            return response;
        }
        let description = status.canonical_reason().unwrap_or_default();
        let body = error_body(status.as_u16(), description, &self.to_string(), JsonMode::Default);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let json = HeaderValue::from_static("application/json; charset=UTF-8");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        self.add_headers(&mut response);
        response
    }
}

impl From<VariableError> for ApiError {
    fn from(error: VariableError) -> Self {
        Self::BadRequest(error.to_string())
    }
}

impl From<BindError> for ApiError {
    fn from(error: BindError) -> Self {
        match error {
            BindError::Forbidden(violation) => Self::Forbidden(violation.to_string()),
            other => Self::BadRequest(other.to_string()),
        }
    }
}

impl From<PlanError> for ApiError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Bind(error) => error.into(),
            PlanError::Scope(_) | PlanError::Hidden(_) => Self::Forbidden(error.to_string()),
        }
    }
}

impl From<DefinitionError> for ApiError {
    fn from(error: DefinitionError) -> Self {
        if let Some(violation) = &error.violation {
            return Self::Forbidden(violation.to_string());
        }
        Self::Unprocessable(format!("the stream's definition is invalid: {error}"))
    }
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        if let CatalogError::Unavailable(cause) = &error {
            tracing::debug!(%cause, "MongoDB did not answer a question about metadata");
        }
        Self::Unavailable(error.to_string())
    }
}

impl From<WriteError> for ApiError {
    fn from(error: WriteError) -> Self {
        let message = error.to_string();
        match error {
            WriteError::TagRequired(current) => {
                Self::Tag { status: StatusCode::CONFLICT, message, current }
            }
            WriteError::TagMismatch(current) => {
                Self::Tag { status: StatusCode::PRECONDITION_FAILED, message, current }
            }
            WriteError::Refused(_) => Self::BadRequest(message),
            WriteError::Conflict => Self::Unavailable(message),
            WriteError::Catalog(error) => error.into(),
        }
    }
}

impl From<SubscribeError> for ApiError {
    fn from(error: SubscribeError) -> Self {
        let message = error.to_string();
        let SubscribeError::Source(source) = error else { return Self::Unavailable(message) };
        match source.fault {
            Fault::Rejected | Fault::Fence => {
                Self::BadRequest(format!("MongoDB refuses the stream: {message}"))
            }
            Fault::Unwatchable => Self::Unprocessable(message),
            Fault::Transient | Fault::Lost | Fault::Privilege | Fault::Topology => {
                Self::Unavailable(message)
            }
        }
    }
}
