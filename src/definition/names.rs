//! Names of databases, collections and streams: which are reserved, which are impossible.

use thiserror::Error;

/// Why a name cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// The resource belongs to MongoDB, RESTHeart or Tailwater itself: `403`.
    #[error("reserved resource")]
    Reserved,
    /// No such name can exist: `400`, with the reason.
    #[error("invalid {kind} name: {reason}")]
    Invalid {
        /// `database`, `collection` or `stream`.
        kind: &'static str,
        /// What is wrong, and what is allowed.
        reason: String,
    },
}

/// Tailwater's own database; only its settings collection is reserved.
pub const SETTINGS_DB: &str = "tailwater";
/// Holds the position key; never readable, streamable or declarable through any route.
pub const SETTINGS_COLL: &str = "settings";

const MAX_DB_BYTES: usize = 63;
const MAX_NAMESPACE_BYTES: usize = 255;
const MAX_STREAM_BYTES: usize = 255;

/// Checks a database name by itself.
///
/// # Errors
/// [`NameError::Reserved`] for `admin`, `config`, `local`, `system.*` and the empty name (blind to
/// case), [`NameError::Invalid`] for what MongoDB does not allow.
pub fn check_db(db: &str) -> Result<(), NameError> {
    let lower = db.to_lowercase();
    let own = ["", "admin", "config", "local"].contains(&lower.as_str());
    if own || lower.starts_with("system.") {
        return Err(NameError::Reserved);
    }
    let refused = |c: char| " /\\.\"$".contains(c) || c.is_control();
    if db.contains(refused) {
        return invalid(
            "database",
            r#"it must not hold a space, `/`, `\`, `.`, `"`, `$` or a control character"#,
        );
    }
    if db.len() > MAX_DB_BYTES {
        return invalid("database", "it must not be longer than 63 bytes");
    }
    Ok(())
}

/// Checks a collection name together with its (already checked) database.
///
/// # Errors
/// [`NameError::Reserved`] for `_properties`, `system.*`, `*.chunks`, the empty name and
/// Tailwater's settings, [`NameError::Invalid`] for what MongoDB does not allow.
pub fn check_coll(db: &str, coll: &str) -> Result<(), NameError> {
    let lower = coll.to_lowercase();
    let system = lower.starts_with("system.") || lower == "system";
    let settings = db.eq_ignore_ascii_case(SETTINGS_DB) && lower == SETTINGS_COLL;
    if coll.is_empty() || lower == "_properties" || system || lower.ends_with(".chunks") || settings
    {
        return Err(NameError::Reserved);
    }
    if coll.contains(|c: char| c == '$' || c.is_control()) {
        return invalid("collection", "it must not hold `$` or a control character");
    }
    if coll.starts_with('.') || coll.ends_with('.') || coll.contains("..") {
        return invalid("collection", "it must not start or end with a dot, nor hold two in a row");
    }
    if db.len() + 1 + coll.len() > MAX_NAMESPACE_BYTES {
        return invalid("collection", "with its database it must not be longer than 255 bytes");
    }
    Ok(())
}

/// Checks the `uri` of a stream: it is one path segment, so some names could never be opened.
///
/// # Errors
/// [`NameError::Invalid`] with the reason.
pub fn check_stream(uri: &str) -> Result<(), NameError> {
    match unreachable_because(uri) {
        Some(reason) => invalid("stream", reason),
        None => Ok(()),
    }
}

fn unreachable_because(uri: &str) -> Option<&'static str> {
    if uri.is_empty() {
        return Some("it must not be empty");
    }
    if uri.contains(char::is_control) {
        return Some("it must not hold control characters");
    }
    if uri.contains('/') {
        return Some(
            "it is one segment of the URL and can never be reached with a `/`; use `-` or `.` instead",
        );
    }
    if ["_meta", "_size"].contains(&uri.to_lowercase().as_str()) {
        return Some("URLs that end in `_meta` or `_size` are never streams; choose another name");
    }
    if uri == "." || uri == ".." {
        return Some("clients resolve `.` and `..` before they send a URL; choose another name");
    }
    if uri.trim() != uri {
        return Some("surrounding space is stripped from a URL; remove it");
    }
    (uri.len() > MAX_STREAM_BYTES).then_some("it must not be longer than 255 bytes")
}

