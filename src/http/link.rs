//! Links to what a client knows by its path.

use axum::{extract::OriginalUri, http::request::Parts};
use percent_encoding::utf8_percent_encode;

use super::{recover::SEGMENT, state::AppState, target::collection_path};
use crate::binding::Namespace;

/// The collection's link: the path as the client knows it, without what follows the collection.
/// `outside` is what the host takes off the path.
pub(crate) fn collection_link(
    state: &AppState,
    outside: &str,
    path: &str,
    host: Option<&str>,
    namespace: &Namespace,
) -> String {
    let path = collection_path(path, &state.0.mounts, host);
    let path = path.unwrap_or_else(|| {
        let encode = |name| utf8_percent_encode(name, SEGMENT);
        format!("/{}/{}", encode(&namespace.db), encode(&namespace.coll))
    });
    format!("{outside}{path}")
}

/// Where the host nests these routes: what it took off the path.
pub(crate) fn outside(parts: &Parts) -> &str {
    let original = parts.extensions.get::<OriginalUri>().map(|original| original.0.path());
    original.and_then(|path| path.strip_suffix(parts.uri.path())).unwrap_or_default()
}
