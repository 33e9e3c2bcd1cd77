//! The path under which the entity feeds are mounted.

use super::settings::Settings;

const KEY: &str = "prefix";

pub(crate) fn read(settings: &mut Settings) -> String {
    let text = settings.text(KEY);
    parse(&text).unwrap_or_else(|reason| {
        settings.refuse_set(KEY, reason);
        text
    })
}

/// The path without a slash at the end, or why it cannot be one.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    let prefix = text.strip_suffix('/').unwrap_or(text);
    if !is_path(prefix) {
        Err(format!("is `{text}`; write a path like /api"))
    } else if prefix == "/_" || prefix.starts_with("/_/") {
        Err(format!("is `{text}`, but what is below /_ is the service's own"))
    } else {
        Ok(prefix.to_owned())
    }
}

/// Only what needs no escaping in a URL, so that the route is what is written.
fn is_path(prefix: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    let segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.chars().all(plain);
    prefix.strip_prefix('/').is_some_and(|inner| inner.split('/').all(segment))
}
