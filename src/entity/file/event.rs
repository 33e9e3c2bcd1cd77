//! An event of an entity.

use super::reading::{Foreign, Reading};
use crate::{
    binding::Cut,
    entity::{EventDef, Operations, default_topic, topic},
    envelope::Format,
    yaml::Node,
};

const KEYS: &[&str] = &["name", "operations", "condition", "topic", "format", "include", "exclude"];

/// The dialect of older examples.
const FOREIGN: &[Foreign] = &[
    ("trigger", "write `operations: [create, update, delete]`, as many as are meant"),
    ("triggers", "write `operations: [create, update, delete]`, as many as are meant"),
    ("publish", "write `topic`, `format` and `include` on the event itself"),
    ("payload", "write `include` or `exclude` on the event itself"),
    ("when", "write `condition: { language: expr, expression: \"…\" }`"),
];

impl Reading<'_> {
    pub(super) fn event(&mut self, node: &Node, entity: &str) -> Option<EventDef> {
        if !self.is_map(
            node,
            "an event is a mapping with `name`, `operations` and others",
            KEYS,
            FOREIGN,
        ) {
            return None;
        }
        let topic = self.topic(node).unwrap_or_else(|| default_topic(entity));
        let name =
            self.text(node, "name").map_or_else(|| topic.clone(), |(name, _)| name.to_owned());
        if name.is_empty() || name.len() > 255 || name.contains(char::is_control) {
            self.refuse(node.mark, "the name of an event has 1 to 255 letters");
        }
        Some(EventDef {
            name,
            operations: self.operations(node, "operations"),
            condition: self.script(node, "condition"),
            topic,
            format: self.format(node),
            cut: self.cut(node),
            origin: self.origin(node.mark),
        })
    }

    /// Absent is all of them.
    pub(super) fn operations(&mut self, node: &Node, key: &str) -> Operations {
        let Some((names, mark)) = self.texts(node, key) else { return Operations::ALL };
        self.taken(mark, Operations::of_names(names)).unwrap_or(Operations::ALL)
    }

    fn topic(&mut self, node: &Node) -> Option<String> {
        let (name, mark) = self.text(node, "topic")?;
        self.taken(mark, topic::check_name(name))?;
        Some(name.to_owned())
    }

    fn format(&mut self, node: &Node) -> Format {
        let names = Format::ALL.map(|format| (format.as_str(), format));
        self.one_of(node, "format", &names).unwrap_or_default()
    }

    /// `include` wins: what is not listed is left out anyway.
    fn cut(&mut self, node: &Node) -> Option<Cut> {
        let (include, exclude) = (self.only(node, "include"), self.all_but(node, "exclude"));
        if include.is_some() && exclude.is_some() {
            self.warn(node.mark, "`exclude` is without effect beside `include`; remove one");
        }
        include.or(exclude)
    }
}
