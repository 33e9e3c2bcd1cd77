//! A running service, as commands reach it.

use std::sync::Arc;

use anyhow::{Context, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, Response, StatusCode, Uri, body::Incoming, header, http::request::Builder};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

use crate::{
    access::jwt::{HttpsClient, https_connector},
    config::{Config, Secret},
};

/// The largest answer that is no stream, bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Where the service is, and who asks.
#[derive(Debug, Args)]
pub(super) struct ServiceArgs {
    /// Address of the service [default: http:// and the configured `listen`]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Log in with a password
    #[arg(
        long,
        value_name = "NAME:PASSWORD",
        env = "TAILWATER_LOGIN",
        hide_env_values = true,
        conflicts_with = "token"
    )]
    login: Option<Secret>,
    /// Log in with a bearer token
    #[arg(long, value_name = "TOKEN", env = "TAILWATER_TOKEN", hide_env_values = true)]
    token: Option<Secret>,
}

/// A client of the service.
#[derive(Debug, Clone)]
pub(super) struct Service {
    base: String,
    authorization: Option<Secret>,
    client: Arc<HttpsClient>,
}

impl Service {
    pub(super) fn new(args: &ServiceArgs, config: &Config) -> anyhow::Result<Self> {
        let configured = || format!("http://{}", config.listen.address);
        let base = args.url.clone().unwrap_or_else(configured);
        let uri: Uri = base.parse().with_context(|| format!("`{base}` is no URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            bail!("`{base}` is no address of a service; write http://host:port");
        }
        let connector = https_connector(None).context("no HTTPS on this machine")?;
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            authorization: authorization(args),
            client: Arc::new(Client::builder(TokioExecutor::new()).build(connector)),
        })
    }

    /// Sends a GET. What is no `200` is for the caller to judge.
    pub(super) async fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> anyhow::Result<Response<Incoming>> {
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut request: Builder = Request::get(format!("{}{slash}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization.expose());
        }
        let request = request.body(Empty::<Bytes>::new());
        let request = request.with_context(|| format!("`{path}` is no path"))?;
        let answer = self.client.request(request).await;
        answer.with_context(|| format!("{} does not answer; is it running there?", self.base))
    }
}

fn authorization(args: &ServiceArgs) -> Option<Secret> {
    let basic =
        args.login.as_ref().map(|login| format!("Basic {}", STANDARD.encode(login.expose())));
    let bearer = args.token.as_ref().map(|token| format!("Bearer {}", token.expose()));
    basic.or(bearer).map(Secret::new)
}

/// What an answer other than `200` says.
pub(super) async fn refusal(answer: Response<Incoming>) -> String {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    match (body.get("message").and_then(|message| message.as_str()), status) {
        (Some(message), _) => format!("{status}: {message}"),
        (None, StatusCode::UNAUTHORIZED) => format!("{status}: log in with --login or --token"),
        (None, _) => status.to_string(),
    }
}
