//! What pages of other origins may do, and the answer to a browser that asks first.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, Uri},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    error::ApiError,
    feeds,
    state::AppState,
    target::{Target, host},
};
use crate::access::CorsHeaders;

/// Answers `OPTIONS`, which needs no credential but an origin that is let in, and adds the headers to
/// every other answer.
pub(super) async fn answer(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let origins = state.0.gate.origins();
    let head = match state.0.gate.head(&parts) {
        Ok(head) => head,
        Err(error) => {
            // A page may read this too; where it was sent to does not matter.
            parts.uri = Uri::from_static("/");
            let mut refused = error.into_response();
            let head = state.0.gate.head(&parts).ok();
            head.into_iter().for_each(|head| add(&mut refused, origins.cors_headers(&head)));
            return refused;
        }
    };
    let request = Request::from_parts(parts, body);
    if request.method() == Method::OPTIONS && !origins.admits(&head) {
        let mut refused = ApiError::Denied.into_response();
        add(&mut refused, origins.cors_headers(&head));
        return refused;
    }
    if request.method() == Method::OPTIONS {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::OK;
        add(&mut response, origins.preflight_headers(&head, methods(&state, &request)));
        return response;
    }
    let mut response = next.run(request).await;
    add(&mut response, origins.cors_headers(&head));
    response
}

fn methods(state: &AppState, request: &Request) -> &'static str {
    let path = request.uri().path();
    match path {
        "/_/tickets" => return "POST",
        "/_/sessions" => return "DELETE",
        path if feeds::target::Target::parse(state, path).is_ok_and(|feed| feed.is_some()) => {
            return "GET";
        }
        _ => {}
    }
    match Target::parse(path, &state.0.mounts, host(request.headers(), request.uri())) {
        Ok(target) if !path.starts_with("/_/") => target.allowed(),
        _ => "GET",
    }
}

fn add(response: &mut Response, headers: CorsHeaders) {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
}
