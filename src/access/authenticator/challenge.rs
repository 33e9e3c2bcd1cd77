use crate::access::request::RequestHead;

/// Only passwords are asked for. A page that does not want the browser's dialogue says so by a
/// header or a parameter, with or without a value.
pub(super) fn challenges(head: &RequestHead, realm: Option<&str>) -> Vec<String> {
    let is_unwanted = head.header("no-auth-challenge").is_some()
        || head.parameters("noauthchallenge").next().is_some();
    match realm {
        Some(realm) if !is_unwanted => vec![format!("Basic realm=\"{realm}\"")],
        _ => Vec::new(),
    }
}
