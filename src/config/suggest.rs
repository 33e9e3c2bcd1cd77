use super::key::{leaf, parent};
use super::keys;

/// What RESTHeart and JWT libraries call things, with the place they have here.
const FOREIGN: &[(&str, &str)] = &[
    ("users-db", "auth.basic.database"),
    ("users-collection", "auth.basic.collection"),
    ("create-user-document", "auth.basic.create_user"),
    ("acl-db", "acl.database"),
    ("acl-collection", "acl.collection"),
    ("keys-db", "auth.api_keys.database"),
    ("keys-collection", "auth.api_keys.collection"),
    ("whitelist", "auth.origins.allow"),
    ("whitelist-patterns", "auth.origins.patterns"),
    ("allow-missing-origin", "auth.origins.allow_missing"),
    ("max-failed-attempts", "auth.guard.failures"),
    ("mongo-uri", "mongodb.uri"),
    ("connection-string", "mongodb.uri"),
    ("mclient", "mongodb"),
    ("max-pagesize", "documents.max_pagesize"),
    ("default-pagesize", "documents.pagesize"),
    ("basicAuthMechanism", "auth.basic"),
    ("mongoRealmAuthenticator", "auth.basic"),
    ("fileRealmAuthenticator", "auth.basic.file"),
    ("jwtAuthenticationMechanism", "auth.jwt"),
    ("jwtConfigProvider", "auth.jwt"),
    ("mongoAclAuthorizer", "acl"),
    ("fileAclAuthorizer", "acl.file"),
    ("originVetoer", "auth.origins"),
    ("bruteForceAttackGuard", "auth.guard"),
    ("authCookieHandler", "auth.cookie"),
    ("http-listener", "listen"),
    ("aud", "auth.jwt.audience"),
    ("iss", "auth.jwt.issuer"),
    ("secret", "auth.jwt.key"),
];

/// The setting or section that an unknown path most likely means.
pub(crate) fn suggest(path: &str) -> Option<String> {
    let names: Vec<&str> = keys::all().map(|key| key.name).chain(keys::sections()).collect();
    from_elsewhere(path)
        .or_else(|| respelled(path, &names))
        .or_else(|| beside(path, &names))
        .or_else(|| elsewhere(path, &names))
        .or_else(|| closest(path, names.iter().copied()))
}

/// The known top-level name of the environment that an unknown one nearly is.
pub(crate) fn suggest_variable(name: &str) -> Option<String> {
    let known: Vec<String> = keys::all()
        .flat_map(|key| [Some(key.variable()), key.short.map(str::to_owned)])
        .flatten()
        .chain(["TAILWATER_CONFIG".to_owned()])
        .collect();
    known
        .iter()
        .filter(|candidate| strsim::damerau_levenshtein(candidate, name) <= 2)
        .min_by_key(|candidate| strsim::damerau_levenshtein(candidate, name))
        .cloned()
}

fn from_elsewhere(path: &str) -> Option<String> {
    if leaf(path) == "conf-file" && !parent(path).is_empty() {
        return Some(format!("{}.file", parent(path)));
    }
    let (_, ours) = FOREIGN.iter().find(|(theirs, _)| *theirs == leaf(path))?;
    Some((*ours).to_owned())
}

/// `prop-id` and `rolesClaim` for `prop_id` and `roles_claim`.
fn respelled(path: &str, names: &[&str]) -> Option<String> {
    let mut snake = String::with_capacity(path.len() + 4);
    for c in path.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() && !snake.ends_with(['.', '_']) {
            snake.push('_');
        }
        snake.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    names.iter().find(|name| **name == snake).map(|name| (*name).to_owned())
}

/// A slip of the pen among the names of the same section.
fn beside(path: &str, names: &[&str]) -> Option<String> {
    closest(path, names.iter().copied().filter(|name| parent(name) == parent(path)))
}

/// The right name in the wrong section, unless several sections have it.
fn elsewhere(path: &str, names: &[&str]) -> Option<String> {
    let mut found = names.iter().filter(|name| leaf(name) == leaf(path));
    let only = found.next()?;
    found.next().is_none().then(|| (*only).to_owned())
}

fn closest<'a>(path: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let tolerated = (leaf(path).chars().count() / 3).max(1);
    names
        .map(|name| (strsim::damerau_levenshtein(name, path), name))
        .filter(|(distance, _)| *distance <= tolerated)
        .min()
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let check = |path: &str, expected: &str| {
            assert_eq!(suggest(path).as_deref(), Some(expected), "{path}");
        };
        check("streams.hartbeat", "streams.heartbeat");
        check("streams.heartbeet", "streams.heartbeat");
        check("streams.histroy", "streams.history");
        check("stream.heartbeat", "streams.heartbeat");
        check("steams", "streams");
        check("heartbeat", "streams.heartbeat");
        check("insecure_no_auth", "auth.insecure_no_auth");
        check("mongodb.url", "mongodb.uri");
        check("lisen", "listen");
        check("mount", "mounts");
        check("auth.basic.prop-id", "auth.basic.prop_id");
        check("auth.jwt.rolesClaim", "auth.jwt.roles_claim");
        check("auth.jwt.base64Encoded", "auth.jwt.base64_encoded");
        check("auth.jwt.aud", "auth.jwt.audience");
        check("acl.root-role", "acl.root_role");
        check("auth.basic.users-db", "auth.basic.database");
        check("auth.basic.conf-file", "auth.basic.file");
        check("acl.acl-collection", "acl.collection");
        check("mongoRealmAuthenticator", "auth.basic");
        check("jwtAuthenticationMechanism", "auth.jwt");
        check("mclient", "mongodb");
    }

    #[test]
    fn stays_silent_rather_than_mislead() {
        for path in ["colour", "auth.basic.zzz", "database", "x"] {
            assert_eq!(suggest(path), None, "{path}");
        }
    }

    #[test]
    fn notices_nearly_right_variables() {
        assert_eq!(suggest_variable("TAILWATER_LISTN").as_deref(), Some("TAILWATER_LISTEN"));
        assert_eq!(suggest_variable("TAILWATER_CONFG").as_deref(), Some("TAILWATER_CONFIG"));
        for name in ["TAILWATER_SEED", "TAILWATER_MQL_DATA", "TAILWATER_TEST_MONGODB_URI"] {
            assert_eq!(suggest_variable(name), None, "{name}");
        }
    }
}
