//! Where things lie in URLs.

use percent_encoding::utf8_percent_encode;

use crate::{binding::Namespace, config::Mounts, http::recover::SEGMENT};

/// The path of an entity's own feed.
pub(super) fn entity_path(prefix: &str, entity: &str) -> String {
    format!("{prefix}/subscribe/{}", utf8_percent_encode(entity, SEGMENT))
}

/// The path by which a collection is read: the first mount that leads to it, else the plain one.
pub(super) fn collection_path(mounts: &Mounts, namespace: &Namespace) -> String {
    let plain = format!("/{}/{}", namespace.db, namespace.coll);
    let places = mounts.iter().filter_map(|mount| {
        let at = mount.at.trim_end_matches('/');
        match mount.what.trim_end_matches('/') {
            "*" => Some(format!("{at}{plain}")),
            what => Some(format!("{at}{}", plain.strip_prefix(what)?)),
        }
    });
    let found = places.into_iter().find(|path| leads_to(mounts, path, namespace));
    encoded(&found.unwrap_or(plain))
}

fn leads_to(mounts: &Mounts, path: &str, namespace: &Namespace) -> bool {
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    mounts.resolve(&segments, None).is_some_and(|found| {
        found.database == namespace.db
            && found.collection.as_ref() == Some(&namespace.coll)
            && found.rest.is_empty()
    })
}

fn encoded(path: &str) -> String {
    let segments = path.split('/').map(|part| utf8_percent_encode(part, SEGMENT).to_string());
    segments.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(mounts: &str, expected: &str) {
        let config = Config::from_yaml(Path::new("t.yaml"), mounts).unwrap();
        let found = collection_path(&config.mounts, &Namespace::new("shop", "or ders"));
        assert_eq!(found, expected, "{mounts}");
    }

    #[test]
    fn a_collection_is_where_a_mount_puts_it() {
        check("", "/shop/or%20ders");
        check("mounts: [{ what: \"*\", where: /db }]", "/db/shop/or%20ders");
        check("mounts: [{ what: /shop, where: / }]", "/or%20ders");
        check("mounts: [{ what: /other, where: /o }, { what: /shop, where: /s }]", "/s/or%20ders");
        // Nothing leads there: permissions are asked about the plain path.
        check("mounts: [{ what: /other, where: / }]", "/shop/or%20ders");
    }

    #[test]
    fn names_of_entities_are_encoded() {
        assert_eq!(entity_path("/api", "Order"), "/api/subscribe/Order");
        assert_eq!(entity_path("", "gr\u{f6}\u{df}e/1"), "/subscribe/gr%C3%B6%C3%9Fe%2F1");
    }
}
