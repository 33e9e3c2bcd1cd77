//! What is streamed, as AsyncAPI 3.0: one channel per stream, entity, topic and subscription.

use serde_json::{Map, Value, json};

use super::{Served, ServedFeed, ServedStream, schemas};
use crate::{
    definition::VariableUse,
    entity::{Asked, Topic, Transports},
    envelope::Format,
};

/// Frames of streams, by their names in the contract.
const STREAM_MESSAGES: [&str; 9] =
    ["ready", "change", "leave", "status", "reset", "skipped", "expiring", "heartbeat", "close"];

/// Frames of entity feeds besides the events themselves.
const FEED_MESSAGES: [&str; 7] =
    ["ready", "status", "reset", "skipped", "expiring", "heartbeat", "close"];

/// A channel and everything that is said of it elsewhere.
struct Channel {
    id: String,
    address: String,
    title: String,
    description: Option<String>,
    messages: Vec<&'static str>,
    /// The parameters of its query, as a JSON schema.
    query: Value,
    transports: Transports,
}

impl Served {
    /// The document.
    pub fn asyncapi(&self) -> Value {
        let mut document = json!({
            "asyncapi": "3.0.0",
            "info": {
                "title": "Tailwater",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Changes of MongoDB collections over server-sent events and WebSocket. Each channel is opened by GET: as an event stream with `Accept: text/event-stream`, as a WebSocket by an upgrade, without a subprotocol (bare changes) or with `tailwater.v1` (every message is `{id, event, data}`).",
            },
            "defaultContentType": "application/json",
            "channels": {},
            "operations": {},
            "components": { "messages": schemas::messages(), "schemas": schemas::all() },
        });
        if let Some(host) = &self.host {
            document["servers"] = json!({
                "events": { "host": host, "protocol": "http", "description": "server-sent events" },
                "websocket": { "host": host, "protocol": "ws", "description": "WebSocket" },
            });
        }
        for channel in self.channels() {
            document["operations"][&channel.id] = channel.operation();
            document["channels"][&channel.id] = channel.describe(self.host.is_some());
        }
        document
    }

    fn channels(&self) -> Vec<Channel> {
        let streams = self.streams.iter().map(ServedStream::channel);
        let feeds = self.feeds.iter().map(ServedFeed::channel);
        let mut channels: Vec<_> = streams.chain(feeds).collect();
        let mut known = std::collections::HashSet::new();
        // Names that differ in signs only would be one id.
        for (place, channel) in channels.iter_mut().enumerate() {
            if !known.insert(channel.id.clone()) {
                channel.id = format!("{}_{place}", channel.id);
            }
        }
        channels
    }
}

impl ServedFeed {
    fn channel(&self) -> Channel {
        let (id, title) = match &self.asked {
            Asked::Entity(name) => (id(&["entity", name]), format!("Events of {name}")),
            Asked::Topic(Topic::All) => ("topics".to_owned(), "Every topic".to_owned()),
            Asked::Topic(Topic::Named(name)) => (id(&["topic", name]), format!("Topic {name}")),
            Asked::Subscription(name) => {
                (id(&["subscription", name]), format!("Subscription {name}"))
            }
        };
        let formats = self.found.formats();
        let formats = Format::ALL.into_iter().filter(|format| formats.contains(format));
        let subscription = self.found.subscription.as_ref();
        Channel {
            id,
            address: self.path.clone(),
            title,
            description: None,
            messages: formats.map(schemas::event).chain(FEED_MESSAGES).collect(),
            query: feed_query(),
            transports: subscription.map_or(Transports::ALL, |def| def.transports),
        }
    }
}

impl ServedStream {
    fn channel(&self) -> Channel {
        let named: Vec<_> = self.path.split('/').filter(|part| *part != "_streams").collect();
        Channel {
            id: id(&[&["stream"], named.as_slice()].concat()),
            address: self.path.clone(),
            title: format!("Stream {}", self.definition.uri),
            description: self.definition.description.clone(),
            messages: STREAM_MESSAGES.to_vec(),
            query: stream_query(&self.definition.variables()),
            transports: Transports::ALL,
        }
    }
}

impl Channel {
    fn describe(&self, has_servers: bool) -> Value {
        let reference = |name: &&str| {
            ((*name).to_owned(), json!({ "$ref": format!("#/components/messages/{name}") }))
        };
        let messages: Map<_, _> = self.messages.iter().map(reference).collect();
        let mut described =
            json!({ "address": self.address, "title": self.title, "messages": messages });
        if let Some(description) = &self.description {
            described["description"] = description.as_str().into();
        }
        if has_servers {
            let servers =
                [("events", self.transports.sse), ("websocket", self.transports.websocket)];
            let served = servers.into_iter().filter(|(_, served)| *served);
            let served = served.map(|(name, _)| json!({ "$ref": format!("#/servers/{name}") }));
            described["servers"] = served.collect();
        }
        if self.transports.websocket {
            let binding =
                json!({ "method": "GET", "query": self.query, "bindingVersion": "0.1.0" });
            described["bindings"] = json!({ "ws": binding });
        }
        described
    }

