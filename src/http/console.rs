//! `/_/console/`: a page that lists what its reader may watch, and watches it. It holds no data, so that it needs
//! no credential: what it shows, it asks for as whoever signs in on it.

use axum::{
    extract::Path,
    http::{HeaderValue, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

use super::error::ApiError;

/// The files of the page: their names and types.
const FILES: [(&str, &str, &str); 4] = [
    ("", "text/html; charset=utf-8", include_str!("console/index.html")),
    ("console.css", "text/css; charset=utf-8", include_str!("console/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("console/console.js")),
    (
        "tailwater.js",
        "text/javascript; charset=utf-8",
        include_str!("../../clients/js/tailwater.js"),
    ),
];

/// Nothing from elsewhere, in no frame of others, and nothing that was slipped into what is shown.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /_/console`: relative links of the page need the slash.
pub(crate) async fn slash(uri: Uri) -> Response {
    let name = uri.path().rsplit('/').next().unwrap_or_default();
    Redirect::permanent(&format!("{name}/")).into_response()
}

/// `GET /_/console/`
pub(crate) async fn page() -> Response {
    file("")
}

/// `GET /_/console/{file}`
pub(crate) async fn part(Path(name): Path<String>) -> Response {
    file(&name)
}

fn file(name: &str) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return ApiError::NotFound("no such file".to_owned()).into_response();
    };
    let mut response = (*text).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, *kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
