//! A subscription, of an entity or of a file.

use super::reading::{Foreign, Reading};
use crate::{
    entity::{Scope, SubscriptionDef, Transport, Transports, topic},
    yaml::Node,
};

const KEYS: &[&str] =
    &["name", "source", "eventtypes", "scope", "rls", "fieldgroup", "transports", "filter"];

const FOREIGN: &[Foreign] = &[
    ("topic", "write `source`"),
    ("operations", "write `eventtypes`"),
    ("condition", "write `filter: { language: expr, expression: \"…\" }`"),
];

const SCOPES: &[(&str, Scope)] =
    &[("global", Scope::Global), ("tenant", Scope::Tenant), ("user", Scope::User)];

const TRANSPORTS: &[(&str, Transport)] =
    &[("sse", Transport::Sse), ("websocket", Transport::WebSocket)];

impl Reading<'_> {
    /// `entity` is set for a subscription that stands in an entity.
    pub(super) fn subscription(
        &mut self,
        node: &Node,
        entity: Option<&str>,
    ) -> Option<SubscriptionDef> {
        let otherwise = "a subscription is a mapping with `name`, `source` and others";
        if !self.is_map(node, otherwise, KEYS, FOREIGN) {
            return None;
        }
        let source = match entity {
            Some(_) => self.text(node, "source"),
            None => self.required(node, "source"),
        };
        let source = source.and_then(|(source, mark)| self.source_topic(source, mark));
        Some(SubscriptionDef {
            entity: entity.map(str::to_owned),
            source,
            operations: self.operations(node, "eventtypes"),
            scope: self.one_of(node, "scope", SCOPES),
            rls: self.flag(node, "rls"),
            fieldgroup: self.text(node, "fieldgroup").map(|(name, _)| name.to_owned()),
            transports: self.transports(node),
            filter: self.script(node, "filter"),
            origin: self.origin(node.mark),
            name: self.name(node, "name")?,
        })
    }

    fn source_topic(&mut self, source: &str, mark: (u64, u64)) -> Option<String> {
        if source == "*" {
            self.refuse(mark, "a subscription names one topic; `*` is asked for with ?topic=*");
            return None;
        }
        self.taken(mark, topic::check_name(source))?;
        Some(source.to_owned())
    }

    fn transports(&mut self, node: &Node) -> Transports {
        let Some((names, mark)) = self.texts(node, "transports") else { return Transports::ALL };
        let mut found = Transports { sse: false, websocket: false };
        for name in names {
            if ["graphql", "grpc"].contains(&name) {
                self.refuse(mark, format!("`{name}` is not served; use sse or websocket"));
                continue;
            }
            match self.word(name, mark, TRANSPORTS) {
                Some(Transport::Sse) => found.sse = true,
                Some(Transport::WebSocket) => found.websocket = true,
                None => {}
            }
        }
        found
    }
}
