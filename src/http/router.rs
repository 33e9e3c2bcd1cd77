//! The one list of routes.

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{Method, StatusCode, request::Parts},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};

use super::{
    admit, bare_socket, caps, collections, console, contract, cors,
    error::ApiError,
    explain, feeds, health, many, open,
    operator::{self, OwnListener},
    reads,
    state::AppState,
    streams,
    target::{Target, host},
    tickets,
};

/// All routes of the service.
pub fn router(state: AppState) -> Router {
    own()
        .route("/_/sse", get(many::open))
        .route("/_/ws", get(bare_socket::open))
        .route("/_/console", get(console::slash))
        .route("/_/console/", get(console::page))
        .route("/_/console/{file}", get(console::part))
        // Databases and collections have any name, and mounts move them: their paths are read by hand.
        .fallback(mongo)
        .layer(from_fn_with_state(state.clone(), admit::slow_down))
        .layer(from_fn_with_state(state.0.caps.clone(), caps::turn_away))
        // Outermost, so that every answer has them, refusals included.
        .layer(from_fn_with_state(state.clone(), cors::answer))
        .with_state(state)
}

/// The resources under `/_/` for a listener of their own: metrics and status ask for no credential there.
pub fn operator_router(state: AppState) -> Router {
    let nothing_else = || async { ApiError::NotFound("no such resource".to_owned()) };
    own().fallback(nothing_else).layer(Extension(OwnListener)).with_state(state)
}

/// The service's own resources.
fn own() -> Router<AppState> {
    let refused = |method: Method| async move {
        // The router adds which methods are allowed.
        ApiError::MethodNotAllowed(method.to_string(), "")
    };
    Router::new()
        .route("/_/health/live", get(health::live))
        .route("/_/health/ready", get(health::ready))
        .route("/_/metrics", get(operator::metrics))
        .route("/_/status", get(operator::status))
        .route("/_/sessions", delete(operator::disconnect))
        .route("/_/asyncapi.json", get(contract::asyncapi))
        .route("/_/openapi.json", get(contract::openapi))
        .route("/_/explain", get(explain::explain))
        .route("/_/tickets", post(tickets::issue))
        .method_not_allowed_fallback(refused)
}

/// The MongoDB surface.
async fn mongo(State(state): State<AppState>, request: Request) -> Response {
    dispatch(&state, request).await.unwrap_or_else(IntoResponse::into_response)
}

/// What is not there is told to callers, and to nobody before it is known who they are.
async fn missing(state: &AppState, parts: &Parts, error: ApiError) -> Result<Response, ApiError> {
    state.authenticated(parts).await?;
    Err(error)
}

async fn dispatch(state: &AppState, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path == "/_" || path.starts_with("/_/") {
        return missing(state, &parts, ApiError::NotFound("no such resource".to_owned())).await;
    }
    let feed = match feeds::target::Target::parse(state, path) {
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            return missing(state, &parts, error).await;
        }
        feed => feed?,
    };
    if let Some(target) = feed {
        return feeds::serve(state, Request::from_parts(parts, body), target).await;
    }
    let target = match Target::parse(path, &state.0.mounts, host(&parts.headers, &parts.uri)) {
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            return missing(state, &parts, error).await;
        }
        target => target?,
    };
    state.guard_settings(&target)?;
    let admitted = state.admit(&parts, &target).await?;
    let request = Request::from_parts(parts, body);
    let scope = target.namespace().map(|namespace| state.0.gate.scope(&admitted.grant, namespace));
    let scope = scope.unwrap_or_default();
    let method = request.method().clone();
    match (&method, target) {
        (&Method::GET, Target::Stream(namespace, uri)) => {
            open::open(state, request, namespace, uri, admitted).await
        }
        (&Method::GET, Target::Streams(namespace)) => {
            streams::list(state, request, namespace, &admitted.caller).await
        }
        (&Method::GET, Target::Meta(namespace)) => {
            collections::meta(state, request, namespace).await
        }
        (&Method::GET, Target::Collection(namespace)) => {
            reads::list(state, request, namespace, &scope).await
        }
        (&Method::GET, Target::Size(namespace)) => {
            reads::size(state, request, namespace, &scope).await
        }
        (&Method::GET, Target::Document(namespace, id)) => {
            reads::one(state, request, namespace, &id, &scope).await
        }
        (&Method::PUT, Target::Collection(namespace)) => {
            collections::put(state, request, namespace).await
        }
        (&Method::PATCH, Target::Collection(namespace)) => {
            collections::patch(state, request, namespace).await
        }
        (&Method::PUT, Target::Database(db)) => collections::put_database(state, request, db).await,
        (_, target) => Err(ApiError::MethodNotAllowed(method.to_string(), target.allowed())),
    }
}
