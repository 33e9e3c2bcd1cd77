//! Which entities a caller is shown, under which permissions, and held to what.

use std::sync::Arc;

use super::{Target, place};
use crate::{
    access::{Grant, RequestKind},
    binding::{Namespace, Scope},
    entity::{Asked, AudienceError, Caller, Feed, Found, Operations, Part, SubscriptionDef, Topic},
    http::{
        decided::Decided, error::ApiError, gate::Admitted, head, state::AppState, surface::Feeds,
    },
};

/// What one caller gets of a feed.
#[derive(Debug)]
pub(super) struct Admission {
    /// Feeds and the scopes that apply to each; at least one.
    pub(super) feeds: Vec<(Feed, Vec<Scope>)>,
    /// Everything that was decided on the way.
    pub(super) decided: Vec<Decided>,
}

/// Everything an admission is made from.
pub(super) struct Admitting<'a> {
    pub(super) state: &'a AppState,
    pub(super) feeds: &'a Feeds,
    pub(super) target: &'a Target,
    pub(super) admitted: &'a Admitted,
    pub(super) ops: Operations,
}

/// What of a feed a caller is shown who opens it. `None`: it does not open.
pub(crate) fn shown(
    state: &AppState,
    feeds: &Feeds,
    admitted: &Admitted,
    asked: &Asked,
    mut found: Found,
) -> Option<Found> {
    check_wildcard(asked, admitted).ok()?;
    let target = match asked {
        Asked::Entity(name) => Target::Entity(name.clone()),
        Asked::Topic(_) => Target::Topic,
        Asked::Subscription(name) => Target::Subscription(name.clone()),
    };
    let admitting = Admitting { state, feeds, target: &target, admitted, ops: Operations::ALL };
    let admission = admitting.admit(&found).ok()?;
    let is_shown = |part: &Part| {
        admission.feeds.iter().any(|(feed, _)| Arc::ptr_eq(feed.entity(), &part.entity))
    };
    found.parts.retain(is_shown);
    Some(found)
}

/// Every topic at once is for those whose permission says so.
pub(super) fn check_wildcard(asked: &Asked, admitted: &Admitted) -> Result<(), ApiError> {
    match asked {
        Asked::Topic(Topic::All) if !admitted.grant.all_topics => Err(ApiError::Denied),
        _ => Ok(()),
    }
}

impl Admitting<'_> {
    /// Looks at every part. Of a topic, those are left out that the caller may not open by
    /// themselves or lacks something for.
    pub(super) fn admit(&self, found: &Found) -> Result<Admission, ApiError> {
        let mut decided = vec![self.admitted.decided()];
        let mut feeds = Vec::new();
        let mut refusal = None;
        for part in &found.parts {
            match self.part(part, found.subscription.as_deref(), &mut decided) {
                Ok(feed) => feeds.push(feed),
                Err(error) => drop(refusal.get_or_insert(error)),
            }
        }
        match refusal {
            Some(error) if feeds.is_empty() => Err(error),
            _ => Ok(Admission { feeds, decided }),
        }
    }

    fn part(
        &self,
        part: &Part,
        subscription: Option<&SubscriptionDef>,
        decided: &mut Vec<Decided>,
    ) -> Result<(Feed, Vec<Scope>), ApiError> {
        let namespace = &part.entity.namespace;
        if *namespace == self.state.0.settings {
            return Err(ApiError::Forbidden("reserved resource".to_owned()));
        }
        let mut scopes = vec![self.scope(&self.admitted.grant, namespace)];
        if *self.target == Target::Topic {
            let grant = self.own_route(&part.entity.name, decided)?.ok_or_else(unknown_topic)?;
            scopes.push(self.scope(&grant, namespace));
        }
        if subscription.is_some_and(|subscription| subscription.rls) {
            let grant = self.collection(namespace, decided)?.ok_or(ApiError::Denied)?;
            scopes.push(self.scope(&grant, namespace));
        }
        let feed = self.feed(part.clone(), subscription)?;
        if feed.operations() == Operations::NONE {
            let chosen =
                subscription.map_or(Operations::ALL, |subscription| subscription.operations);
            let declared = part.entity.operations().and(chosen);
            let reason = format!("{} has no such events, only {declared}", part.entity.name);
            return Err(ApiError::BadRequest(reason));
        }
        Ok((feed, scopes))
    }

    fn feed(
        &self,
        part: Part,
        subscription: Option<&SubscriptionDef>,
    ) -> Result<Feed, AudienceError> {
        let principal = self.admitted.caller.principal();
        let caller = Caller {
            tenant: principal.and_then(|principal| principal.tenant()).map(str::to_owned),
            user: principal.map(|principal| principal.id().to_owned()),
            sees_all_tenants: self.admitted.grant.root,
        };
        match subscription {
            None => Feed::of_part(part, self.ops, &caller),
            Some(subscription) => Feed::of_subscription(part, subscription, self.ops, &caller),
        }
    }

    fn scope(&self, grant: &Grant, namespace: &Namespace) -> Scope {
        self.state.0.gate.scope(grant, namespace)
    }

    /// What the caller may do with the entity's own route.
    fn own_route(
        &self,
        entity: &str,
        decided: &mut Vec<Decided>,
    ) -> Result<Option<Grant>, ApiError> {
        let path = place::entity_path(&self.feeds.prefix, entity);
        let query = self.admitted.head.query_string();
        let head = self.admitted.head.for_target(&path, Some(query))?;
        let judged = self.state.0.gate.judge(&self.admitted.caller, head, RequestKind::Feed);
        let grant = judged.grant.clone();
        decided.push(judged);
        Ok(grant)
    }

    /// What the caller may read of a collection.
    fn collection(
        &self,
        namespace: &Namespace,
        decided: &mut Vec<Decided>,
    ) -> Result<Option<Grant>, ApiError> {
        let path = place::collection_path(&self.state.0.mounts, namespace);
        let head = self.admitted.head.for_target(&path, None)?;
        let head = head.with_resource(head::collection(namespace));
        let judged = self.state.0.gate.judge(&self.admitted.caller, head, RequestKind::Collection);
        let grant = judged.grant.clone();
        decided.push(judged);
        Ok(grant)
    }
}

/// To whom none of its entities is shown, a topic is not there.
pub(super) fn unknown_topic() -> ApiError {
    ApiError::NotFound("no such topic".to_owned())
}

impl From<AudienceError> for ApiError {
    fn from(error: AudienceError) -> Self {
        Self::Forbidden(error.to_string())
    }
}
