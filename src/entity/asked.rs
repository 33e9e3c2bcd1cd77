//! What a request names, and what is declared under it.

use std::{collections::HashSet, sync::Arc};

use super::{Entities, Operations, Part, SubscriptionDef, Topic, default_topic};
use crate::{binding::Cut, envelope::Format};

/// A feed, as a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Everything that an entity publishes, whatever the topics.
    Entity(String),
    /// What is published under a topic.
    Topic(Topic),
    /// A declared subscription.
    Subscription(String),
}

/// What is declared under a name. Two equal ones are the same feed to whoever has it open.
#[derive(Clone, Debug)]
pub struct Found {
    /// The subscription, where one is asked for.
    pub subscription: Option<Arc<SubscriptionDef>>,
    /// The entities that have a part in it, at least one.
    pub parts: Vec<Part>,
}

impl Asked {
    /// The topic, as counters and logs name it.
    pub fn topic(&self, found: &Found) -> String {
        match (self, &found.subscription) {
            (Self::Entity(name), _) => default_topic(name),
            (Self::Topic(Topic::All), _) => "*".to_owned(),
            (Self::Topic(Topic::Named(name)), _) => name.clone(),
            (Self::Subscription(name), None) => name.clone(),
            (Self::Subscription(_), Some(def)) => {
                let entity = || def.entity.as_deref().map(default_topic);
                def.source.clone().or_else(entity).unwrap_or_default()
            }
        }
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.subscription == other.subscription
            && self.parts == other.parts
            && self.cuts().eq(other.cuts())
    }
}

impl Found {
    /// What the subscription's field group makes of each part.
    fn cuts(&self) -> impl Iterator<Item = Option<&Cut>> {
        let group = self.subscription.as_ref().and_then(|def| def.fieldgroup.as_deref());
        self.parts.iter().map(move |part| part.entity.fieldgroups.get(group?))
    }

    /// Whether anything can ever come.
    pub fn brings_anything(&self) -> bool {
        let chosen = self.subscription.as_ref().map_or(Operations::ALL, |def| def.operations);
        self.parts.iter().any(|part| part.operations().and(chosen) != Operations::NONE)
    }

    /// How its events are written.
    pub fn formats(&self) -> HashSet<Format> {
        let events = self.parts.iter().flat_map(Part::events);
        events.map(|event| event.format).collect()
    }
}

impl Entities {
    /// Every name that a feed can be asked for by, with what it brings.
    pub fn feeds(&self) -> Vec<(Asked, Found)> {
        let entities = self.entities().iter().map(|entity| Asked::Entity(entity.name.clone()));
        let topics = self.topics().into_iter().map(|name| Topic::Named(name.to_owned()));
        let topics = topics.chain([Topic::All]).map(Asked::Topic);
        let subscriptions = self.subscriptions().iter();
        let subscriptions = subscriptions.map(|def| Asked::Subscription(def.name.clone()));
        let asked = entities.chain(topics).chain(subscriptions);
        let found = asked.filter_map(|asked| self.find(&asked).map(|found| (asked, found)));
        found.filter(|(_, found)| found.brings_anything()).collect()
    }

    /// What a request names. `None` is `404`.
    pub fn find(&self, asked: &Asked) -> Option<Found> {
        let found = match asked {
            Asked::Entity(name) => {
                Found { subscription: None, parts: self.of_entity(name).into_iter().collect() }
            }
            Asked::Topic(topic) => Found { subscription: None, parts: self.of_topic(topic) },
            Asked::Subscription(name) => {
                let subscription = self.subscription(name)?.clone();
                let parts = self.of_subscription(&subscription);
                Found { subscription: Some(subscription), parts }
            }
        };
        (!found.parts.is_empty()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::fixture::entities;

    const ORDER: &str = "
entities:
  - name: Order
    collection: shop.orders
    source: o
    events: [{ topic: orders }]
    subscriptions: [{ name: own }]
subscriptions: [{ name: all, source: orders }]
";

    #[test]
    fn what_is_found_changes_with_what_it_is_made_of() {
        let asked = [
            Asked::Entity("Order".to_owned()),
            Asked::Topic(Topic::Named("orders".to_owned())),
            Asked::Topic(Topic::All),
            Asked::Subscription("own".to_owned()),
            Asked::Subscription("all".to_owned()),
        ];
        let more = format!("{ORDER}  - {{ name: more, source: orders }}\n").replace(
            "subscriptions: [{ name: all, source: orders }]",
            "subscriptions:\n  - { name: all, source: orders }",
        );
        let (before, same) = (entities(ORDER), entities(&more));
        let changed = entities(&ORDER.replace("source: o\n", "source: other\n"));
        for asked in &asked {
            let found = before.find(asked).unwrap();
            assert_eq!(same.find(asked).as_ref(), Some(&found), "{asked:?}");
            assert_ne!(changed.find(asked).as_ref(), Some(&found), "{asked:?}");
        }
        let topics = asked.iter().map(|asked| asked.topic(&before.find(asked).unwrap()));
        let expected = ["entity.Order", "orders", "*", "entity.Order", "orders"];
        assert_eq!(topics.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_field_group_is_that_of_whoever_asks_for_it() {
        let with = |groups: &str| {
            let entity = ORDER
                .replace("source: o\n", &format!("source: o\n    fieldgroups: {{{groups}}}\n"));
            let grouped = "{ name: grouped, source: orders, fieldgroup: a }";
            entities(&entity.replace("[{ name: all", &format!("[{grouped}, {{ name: all")))
        };
        let before = with("a: [x]");
        for (asked, groups, is_same) in [
            ("own", "a: [y], b: [x]", true),
            ("all", "a: [y]", true),
            ("grouped", "a: [x], b: [x]", true),
            ("grouped", "a: [y]", false),
        ] {
            let asked = Asked::Subscription(asked.to_owned());
            let same = before.find(&asked) == with(groups).find(&asked);
            assert_eq!(same, is_same, "{asked:?} {groups}");
        }
    }

    #[test]
    fn what_is_not_declared_is_not_found() {
        let order = entities(ORDER);
        for asked in [
            Asked::Entity("order".to_owned()),
            Asked::Entity("Order\n".to_owned()),
            Asked::Topic(Topic::Named("entity.Order".to_owned())),
            Asked::Subscription("orders".to_owned()),
        ] {
            assert_eq!(order.find(&asked), None, "{asked:?}");
        }
    }
}
