//! `{prefix}/subscribe/{entity}/schema`: the Avro schema of an entity's envelopes.

use axum::{
    Json,
    extract::Request,
    response::{IntoResponse, Response},
};

use super::place::entity_path;
use crate::{
    access::RequestKind,
    http::{error::ApiError, state::AppState, surface::Feeds},
};

/// Whoever may open the feed may read what it is written in.
pub(super) async fn serve(
    state: &AppState,
    feeds: &Feeds,
    request: Request,
    entity: &str,
) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    let gate = &state.0.gate;
    let head = gate.head(&parts)?;
    let caller = gate.identify(&head, &parts).await?;
    let feed = head.for_target(&entity_path(&feeds.prefix, entity), parts.uri.query())?;
    if gate.judge(&caller, feed, RequestKind::Feed).grant.is_none() {
        gate.decide(caller.clone(), head.clone(), RequestKind::Feed)?;
    }
    gate.check_origin(&caller, &head, &parts)?;
    let entities = feeds.declarations.current();
    let found = entities.entity(entity).filter(|entity| entity.has_feed());
    let found = found.ok_or_else(|| ApiError::NotFound("no such entity".to_owned()))?;
    Ok(Json(found.schema.json()).into_response())
}
