//! Letting requests in: what each is about, and whether its caller may.

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, Uri, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::time::Instant;

use super::{
    error::ApiError,
    feeds,
    gate::Admitted,
    head,
    look::Look,
    state::AppState,
    target::{Target, host, is_probe},
};
use crate::{
    access::{Caller, Decision, RequestKind},
    telemetry::Cap,
};

impl AppState {
    /// A caller who is known, or anybody where authentication is off.
    pub(crate) async fn authenticated(&self, parts: &Parts) -> Result<Caller, ApiError> {
        let head = self.0.gate.head(parts)?;
        self.0.gate.caller(&head, parts).await
    }

    /// Whether a caller may do something with another path than the one of its request.
    pub(crate) fn admit_to(
        &self,
        parts: &Parts,
        caller: Caller,
        uri: &Uri,
        kind: RequestKind,
    ) -> Result<Admitted, ApiError> {
        if feeds::target::Target::parse(self, uri.path())?.is_some() {
            let head = self.0.gate.head(parts)?.for_target(uri.path(), uri.query())?;
            return self.0.gate.decide(caller, head, RequestKind::Feed);
        }
        let target = Target::parse(uri.path(), &self.0.mounts, host(&parts.headers, &parts.uri))?;
        let head = self.0.gate.head(parts)?.for_target(uri.path(), uri.query())?;
        let admitted =
            self.0.gate.decide(caller, head.with_resource(head::resource_of(&target)), kind)?;
        self.0.gate.guard(admitted, &target)
    }

    /// The same for a caller who is only asked about; the inner error is the reason, which nobody but an
    /// administrator is told.
    pub(crate) fn judge(
        &self,
        parts: &Parts,
        caller: Caller,
        uri: &Uri,
        kind: RequestKind,
    ) -> Result<Result<Admitted, String>, ApiError> {
        let target = Target::parse(uri.path(), &self.0.mounts, host(&parts.headers, &parts.uri))?;
        let head = self.0.gate.head(parts)?.for_target(uri.path(), uri.query())?;
        let head = head.with_resource(head::resource_of(&target));
        let admitted = match self.0.gate.permissions().decide(&caller, &head, kind) {
            Decision::Allow(grant) => Admitted { caller, grant, head, kind, look: Look::default() },
            Decision::Deny(denial) => return Ok(Err(denial.to_string())),
        };
        let closed = "only the root role reads the collection of API keys";
        Ok(self.0.gate.guard(admitted, &target).map_err(|_| closed.to_owned()))
    }

    /// Whether a caller may open the stream or feed at a path.
    pub(crate) fn may_open(&self, parts: &Parts, caller: &Caller, path: &str) -> bool {
        let Ok(uri) = path.parse::<Uri>() else { return false };
        self.admit_to(parts, caller.clone(), &uri, RequestKind::Stream).is_ok()
    }

    /// Lets a request for a target in, or not.
    pub(crate) async fn admit(&self, parts: &Parts, target: &Target) -> Result<Admitted, ApiError> {
        let look = self.0.rights.look();
        let head = self.0.gate.head(parts)?.with_resource(head::resource_of(target));
        let reads = parts.method == Method::GET;
        let admitted = self.0.gate.admit(head, parts, kind_of(target, reads)).await?;
        Ok(self.0.gate.guard(admitted, target)?.by(look))
    }
}

/// Answers in place of everything else where a source has been refused too often, but for probes of health.
pub(super) async fn slow_down(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let refusals = &state.0.refusals;
    let source = refusals.source(&request);
    if !is_probe(request.uri().path()) && refusals.is_over(source, Instant::now()) {
        state.0.hub.telemetry().refused(Cap::Refusals);
        return ApiError::Capped(Cap::Refusals).into_response();
    }
    let response = next.run(request).await;
    if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        refusals.refused(source, Instant::now());
    }
    response
}

/// What a request is about, for permissions.
fn kind_of(target: &Target, reads: bool) -> RequestKind {
    match target {
        Target::Stream(..) => RequestKind::Stream,
        Target::Streams(_) => RequestKind::StreamList,
        Target::Meta(_) => RequestKind::Metadata,
        Target::Document(..) => RequestKind::Document,
        Target::Collection(_) | Target::Size(_) if reads => RequestKind::Collection,
        Target::Collection(_) | Target::Size(_) | Target::Database(_) => RequestKind::Declare,
    }
}
