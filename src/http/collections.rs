//! Metadata over HTTP: declaring streams, as scripts written for RESTHeart do it.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use bson::{Bson, Document};
use http_body_util::{BodyExt, Limited};

use super::{error::ApiError, lookup::require, request::Query, state::AppState};
use crate::{
    binding::Namespace,
    catalog::{Precondition, Written, write::tag_of},
    change::Dialect,
    definition::StreamDefs,
    json::{self, JsonMode},
};

/// `PUT /<db>`
pub(crate) async fn put_database(
    state: &AppState,
    request: Request,
    db: String,
) -> Result<Response, ApiError> {
    let (parts, body) = read(state, request).await?;
    let written = state.0.catalog.replace_database(&db, body, &precondition(&parts)?).await?;
    Ok(answer(&written))
}

/// `PUT /<db>/<coll>`
pub(crate) async fn put(
    state: &AppState,
    request: Request,
    namespace: Namespace,
) -> Result<Response, ApiError> {
    let (parts, body) = read(state, request).await?;
    if let Some(operator) = body.keys().find(|key| key.starts_with('$') && *key != "$currentDate") {
        let message = format!("update operator {operator} cannot be used in a PUT; use PATCH");
        return Err(ApiError::BadRequest(message));
    }
    let properties = expand(body)?;
    validate(state, properties.get("streams"))?;
    let written =
        state.0.catalog.replace_properties(&namespace, properties, &precondition(&parts)?).await?;
    Ok(answer(&written))
}

/// `PATCH /<db>/<coll>`
pub(crate) async fn patch(
    state: &AppState,
    request: Request,
    namespace: Namespace,
) -> Result<Response, ApiError> {
    let (parts, body) = read(state, request).await?;
    if body.is_empty() {
        return Err(ApiError::BadRequest("no data provided".to_owned()));
    }
    if namespace.coll.starts_with('_') {
        return Err(ApiError::BadRequest(
            "collections starting with _ cannot be patched".to_owned(),
        ));
    }
    require(state, &namespace).await?;
    let update = operators(body)?;
    let check = |after: &Document| validate(state, after.get("streams"));
    let precondition = precondition(&parts)?;
    let written =
        state.0.catalog.update_properties(&namespace, update, &precondition, check).await??;
    Ok(answer(&Written { created: false, ..written }))
}

/// `GET /<db>/<coll>/_meta`
pub(crate) async fn meta(
    state: &AppState,
    request: Request,
    namespace: Namespace,
) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    let mode = Query::parse(&parts.uri)?.json_mode()?;
    let Some(mut properties) = state.0.catalog.properties(&namespace).await? else {
        require(state, &namespace).await?;
        let message = "resource _meta is not defined for this collection.";
        return Err(ApiError::NotFound(message.to_owned()));
    };
    let tag = tag_of(&properties);
    let known = parts.headers.get(header::IF_NONE_MATCH).map(unquoted);
    if known.is_some() && known == tag {
        return Ok(tagged(StatusCode::NOT_MODIFIED, tag.as_deref(), Body::empty()));
    }
    properties.insert("_id", "_meta");
    let mut response =
        tagged(StatusCode::OK, tag.as_deref(), Body::from(render(&properties, mode)?));
    let json = HeaderValue::from_static("application/json; charset=UTF-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

/// BSON as JSON text.
pub(crate) fn render(document: &Document, mode: JsonMode) -> Result<Vec<u8>, ApiError> {
    let unreadable = |_| ApiError::Unprocessable("the stored document is malformed".to_owned());
    let raw = bson::RawDocumentBuf::try_from(document)
        .map_err(|_| ApiError::Unprocessable("the stored document is malformed".to_owned()))?;
    let mut out = Vec::new();
    json::write_document(&raw, mode, &mut out).map_err(unreadable)?;
    Ok(out)
}

async fn read(state: &AppState, request: Request) -> Result<(Parts, Document), ApiError> {
    let (parts, body) = request.into_parts();
    require_json(&parts.headers)?;
    let limit = state.0.request_body;
    let body = Limited::new(body, limit).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            ApiError::TooLarge(limit)
        } else {
            ApiError::BadRequest("the body ended early".to_owned())
        }
    })?;
    let bytes = body.to_bytes();
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| ApiError::BadRequest("the body is not valid UTF-8".to_owned()))?;
    if text.trim().is_empty() {
        return Ok((parts, Document::new()));
    }
    let document =
        json::parse_document(text, json::Limits { bytes: limit, ..json::Limits::default() });
    let document =
        document.map_err(|error| ApiError::BadRequest(format!("invalid JSON: {error}")))?;
    check_paths(&document)?;
    Ok((parts, document))
}

