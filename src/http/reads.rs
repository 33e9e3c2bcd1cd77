//! Reading documents: what the recovery links of streams point at, under the same permission.

mod id;
mod presenter;
mod sight;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bson::{Document, doc};
use presenter::Presenter;
use sight::Sight;

use super::{
    documents::ReadQuery, error::ApiError, lookup::require, request::Query, state::AppState,
};
use crate::binding::{Namespace, Scope};

/// `GET /<db>/<coll>`: a page of documents, as a JSON array.
pub(crate) async fn list(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    scope: &Scope,
) -> Result<Response, ApiError> {
    let query = Query::parse(request.uri())?;
    let mode = query.json_mode()?;
    let (read, filter) = asked(state, &query, &namespace, scope).await?;
    let found = state.0.documents.page(&namespace, filter.clone(), &read).await?;
    let mut response = json(Presenter::of(scope)?.array(&found, mode)?);
    if read.count {
        let total = state.0.documents.count(&namespace, filter).await?;
        response.headers_mut().insert("x-total-count", HeaderValue::from(total));
    }
    Ok(response)
}

/// `GET /<db>/<coll>/_size`: how many documents match.
pub(crate) async fn size(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    scope: &Scope,
) -> Result<Response, ApiError> {
    let query = Query::parse(request.uri())?;
    let (_, filter) = asked(state, &query, &namespace, scope).await?;
    let total = state.0.documents.count(&namespace, filter).await?;
    Ok(json(format!(r#"{{"_size": {total}}}"#).into_bytes()))
}

/// What a client asks of a collection that exists, and the filter that this comes to.
async fn asked(
    state: &AppState,
    query: &Query,
    namespace: &Namespace,
    scope: &Scope,
) -> Result<(ReadQuery, Document), ApiError> {
    let read = ReadQuery::parse(query, state.0.documents.limits())?;
    Sight::of(scope)?.check(&read)?;
    require(state, namespace).await?;
    let filter = restricted(read.filter.clone(), scope);
    Ok((read, filter))
}

/// `GET /<db>/<coll>/<id>`: one document. What the caller may not read does not exist.
pub(crate) async fn one(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    text: &str,
    scope: &Scope,
) -> Result<Response, ApiError> {
    let query = Query::parse(request.uri())?;
    let mode = query.json_mode()?;
    let id = id::parse(text, query.get("id_type"))?;
    require(state, &namespace).await?;
    let filter = restricted(vec![doc! { "_id": id }], scope);
    let found = state.0.documents.one(&namespace, filter).await?;
    let missing = || ApiError::NotFound(format!("document {text} does not exist"));
    let document = found.ok_or_else(missing)?;
    let tag = document.get_object_id("_etag").ok().map(|tag| tag.to_hex());
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    if tag.is_some() && known.map(|known| known.trim_matches('"')) == tag.as_deref() {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let mut body = Vec::new();
    Presenter::of(scope)?.write(&document, mode, &mut body)?;
    let mut response = json(body);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// The client's filters and the permission's, all of which must hold.
fn restricted(mut filters: Vec<Document>, scope: &Scope) -> Document {
    filters.extend(scope.read_filter.clone());
    match filters.len() {
        0 => Document::new(),
        1 => filters.swap_remove(0),
        _ => doc! { "$and": filters },
    }
}

fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let json = HeaderValue::from_static("application/json; charset=UTF-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
