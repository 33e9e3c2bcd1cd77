use super::*;

#[test]
fn unknown_keys_are_refused_with_their_place() {
    let check = |file: &str, expected: &str| {
        assert_eq!(errors(from_file(file)), format!("conf/tailwater.yaml:{expected}"));
    };
    check(
        "streams:\n  hartbeat: 5s",
        "2:3: unknown key streams.hartbeat; did you mean streams.heartbeat?",
    );
    check("steams: { heartbeat: 5s }", "1:1: unknown key steams; did you mean streams?");
    check(
        "auth:\n  jwt:\n    rolesClaim: groups\n    key: 0123456789abcdef0123456789abcdef",
        "3:5: unknown key auth.jwt.rolesClaim; did you mean auth.jwt.roles_claim?",
    );
    check(
        "auth: { basic: { users-db: shop } }",
        "1:18: unknown key auth.basic.users-db; did you mean auth.basic.database?",
    );
    check(
        "acl: { acl-collection: x }",
        "1:8: unknown key acl.acl-collection; did you mean acl.collection?",
    );
    check("heartbeat: 5s", "1:1: unknown key heartbeat; did you mean streams.heartbeat?");
    check("colour: red", "1:1: unknown key colour; docs/configuration.md lists the known ones");
    check("1: red", "1:1: unknown key 1; docs/configuration.md lists the known ones");
}

#[test]
fn unknown_variables_are_refused_by_name() {
    let check = |name: &str, expected: &str| {
        let text = errors(from_environment(&[(name, "1")]));
        assert_eq!(text, format!("{name}: unknown setting {expected}"));
    };
    check(
        "TAILWATER_STREAMS__HARTBEAT",
        "streams.hartbeat; did you mean TAILWATER_STREAMS__HEARTBEAT?",
    );
    check(
        "TAILWATER_STREAM__HEARTBEAT",
        "stream.heartbeat; did you mean TAILWATER_STREAMS__HEARTBEAT?",
    );
    check("TAILWATER_AUTH__JWT__AUD", "auth.jwt.aud; did you mean TAILWATER_AUTH__JWT__AUDIENCE?");
    check("TAILWATER_X__Y", "x.y; docs/configuration.md lists the known ones");
    check("TAILWATER_STREAMS__", "streams.; docs/configuration.md lists the known ones");
    check("TAILWATER___", ".; docs/configuration.md lists the known ones");
}

/// Each setting, misspelt in each of the usual ways, leads back to itself.
#[test]
fn every_key_is_suggested_for_its_misspellings() {
    use crate::config::key::{leaf, parent};
    use crate::config::keys;
    use crate::config::suggest::suggest;
    for key in keys::all().filter(|key| leaf(key.name).len() >= 5) {
        let (section, name) = (parent(key.name), leaf(key.name));
        let at = name.len() / 2;
        let dropped = format!("{}{}", &name[..at], &name[at + 1..]);
        let doubled = format!("{}{}", &name[..=at], &name[at..]);
        let spellings = [dropped, doubled, name.replace('_', "-")];
        for spelling in spellings.iter().filter(|spelling| *spelling != name) {
            let path =
                if section.is_empty() { spelling.clone() } else { format!("{section}.{spelling}") };
            assert_eq!(suggest(&path).as_deref(), Some(key.name), "{path}");
        }
    }
}