fn invalid(kind: &'static str, reason: impl Into<String>) -> Result<(), NameError> {
    Err(NameError::Invalid { kind, reason: reason.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Verdict {
        Fine,
        Reserved,
        Invalid,
    }
    use Verdict::{Fine, Invalid, Reserved};

    fn verdict(result: Result<(), NameError>) -> Verdict {
        match result {
            Ok(()) => Fine,
            Err(NameError::Reserved) => Reserved,
            Err(NameError::Invalid { reason, .. }) => {
                assert!(!reason.is_empty());
                Invalid
            }
        }
    }

    #[test]
    fn database_names() {
        let long = "x".repeat(64);
        for (name, expected) in [
            ("shop", Fine),
            ("restheart", Fine),
            ("tailwater", Fine),
            ("localhost", Fine),
            ("größe", Fine),
            (&long[..63], Fine),
            (&long, Invalid),
            ("", Reserved),
            ("admin", Reserved),
            ("ADMIN", Reserved),
            ("Config", Reserved),
            ("local", Reserved),
            ("system.x", Reserved),
            ("SYSTEM.x", Reserved),
            ("a b", Invalid),
            ("a/b", Invalid),
            ("a\\b", Invalid),
            ("a.b", Invalid),
            ("a\"b", Invalid),
            ("a$b", Invalid),
            ("a\0b", Invalid),
            ("a\nb", Invalid),
        ] {
            assert_eq!(verdict(check_db(name)), expected, "{name:?}");
        }
    }

    #[test]
    fn collection_names() {
        let long = "x".repeat(251);
        for (db, name, expected) in [
            ("shop", "orders", Fine),
            ("shop", "settings", Fine),
            ("shop", "chunks", Fine),
            ("shop", "fs.files", Fine),
            ("shop", "a.b c", Fine),
            ("shop", &long[..250], Fine),
            ("shop", &long, Invalid),
            ("shop", "", Reserved),
            ("shop", "_properties", Reserved),
            ("shop", "_PROPERTIES", Reserved),
            ("shop", "system.views", Reserved),
            ("shop", "System.views", Reserved),
            ("shop", "fs.chunks", Reserved),
            ("shop", "fs.CHUNKS", Reserved),
            ("tailwater", "settings", Reserved),
            ("Tailwater", "Settings", Reserved),
            ("tailwater", "orders", Fine),
            ("shop", "a$b", Invalid),
            ("shop", "a\0b", Invalid),
            ("shop", "a\tb", Invalid),
            ("shop", ".a", Invalid),
            ("shop", "a.", Invalid),
            ("shop", "a..b", Invalid),
        ] {
            assert_eq!(verdict(check_coll(db, name)), expected, "{db}.{name:?}");
        }
    }

    #[test]
    fn stream_names() {
        let long = "x".repeat(256);
        for (name, expected) in [
            ("all", Fine),
            ("by-tenant", Fine),
            ("a b", Fine),
            ("a%2Fb", Fine),
            ("größe", Fine),
            ("_metadata", Fine),
            (&long[..255], Fine),
            (&long, Invalid),
            ("", Invalid),
            ("a/b", Invalid),
            ("/a", Invalid),
            ("_meta", Invalid),
            ("_META", Invalid),
            ("_size", Invalid),
            (".", Invalid),
            ("..", Invalid),
            (" a", Invalid),
            ("a\n", Invalid),
            ("a\u{7f}b", Invalid),
            ("a\u{85}b", Invalid),
            ("a\0b", Invalid),
        ] {
            assert_eq!(verdict(check_stream(name)), expected, "{name:?}");
        }
    }
}
