//! Topics: what events are published under, and what feeds ask for.

/// What a feed asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// One topic.
    Named(String),
    /// `*`: every event of every entity. Only for callers whose permission says so.
    All,
}

/// A `topic` that cannot be one: `400`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// No text.
    #[error("a topic is missing; name one, as in ?topic=orders")]
    Empty,
    /// A letter that a topic cannot have, or too many of them.
    #[error("a topic has letters, digits and `. _ - : /` only, at most 255 of them")]
    Malformed,
}

const MAX_BYTES: usize = 255;

impl Topic {
    /// Reads a `topic` parameter. Whether such a topic exists is not looked at.
    ///
    /// # Errors
    /// It cannot be a topic.
    pub fn from_query(topic: &str) -> Result<Self, TopicError> {
        match topic {
            "*" => Ok(Self::All),
            name => check_name(name).map(|()| Self::Named(name.to_owned())),
        }
    }

    /// Whether an event that is published under `topic` is asked for.
    pub fn covers(&self, topic: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(name) => name == topic,
        }
    }
}

/// The topic of an event that declares none.
pub fn default_topic(entity: &str) -> String {
    format!("entity.{entity}")
}

/// Checks a declared topic.
pub(super) fn check_name(topic: &str) -> Result<(), TopicError> {
    let allowed = |c: char| c.is_alphanumeric() || "._-:/".contains(c);
    match topic {
        "" => Err(TopicError::Empty),
        topic if topic.len() <= MAX_BYTES && topic.chars().all(allowed) => Ok(()),
        _ => Err(TopicError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_a_name_or_everything() {
        let long = "x".repeat(256);
        let named = |name: &str| Ok(Topic::Named(name.to_owned()));
        for (text, expected) in [
            ("orders", named("orders")),
            ("entity.Order", named("entity.Order")),
            ("shop/größe-1:a_b", named("shop/größe-1:a_b")),
            ("*", Ok(Topic::All)),
            ("", Err(TopicError::Empty)),
            ("**", Err(TopicError::Malformed)),
            ("orders.*", Err(TopicError::Malformed)),
            ("a b", Err(TopicError::Malformed)),
            ("a\nb", Err(TopicError::Malformed)),
            (&long, Err(TopicError::Malformed)),
        ] {
            assert_eq!(Topic::from_query(text), expected, "{text}");
        }
    }

    #[test]
    fn everything_covers_every_topic_and_a_name_its_own() {
        assert!(Topic::All.covers("entity.Order"));
        let orders = Topic::Named("orders".to_owned());
        assert!(orders.covers("orders") && !orders.covers("Orders") && !orders.covers("orders.eu"));
        assert_eq!(default_topic("Order"), "entity.Order");
    }
}
