//! What is sent, as JSON schemas: the frames of the contract.

use serde_json::{Map, Value, json};

use crate::envelope::Format;

/// Every message, by the name of its event.
pub(super) fn messages() -> Value {
    let described = ROWS.iter().map(|(name, summary, _)| {
        let payload = json!({ "$ref": format!("#/components/schemas/{name}") });
        ((*name).to_owned(), json!({ "name": name, "summary": summary, "payload": payload }))
    });
    let mut described: Map<_, _> = described.collect();
    for format in Format::ALL {
        described[event(format)]["contentType"] = format.media_type().into();
    }
    Value::Object(described)
}

/// The message that is an event of an entity.
pub(super) fn event(format: Format) -> &'static str {
    match format {
        Format::Json => "entityEvent",
        Format::CloudEvents => "entityCloudEvent",
        Format::Avro => "entityAvroEvent",
    }
}

/// The data of every message.
pub(super) fn all() -> Value {
    let schemas: Map<_, _> =
        ROWS.iter().map(|(name, _, schema)| ((*name).to_owned(), schema())).collect();
    Value::Object(schemas)
}

/// A message: its name, when it comes, and what its data is.
type Row = (&'static str, &'static str, fn() -> Value);

const ROWS: &[Row] = &[
    ("ready", "The stream is live from here; the first frame.", ready),
    ("change", "A change of a document.", change),
    ("leave", "A document stopped matching.", change),
    ("status", "The source went down or came back.", status),
    ("reset", "Changes were or may have been missed.", reset),
    ("skipped", "One event could not be delivered.", skipped),
    ("expiring", "The token that the client came with ends soon.", expiring),
    ("heartbeat", "Nothing happened, and the position moved on.", heartbeat),
    ("close", "The last frame.", close),
    ("entityEvent", "An event of an entity, in its envelope.", entity_event),
    ("entityCloudEvent", "The same as CloudEvents 1.0 in JSON.", entity_cloud_event),
    ("entityAvroEvent", "The same in Avro's single-object encoding.", entity_avro_event),
];

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn ready() -> Value {
    let properties = json!({
        "id": { "type": "string" },
        "operationTime": { "type": "object" },
        "heartbeat": { "type": "integer", "description": "milliseconds, 0 for none" },
        "sub": { "type": "integer", "description": "the subscriber's number, on entity feeds" },
    });
    object(&properties, &["id", "operationTime", "heartbeat"])
}

fn change() -> Value {
    let properties = json!({
        "operationType": { "type": "string" },
        "ns": { "type": "object" },
        "documentKey": { "type": "object" },
        "fullDocument": { "type": ["object", "null"] },
        "fullDocumentBeforeChange": { "type": ["object", "null"] },
        "updateDescription": { "type": "object" },
        "clusterTime": {},
        "wallTime": {},
    });
    object(&properties, &[])
}

fn status() -> Value {
    let properties = json!({
        "state": { "type": "string", "enum": ["degraded", "recovered"] },
        "since": { "type": "string", "format": "date-time" },
    });
    object(&properties, &["state", "since"])
}

fn reset() -> Value {
    let links = "where several collections are watched";
    let recover = json!({
        "link": { "type": "string" },
        "links": { "type": "array", "items": { "type": "string" }, "description": links },
        "advice": { "type": "string" },
    });
    let properties = json!({
        "reason": { "type": "string" },
        "message": { "type": "string" },
        "recover": object(&recover, &["link", "advice"]),
    });
    object(&properties, &["reason", "message", "recover"])
}

fn skipped() -> Value {
    object(&json!({ "reason": { "type": "string" } }), &["reason"])
}

fn expiring() -> Value {
    object(&json!({ "expires": { "type": "string", "format": "date-time" } }), &["expires"])
}

fn heartbeat() -> Value {
    object(&json!({ "id": { "type": "string" } }), &["id"])
}

fn close() -> Value {
    let properties = json!({
        "code": { "type": "integer" },
        "reason": { "type": "string" },
        "reconnect": { "type": "boolean" },
    });
    object(&properties, &["code", "reason", "reconnect"])
}

fn entity_event() -> Value {
    let properties = json!({
        "id": { "type": "string" },
        "type": { "type": "string" },
        "source": { "type": "string" },
        "subject": { "type": "string" },
        "time": { "type": "string", "format": "date-time" },
        "entity": { "type": "string" },
        "operation": { "type": "string", "enum": ["create", "update", "delete"] },
        "tenant": { "type": ["string", "null"] },
        "user_id": { "type": ["string", "null"] },
        "data": { "type": ["object", "null"] },
    });
    object(&properties, &["id", "type", "source", "time"])
}

fn entity_cloud_event() -> Value {
    let properties = json!({
        "specversion": { "type": "string", "enum": ["1.0"] },
        "id": { "type": "string" },
        "type": { "type": "string" },
        "source": { "type": "string" },
        "subject": { "type": "string" },
        "time": { "type": "string", "format": "date-time" },
        "datacontenttype": { "type": "string" },
        "entity": { "type": "string" },
        "operation": { "type": "string", "enum": ["create", "update", "delete"] },
        "tenant": { "type": "string" },
        "userid": { "type": "string" },
        "data": { "type": ["object", "null"] },
    });
    object(&properties, &["specversion", "id", "type", "source"])
}

fn entity_avro_event() -> Value {
    json!({
        "type": "string",
        "contentEncoding": "base64",
        "description": "By the schema that the entity's /schema serves. Base64 over server-sent events \
            and in messages of tailwater.v1; binary on a plain WebSocket.",
    })
}
