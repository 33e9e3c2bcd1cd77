//! What is asked and answered, as OpenAPI 3.1: documents, metadata, and the resources under `/_/`.

use serde_json::{Value, json};

use super::Served;

impl Served {
    /// The document. Databases and collections have any name, so their paths are templates.
    pub fn openapi(&self) -> Value {
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Tailwater",
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
                "description": "Documents, metadata and the service's own resources. What is streamed is described by /_/asyncapi.json.",
            },
            "security": [{ "basic": [] }, { "bearer": [] }, { "cookie": [] }, { "ticket": [] }],
            "paths": paths(),
            "components": components(),
        });
        if let Some(host) = &self.host {
            document["servers"] = json!([{ "url": format!("http://{host}") }]);
        }
        document
    }
}

fn paths() -> Value {
    let (db, coll) = (path("db"), path("coll"));
    let here = json!([db, coll]);
    json!({
        "/{db}": { "parameters": [path("db")], "put": write("Declare a database", &["200", "201"]) },
        "/{db}/{coll}": {
            "parameters": here,
            "get": get("Read documents", &["filter", "sort", "keys", "page", "pagesize", "count", "jsonMode"]),
            "put": write("Replace the metadata, streams included", &["200", "201", "409", "412", "422"]),
            "patch": write("Change the metadata, streams included", &["200", "409", "412", "422"]),
        },
        "/{db}/{coll}/_meta": { "parameters": here, "get": get("Read the metadata", &["jsonMode"]) },
        "/{db}/{coll}/_size": { "parameters": here, "get": get("Count documents", &["filter"]) },
        "/{db}/{coll}/_streams": { "parameters": here, "get": get("List the declared streams", &[]) },
        "/{db}/{coll}/_streams/{uri}": {
            "parameters": [path("db"), path("coll"), path("uri")],
            "get": stream(),
        },
        "/{db}/{coll}/{id}": {
            "parameters": [path("db"), path("coll"), path("id")],
            "get": get("Read one document", &["id_type", "jsonMode"]),
        },
        "/_/tickets": { "post": tickets() },
        "/_/explain": { "get": get("Tell the plan of a stream", &["path"]) },
        "/_/asyncapi.json": { "get": get("Describe what is streamed", &[]) },
        "/_/openapi.json": { "get": get("This document", &[]) },
        "/_/status": { "get": get("How things stand; root role", &[]) },
        "/_/sessions": { "delete": get("Close what a user has open; root role", &["user"]) },
        "/_/metrics": { "get": text("Counters in Prometheus' text format; root role") },
        "/_/health/live": { "get": open(get("Whether the process answers", &[])) },
        "/_/health/ready": { "get": open(get("Whether streams can be opened", &[])) },
    })
}

fn path(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

fn get(summary: &str, query: &[&str]) -> Value {
    let parameter =
        |name: &&str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
    json!({
        "summary": summary,
        "parameters": query.iter().map(parameter).collect::<Vec<_>>(),
        "responses": {
            "200": { "description": "OK", "content": { "application/json": { "schema": {} } } },
            "default": { "$ref": "#/components/responses/error" },
        },
    })
}

fn write(summary: &str, statuses: &[&str]) -> Value {
    let mut responses = json!({ "default": { "$ref": "#/components/responses/error" } });
    for status in statuses {
        responses[*status] = match *status {
            "200" => json!({ "description": "OK" }),
            "201" => json!({ "description": "Created" }),
            _ => json!({ "$ref": "#/components/responses/error" }),
        };
    }
    json!({
        "summary": summary,
        "requestBody": { "content": { "application/json": { "schema": { "type": "object" } } } },
        "responses": responses,
    })
}

fn stream() -> Value {
    let mut stream =
        get("Open a stream", &["lastEventId", "avars", "jsonMode", "heartbeat", "etag"]);
    let events = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    stream["responses"]["200"] = json!({ "description": "Server-sent events", "content": events });
    stream["responses"]["101"] = json!({ "description": "WebSocket" });
    stream
}

fn tickets() -> Value {
    let text = json!({ "type": "string" });
    let asked = json!({ "type": "object", "properties": { "path": text }, "required": ["path"] });
    let issued = json!({
        "type": "object",
        "properties": { "ticket": text, "expires": text, "url": text },
        "required": ["ticket", "expires", "url"],
    });
    json!({
        "summary": "Make a right to open one stream",
        "requestBody": { "required": true, "content": { "application/json": { "schema": asked } } },
        "responses": {
            "201": { "description": "Created", "content": { "application/json": { "schema": issued } } },
            "default": { "$ref": "#/components/responses/error" },
        },
    })
}

fn text(summary: &str) -> Value {
    let mut text = get(summary, &[]);
    text["responses"]["200"]["content"] =
        json!({ "text/plain": { "schema": { "type": "string" } } });
    text
}

/// Asks for no credential.
fn open(mut operation: Value) -> Value {
    operation["security"] = json!([]);
    operation
}

fn components() -> Value {
    let properties = json!({
        "http status code": { "type": "integer" },
        "http status description": { "type": "string" },
        "message": { "type": "string" },
    });
    let schema = json!({ "$ref": "#/components/schemas/error" });
    json!({
        "schemas": { "error": { "type": "object", "properties": properties } },
        "responses": {
            "error": {
                "description": "Why not; 401 and 403 have no body",
                "content": { "application/json": { "schema": schema } },
            },
        },
        "securitySchemes": {
            "basic": { "type": "http", "scheme": "basic" },
            "bearer": { "type": "http", "scheme": "bearer" },
            "cookie": { "type": "apiKey", "in": "cookie", "name": "rh_auth" },
            "ticket": { "type": "apiKey", "in": "query", "name": "ticket" },
        },
    })
}