/// More components than a document of MongoDB has levels.
const MAX_COMPONENTS: usize = 100;

/// Paths are followed recursively, here and in MongoDB, so their length is bounded first.
fn check_paths(body: &Document) -> Result<(), ApiError> {
    let operators = body.iter().filter(|(key, _)| key.starts_with('$'));
    let operands = operators.filter_map(|(_, value)| value.as_document());
    let mut paths = body.keys().chain(operands.flat_map(Document::keys));
    if paths.any(|path| path.split('.').count() > MAX_COMPONENTS) {
        let message = format!("a key has more than {MAX_COMPONENTS} components");
        return Err(ApiError::BadRequest(message));
    }
    Ok(())
}

/// A body needs no type; when it names one, it has to be JSON.
fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let media = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let fits = media.eq_ignore_ascii_case("application/json")
        || media.to_ascii_lowercase().ends_with("+json")
        // curl's default for -d.
        || media.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if fits { Ok(()) } else { Err(ApiError::MediaType) }
}

/// Refuses declarations that cannot work, each with its reason. RESTHeart stores them as they are.
fn validate(state: &AppState, streams: Option<&Bson>) -> Result<(), ApiError> {
    let Some(streams) = streams.filter(|_| state.0.dialect == Dialect::Tailwater) else {
        return Ok(());
    };
    let declared = StreamDefs::parse(streams);
    if declared.bad.is_empty() {
        return Ok(());
    }
    let reasons: Vec<_> = declared.bad.iter().map(|bad| bad.error.to_string()).collect();
    Err(ApiError::Unprocessable(format!("invalid streams: {}", reasons.join("; "))))
}

/// Top-level keys with dots become nested documents, as a PUT of RESTHeart has it.
fn expand(body: Document) -> Result<Document, ApiError> {
    let mut expanded = Document::new();
    for (key, value) in body {
        insert(&mut expanded, &key, value)?;
    }
    Ok(expanded)
}

fn insert(into: &mut Document, key: &str, value: Bson) -> Result<(), ApiError> {
    let Some((first, rest)) = key.split_once('.') else {
        into.insert(key, value);
        return Ok(());
    };
    let inner = into.entry(first.to_owned()).or_insert_with(|| Document::new().into());
    match inner {
        Bson::Document(inner) => insert(inner, rest, value),
        _ => Err(ApiError::BadRequest(format!("key {key} collides with another one"))),
    }
}

/// What is not an operator is set; operators pass.
fn operators(body: Document) -> Result<Document, ApiError> {
    let mut update = Document::new();
    let mut set = Document::new();
    for (key, value) in body {
        match key.as_str() {
            "_id" | "_etag" => {}
            "$set" => match value {
                Bson::Document(more) => set.extend(more),
                _ => return Err(ApiError::BadRequest("$set takes an object".to_owned())),
            },
            operator if operator.starts_with('$') => drop(update.insert(key, value)),
            _ => drop(set.insert(key, value)),
        }
    }
    if !set.is_empty() {
        update.insert("$set", set);
    }
    Ok(update)
}

fn precondition(parts: &Parts) -> Result<Precondition, ApiError> {
    let asked = Query::parse(&parts.uri)?.get("checkEtag").is_some();
    Ok(match parts.headers.get(header::IF_MATCH).map(unquoted) {
        Some(tag) => Precondition::Match(tag),
        None if asked => Precondition::MissingTag,
        None => Precondition::None,
    })
}

/// Tags are sent bare; clients that quote them are understood.
fn unquoted(value: &HeaderValue) -> String {
    let text = value.to_str().unwrap_or_default().trim();
    text.strip_prefix("W/").unwrap_or(text).trim_matches('"').to_owned()
}

fn answer(written: &Written) -> Response {
    let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    tagged(status, Some(&written.etag.to_hex()), Body::empty())
}

fn tagged(status: StatusCode, tag: Option<&str>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
