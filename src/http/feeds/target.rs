//! What a path below the prefix addresses.

use crate::http::{error::ApiError, state::AppState, target::segments};

/// A resource of the entity surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `{prefix}/subscribe/{entity}`
    Entity(String),
    /// `{prefix}/subscribe?topic=…`
    Topic,
    /// `{prefix}/subscriptions/{name}`
    Subscription(String),
    /// `{prefix}/subscribe/{entity}/schema`
    Schema(String),
}

impl Target {
    /// Reads a path as it came. `None`: it is none of these, or nothing is declared.
    ///
    /// # Errors
    /// The path lies below these routes and is none of them, or cannot be read.
    pub(crate) fn parse(state: &AppState, path: &str) -> Result<Option<Self>, ApiError> {
        match &state.0.feeds {
            Some(feeds) => Self::below(&feeds.prefix, path),
            None => Ok(None),
        }
    }

    fn below(prefix: &str, path: &str) -> Result<Option<Self>, ApiError> {
        let path = segments(path)?;
        let prefix: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
        let Some((head, rest)) = path.split_at_checked(prefix.len()) else { return Ok(None) };
        if head != prefix {
            return Ok(None);
        }
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        match rest.as_slice() {
            ["subscribe"] => Ok(Some(Self::Topic)),
            ["subscribe", entity] => Ok(Some(Self::Entity((*entity).to_owned()))),
            ["subscribe", entity, "schema"] => Ok(Some(Self::Schema((*entity).to_owned()))),
            ["subscriptions", name] => Ok(Some(Self::Subscription((*name).to_owned()))),
            ["subscribe" | "subscriptions", ..] => {
                Err(ApiError::NotFound("no such resource".to_owned()))
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<Target>) {
        assert_eq!(Target::below("/api", path).ok(), Some(expected), "{path}");
    }

    #[test]
    fn paths_address_feeds() {
        let entity = |name: &str| Some(Target::Entity(name.to_owned()));
        check("/api/subscribe/Order", entity("Order"));
        check("//api/subscribe//Order/", entity("Order"));
        check("/api/subscribe/a%0Ab", entity("a\nb"));
        check("/api/subscribe/a%2Fb", entity("a%2Fb"));
        check("/api/subscribe/schema", entity("schema"));
        check("/api/subscribe", Some(Target::Topic));
        check("/api/subscribe/", Some(Target::Topic));
        check("/api/subscribe/Order/schema", Some(Target::Schema("Order".to_owned())));
        check("/api/subscriptions/mine", Some(Target::Subscription("mine".to_owned())));
        for other in
            ["/api", "/api/other", "/subscribe/Order", "/apis/subscribe/Order", "/", "/shop/c"]
        {
            check(other, None);
        }
    }

    #[test]
    fn what_is_below_and_nothing_is_refused() {
        for path in ["/api/subscriptions", "/api/subscribe/Order/other", "/api/subscribe/a/b/c"] {
            let refused = Target::below("/api", path).map_err(|error| error.status().as_u16());
            assert_eq!(refused, Err(404), "{path}");
        }
        let unreadable = Target::below("/api", "/api/subscribe/%ff");
        assert_eq!(unreadable.map_err(|error| error.status().as_u16()), Err(400));
    }

    #[test]
    fn a_prefix_may_be_longer_or_the_root() {
        let topic = || Some(Target::Topic);
        assert_eq!(Target::below("/a/b", "/a/b/subscribe").ok(), Some(topic()));
        assert_eq!(Target::below("", "/subscribe").ok(), Some(topic()));
    }
}
