//! What a request names: does it exist, and what does it declare.

use std::sync::Arc;

use super::{error::ApiError, state::AppState};
use crate::{
    binding::Namespace,
    catalog::{Existence, streams_of},
    change::Dialect,
    definition::{StreamDef, StreamDefs},
};

/// The declared stream, or why there is none.
pub(crate) async fn find(
    state: &AppState,
    namespace: &Namespace,
    uri: &str,
) -> Result<Arc<StreamDef>, ApiError> {
    let declared = declared(state, namespace).await?;
    // RESTHeart reads all streams of a collection at once: one that cannot be read fails them all.
    let unreadable = declared.bad.iter().find(|bad| bad.error.violation.is_none());
    if let (Dialect::RestHeart, Some(bad)) = (state.0.dialect, unreadable) {
        return Err(ApiError::Broken(bad.error.to_string()));
    }
    if let Some(definition) = declared.find(uri) {
        return Ok(Arc::new(definition.clone()));
    }
    if let Some(bad) = declared.find_bad(uri) {
        return Err(bad.error.clone().into());
    }
    Err(ApiError::NotFound("Change Stream does not exist".to_owned()))
}

/// The streams of a collection that exists.
pub(crate) async fn declared(
    state: &AppState,
    namespace: &Namespace,
) -> Result<StreamDefs, ApiError> {
    if let Some(properties) = state.0.catalog.properties(namespace).await? {
        return Ok(streams_of(&properties));
    }
    require(state, namespace).await?;
    Ok(StreamDefs::default())
}

/// `404` unless the collection exists.
pub(crate) async fn require(state: &AppState, namespace: &Namespace) -> Result<(), ApiError> {
    let Namespace { db, coll } = namespace;
    match state.0.catalog.existence(namespace).await? {
        Existence::NoDatabase => Err(ApiError::NotFound(format!("Db '{db}' does not exist"))),
        Existence::NoCollection => {
            Err(ApiError::NotFound(format!("Collection '{coll}' does not exist")))
        }
        Existence::Exists => Ok(()),
    }
}
