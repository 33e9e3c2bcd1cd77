//! Reading documents: what the recovery links of streams point at, under the same permission.

mod find;
mod id;
mod query;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bson::{Document, RawDocumentBuf, doc};

pub use find::Documents;
use query::ReadQuery;

use super::{error::ApiError, lookup::require, request::Query, state::AppState};
use crate::{
    binding::{Cut, Namespace, Scope},
    json::{JsonMode, write_document},
};

/// `GET /<db>/<coll>`: a page of documents, as a JSON array.
pub(crate) async fn list(
    state: &AppState,
    request: Request,
    namespace: Namespace,
    scope: &Scope,
) -> Result<Response, ApiError> {
    let query = Query::parse(request.uri())?;
    let mode = query.json_mode()?;
    let read = ReadQuery::parse(&query, state.0.documents.limits())?;
    require(state, &namespace).await?;
    let filter = restricted(read.filter.clone(), scope);
    let found = state.0.documents.page(&namespace, filter.clone(), &read).await?;
    let mut response = json(array(&found, &Presenter::of(scope)?, mode)?);
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
    let read = ReadQuery::parse(&query, state.0.documents.limits())?;
    require(state, &namespace).await?;
    let total = state.0.documents.count(&namespace, restricted(read.filter, scope)).await?;
    Ok(json(format!(r#"{{"_size": {total}}}"#).into_bytes()))
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

/// Shows documents as the permission lets them be seen.
struct Presenter {
    cuts: Vec<Cut>,
}

impl Presenter {
    fn of(scope: &Scope) -> Result<Self, ApiError> {
        let projection = scope.project_response.as_ref().map(Cut::parse).transpose();
        let projection = projection.map_err(|error| ApiError::Forbidden(error.to_string()))?;
        let secrets = (!scope.secrets.is_empty())
            .then(|| Cut::excluding(scope.secrets.iter().map(String::as_str)));
        Ok(Self { cuts: projection.into_iter().chain(secrets).collect() })
    }

    fn write(
        &self,
        document: &RawDocumentBuf,
        mode: JsonMode,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        let unreadable = || ApiError::Unprocessable("the stored document is malformed".to_owned());
        let mut shown = document.clone();
        for cut in &self.cuts {
            shown = cut.document(&shown).ok_or_else(unreadable)?;
        }
        write_document(&shown, mode, out).map_err(|_| unreadable())
    }
}

fn array(
    found: &[RawDocumentBuf],
    presenter: &Presenter,
    mode: JsonMode,
) -> Result<Vec<u8>, ApiError> {
    let mut out = vec![b'['];
    for (index, document) in found.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        presenter.write(document, mode, &mut out)?;
    }
    out.push(b']');
    Ok(out)
}

fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let json = HeaderValue::from_static("application/json; charset=UTF-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
