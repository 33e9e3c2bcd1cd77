//! `GET /<db>/<coll>/_streams`: what can be opened here.

use axum::{
    Json,
    extract::Request,
    response::{IntoResponse, Response},
};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::{
    error::ApiError,
    link::{collection_link, outside},
    lookup::declared,
    recover::SEGMENT,
    state::AppState,
    target::host,
};
use crate::{binding::Namespace, definition::StreamDef};

/// Lists the declared streams, their variables and their links.
pub(crate) async fn list(
    state: &AppState,
    request: Request,
    namespace: Namespace,
) -> Result<Response, ApiError> {
    let declared = declared(state, &namespace).await?;
    let (parts, _) = request.into_parts();
    let (path, host) = (parts.uri.path(), host(&parts.headers, &parts.uri));
    let link = collection_link(state, outside(&parts), path, host, &namespace);
    let base = format!("{link}/_streams");
    let streams: Vec<_> = declared.good.iter().map(|stream| describe(stream, &base)).collect();
    Ok(Json(streams).into_response())
}

fn describe(stream: &StreamDef, base: &str) -> Value {
    let variables: Vec<_> = stream
        .variables()
        .iter()
        .map(|variable| json!({ "name": variable.name, "required": variable.required }))
        .collect();
    let link = format!("{base}/{}", utf8_percent_encode(&stream.uri, SEGMENT));
    let mut described = json!({ "uri": stream.uri, "link": link, "variables": variables });
    if let Some(description) = &stream.description {
        described["description"] = Value::from(description.clone());
    }
    if !stream.warnings.is_empty() {
        described["warnings"] = json!(stream.warnings);
    }
    described
}