    fn operation(&self) -> Value {
        let channel = format!("#/channels/{}", self.id);
        let message = |name: &&str| json!({ "$ref": format!("{channel}/messages/{name}") });
        let mut described = json!({
            "action": "send",
            "channel": { "$ref": channel },
            "messages": self.messages.iter().map(message).collect::<Vec<_>>(),
        });
        if self.transports.sse {
            let binding =
                json!({ "method": "GET", "query": self.query, "bindingVersion": "0.3.0" });
            described["bindings"] = json!({ "http": binding });
        }
        described
    }
}

/// Variables are texts in the query; what steers the stream is listed with them.
fn stream_query(variables: &[VariableUse]) -> Value {
    let text = |name: &str| (name.to_owned(), json!({ "type": "string" }));
    let bound = || variables.iter().filter(|variable| !variable.server);
    let mut properties: Map<_, _> = bound().map(|variable| text(&variable.name)).collect();
    properties.extend(["lastEventId", "avars", "etag", "ticket"].map(text));
    let modes = json!({ "type": "string", "enum": ["RELAXED", "EXTENDED", "STRICT", "SHELL"] });
    properties.insert("jsonMode".to_owned(), modes);
    properties.insert("heartbeat".to_owned(), json!({ "type": "string", "enum": ["named"] }));
    let required: Vec<_> = bound()
        .filter(|variable| variable.required)
        .map(|variable| variable.name.as_str())
        .collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn feed_query() -> Value {
    json!({
        "type": "object",
        "properties": {
            "ops": { "type": "string", "description": "create, update, delete, separated by commas" },
            "heartbeat": { "type": "string", "description": "a duration like 45s, or seconds" },
            "lastEventId": { "type": "string" },
            "etag": { "type": "string", "description": "the last _etag seen, for the links of a reset" },
            "ticket": { "type": "string" },
        },
    })
}

/// A key that every generator can use as a name.
fn id(parts: &[&str]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.map(|part| part.chars().map(plain).collect()).collect::<Vec<String>>().join("_")
}

#[cfg(test)]
mod tests {
    use bson::bson;

    use super::*;
    use crate::{definition::StreamDef, entity::Entities};

    const DECLARED: &str = "entities:\n  - { name: Order, collection: shop.orders, source: //shop.example, events: [{ name: changed, operations: [create] , topic: orders }] }\nsubscriptions:\n  - { name: mine, source: orders, eventtypes: [create], transports: [sse] }\n";

    fn served() -> Served {
        let element = bson!({ "uri": "a b", "stages": [{ "$match": { "fullDocument.x": { "$var": "x" } } }] });
        let definition = StreamDef::parse(&element).unwrap();
        let stream =
            |path: &str| ServedStream { path: path.to_owned(), definition: definition.clone() };
        let file = ("e.yaml".into(), DECLARED.to_owned());
        Served {
            streams: vec![
                stream("/shop/orders/_streams/a%20b"),
                stream("/shop/orders/_streams/a_20b"),
            ],
            feeds: ServedFeed::all(&Entities::parse(&[file]).unwrap(), "/api"),
            host: Some("localhost:8080".to_owned()),
        }
    }

    #[test]
    fn every_way_to_open_a_channel_is_described() {
        let document = served().asyncapi();
        let channels = document["channels"].as_object().unwrap();
        let addresses: Vec<_> =
            channels.values().map(|it| it["address"].as_str().unwrap()).collect();
        assert_eq!(
            addresses,
            [
                "/shop/orders/_streams/a%20b",
                "/shop/orders/_streams/a_20b",
                "/api/subscribe/Order",
                "/api/subscribe?topic=orders",
                "/api/subscribe?topic=*",
                "/api/subscriptions/mine",
            ]
        );
        let stream = &channels["stream_shop_orders_a_20b"];
        assert_eq!(stream["bindings"]["ws"]["query"]["required"], json!(["x"]));
        let mine = &channels["subscription_mine"];
        assert_eq!(mine["servers"], json!([{ "$ref": "#/servers/events" }]));
        assert!(mine.get("bindings").is_none(), "it is not served over WebSocket");
    }

    /// References lead somewhere, and operations and channels belong to each other.
    #[test]
    fn references_resolve() {
        let document = served().asyncapi();
        let mut found = 0;
        let mut waiting = vec![&document];
        while let Some(value) = waiting.pop() {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
                found += 1;
            }
            match value {
                Value::Object(fields) => waiting.extend(fields.values()),
                Value::Array(items) => waiting.extend(items),
                _ => {}
            }
        }
        assert!(found > 50, "{found}");
        assert_eq!(document["operations"].as_object().unwrap().len(), 6);
    }
}
