//! A feed between the request that names it and its session: looked up, admitted and planned.

use std::sync::Arc;

use axum::http::request::Parts;

use super::{
    Target,
    admission::{Admitting, unknown_topic},
    noticing::Noticing,
    place,
    wishes::Wishes,
};
use crate::{
    binding::Namespace,
    entity::{Bundle, FeedError, Found, Planned, SubscriptionDef, Transport},
    http::{
        decided::Decided,
        edition::{Edition, Place},
        error::ApiError,
        gate::Admitted,
        lifetime::Tempo,
        link::outside,
        opening::owner,
        record::{Line, Record},
        session::Session,
        state::AppState,
        surface::Feeds,
    },
    hub::{Resume, Subscription},
    telemetry::{self, Surface},
};

/// A feed that may be opened; its cursor has not been asked for yet.
pub(super) struct Opening<'a> {
    state: &'a AppState,
    feeds: &'a Feeds,
    admitted: Admitted,
    decided: Vec<Decided>,
    wishes: Wishes,
    found: Found,
    planned: Planned,
}

impl<'a> Opening<'a> {
    /// Looks the feed up and plans it, in the order of the contract.
    pub(super) async fn plan(
        state: &'a AppState,
        feeds: &'a Feeds,
        target: &Target,
        admitted: Admitted,
        wishes: Wishes,
    ) -> Result<Self, ApiError> {
        let entities = feeds.declarations.current();
        let found = entities.find(&wishes.asked).ok_or_else(|| unknown(target))?;
        check_transport(found.subscription.as_deref(), wishes.handshake.is_some())?;
        let admitting = Admitting { state, feeds, target, admitted: &admitted, ops: wishes.ops };
        let admission = admitting.admit(&found)?;
        let images = records_images(state, &found).await?;
        let planned = Bundle::plan(admission.feeds, &found.parts, images)?;
        let decided = admission.decided;
        Ok(Self { state, feeds, admitted, decided, wishes, found, planned })
    }

    /// Joins the cursor. When this returns, every later change reaches the session.
    pub(super) async fn open(self, parts: &Parts) -> Result<Session, ApiError> {
        let Self { state, wishes, .. } = &self;
        let topic = wishes.asked.topic(&self.found);
        let seat = state.seat(&self.admitted.caller, &self.admitted.head)?;
        let resumed = wishes.resume.as_deref().and_then(Place::parse);
        let subscription = self.subscribe(resumed.as_ref(), &topic).await?;
        let transport = match wishes.handshake {
            Some(_) => telemetry::Transport::WebSocket,
            None => telemetry::Transport::Sse,
        };
        let line = Line { transport, surface: Surface::Entities, topic };
        let record = Record::connection(state, parts, line, seat);
        let (sub, topic) = (record.subscriber().id().number(), record.subscriber().topic());
        tracing::info!(sub, topic, "an entity feed is open");
        Ok(self.session(subscription, resumed, outside(parts)).recorded(record))
    }

    async fn subscribe(
        &self,
        resumed: Option<&Place>,
        topic: &str,
    ) -> Result<Subscription, ApiError> {
        let Self { state, planned, .. } = self;
        let resume = resume(self.wishes.resume.as_deref(), resumed, &planned.bundle);
        let owner = planned.own.then(|| owner(state, &self.admitted, topic));
        let (cursor, selection) = (planned.cursor.clone(), Arc::new(planned.selection.clone()));
        let subscription = state.0.hub.subscribe_for(owner, cursor, selection, resume).await?;
        for entity in planned.bundle.entities() {
            let noticing = Noticing::of(entity, state.0.hub.telemetry());
            subscription.observe(&entity.name, noticing);
        }
        Ok(subscription)
    }

    fn session(self, subscription: Subscription, resumed: Option<Place>, outside: &str) -> Session {
        let Self { state, feeds, admitted, decided, wishes, found, planned } = self;
        let expiry = admitted.caller.principal().and_then(|principal| principal.expires_at());
        let (collection, more) = links(state, outside, planned.bundle.collections());
        let tempo = Tempo { heartbeat: Some(wishes.heartbeat.duration()), ..state.tempo() };
        let session = Session::new(subscription, tempo, collection, wishes.etag);
        let close = session.close_handle();
        let Admitted { caller, look, .. } = admitted;
        let (rights, gate) = (&state.0.rights, &state.0.gate);
        let rights = rights.register(look, caller, decided, close.clone(), gate);
        let guards = (feeds.declarations.guard(wishes.asked, found, close), rights);
        let telemetry = state.0.hub.telemetry().clone();
        let edition = Edition::new(planned.bundle, telemetry, resumed, more, guards);
        session.expires(expiry).edited(edition)
    }
}

fn check_transport(
    subscription: Option<&SubscriptionDef>,
    websocket: bool,
) -> Result<(), ApiError> {
    let Some(subscription) = subscription else { return Ok(()) };
    let (wanted, other) = match websocket {
        true => (Transport::WebSocket, "server-sent events (Accept: text/event-stream)"),
        false => (Transport::Sse, "a WebSocket (Upgrade: websocket)"),
    };
    if subscription.transports.allow(wanted) {
        return Ok(());
    }
    let name = &subscription.name;
    Err(ApiError::BadRequest(format!("subscription {name} is opened as {other} only")))
}

fn unknown(target: &Target) -> ApiError {
    match target {
        Target::Topic => unknown_topic(),
        Target::Subscription(_) => ApiError::NotFound("no such subscription".to_owned()),
        Target::Entity(_) | Target::Schema(_) => ApiError::NotFound("no such entity".to_owned()),
    }
}

/// Whether all collections record images: one cursor asks the same of all of them.
async fn records_images(state: &AppState, found: &Found) -> Result<bool, ApiError> {
    let mut seen: Vec<&Namespace> = Vec::new();
    for part in &found.parts {
        let namespace = &part.entity.namespace;
        if seen.contains(&namespace) {
            continue;
        }
        if !state.0.catalog.records_images(namespace).await? {
            return Ok(false);
        }
        seen.push(namespace);
    }
    Ok(true)
}

fn resume(asked: Option<&str>, place: Option<&Place>, bundle: &Bundle) -> Resume {
    match (asked, place) {
        (None, _) => Resume::Live,
        (Some(_), Some(place)) if bundle.splits_changes() => {
            Resume::Within(place.position().to_owned())
        }
        (Some(_), Some(place)) => Resume::Id(place.position().to_owned()),
        // Answered with a reset, as everything that is no id of ours.
        (Some(_), None) => Resume::Id(String::new()),
    }
}

/// The links by which what was missed is read: the first, and those of further collections.
fn links(state: &AppState, outside: &str, collections: Vec<&Namespace>) -> (String, Vec<String>) {
    let link = |it| format!("{outside}{}", place::collection_path(&state.0.mounts, it));
    let mut links = collections.into_iter().map(link);
    (links.next().unwrap_or_default(), links.collect())
}

impl From<FeedError> for ApiError {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Plan(error) => error.into(),
            FeedError::Definition(error) => error.into(),
        }
    }
}
