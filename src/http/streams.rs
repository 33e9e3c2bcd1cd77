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
use crate::{access::Caller, binding::Namespace, definition::StreamDef};

/// Lists the declared streams that the caller may open, their variables and their links.
pub(crate) async fn list(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    caller: &Caller,
) -> Result<Response, ApiError> {
    let declared = declared(state, &namespace).await?;
    let (parts, _) = request.into_parts();
    let (path, host) = (parts.uri.path(), host(&parts.headers, &parts.uri));
    let link = collection_link(state, outside(&parts), path, host, &namespace);
    let base = format!("{link}/_streams");
    let streams = declared.good.iter().filter(|stream| {
        let stream = utf8_percent_encode(&stream.uri, SEGMENT);
        state.may_open(&parts, caller, &format!("{}/{stream}", path.trim_end_matches('/')))
    });
    let streams: Vec<_> = streams.map(|stream| describe(stream, &base)).collect();
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
