//! What a client of the subprotocol asks of its socket.

use std::sync::Arc;

use bson::Bson;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    config::Secret,
    http::visitor::StreamPath,
    json::{self, Limits},
};

/// A stream's name on its socket, given by the client: a string or a whole number, as JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reference(Arc<str>);

/// One request.
#[derive(Debug)]
pub(super) struct SocketRequest {
    pub(super) reference: Reference,
    pub(super) wish: Wish,
}

/// What is wanted.
#[derive(Debug)]
pub(super) enum Wish {
    Subscribe(Box<Subscribe>),
    Unsubscribe,
    /// To go on with a newer credential: what would stand in an `Authorization` header.
    Authorize(Secret),
}

/// A stream to open.
#[derive(Debug)]
pub(super) struct Subscribe {
    pub(super) path: StreamPath,
    /// Typed variables.
    pub(super) vars: Option<Bson>,
    /// Where to go on from.
    pub(super) last_event_id: Option<String>,
}

/// Why a request is not carried out, and which one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) reference: Option<Reference>,
    /// An HTTP status.
    pub(super) status: u16,
    pub(super) message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    path: String,
    vars: Option<Map<String, Value>>,
    last_event_id: Option<String>,
}

/// Longest string that names a stream, bytes.
const MAX_REFERENCE: usize = 128;

impl Reference {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text.len() <= MAX_REFERENCE => {
                Ok(Self(value.to_string().into()))
            }
            Value::Number(number) if !number.is_f64() => Ok(Self(value.to_string().into())),
            Value::String(_) => Err(format!("ref is longer than {MAX_REFERENCE} bytes")),
            _ => Err("ref is neither a string nor a whole number".to_owned()),
        }
    }

    /// Its JSON text.
    pub(super) fn as_json(&self) -> &str {
        &self.0
    }
}

impl SocketRequest {
    /// Reads a message.
    pub(super) fn parse(message: &[u8]) -> Result<Self, Refused> {
        let refused = |message: String| Refused { reference: None, status: 400, message };
        let value: Value = serde_json::from_slice(message)
            .map_err(|error| refused(format!("the message is not JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(refused(format!("the message is no object; send {FORM}")));
        };
        let named =
            fields.remove("ref").ok_or_else(|| refused(format!("ref is missing; send {FORM}")))?;
        let reference = Reference::read(&named).map_err(refused)?;
        match Wish::read(fields) {
            Ok(wish) => Ok(Self { reference, wish }),
            Err(message) => Err(Refused { reference: Some(reference), status: 400, message }),
        }
    }
}

impl Wish {
    fn read(mut fields: Map<String, Value>) -> Result<Self, String> {
        let [subscribe, unsubscribe, authorize] =
            ["subscribe", "unsubscribe", "authorize"].map(|name| fields.remove(name));
        if let Some(unknown) = fields.keys().next() {
            let unknown: String = unknown.chars().take(100).collect();
            return Err(format!("unknown key {unknown:?}; send {FORM}"));
        }
        match (subscribe, unsubscribe, authorize) {
            (Some(written), None, None) => {
                Subscribe::read(written).map(|it| Self::Subscribe(Box::new(it)))
            }
            (None, Some(Value::Bool(true)), None) => Ok(Self::Unsubscribe),
            (None, None, Some(Value::String(credential))) => {
                Ok(Self::Authorize(Secret::new(credential)))
            }
            _ => Err(format!("no subscribe, unsubscribe or authorize by itself; send {FORM}")),
        }
    }
}

const FORM: &str = r#"{"subscribe": {"path", "vars", "lastEventId"}, "ref"}, {"unsubscribe": true, "ref"} or {"authorize": "Bearer ...", "ref"}"#;

impl Subscribe {
    fn read(value: Value) -> Result<Self, String> {
        let written: Written =
            serde_json::from_value(value).map_err(|error| format!("subscribe: {error}"))?;
        let path = StreamPath::parse(&written.path).map_err(|error| error.to_string())?;
        let vars = written.vars.map(|vars| {
            let text = Value::Object(vars).to_string();
            json::parse_value(&text, Limits::default()).map_err(|error| format!("vars: {error}"))
        });
        let last_event_id = written.last_event_id.filter(|id| !id.is_empty());
        Ok(Self { path, vars: vars.transpose()?, last_event_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(message: &str, reference: Option<&str>, says: &str) {
        let refused = SocketRequest::parse(message.as_bytes()).unwrap_err();
        assert_eq!(refused.reference.as_ref().map(Reference::as_json), reference, "{message}");
        assert!(refused.message.contains(says), "{message}: {}", refused.message);
    }

    #[test]
    fn requests_are_read() {
        let text = r#"{"subscribe":{"path":"/d/c/_streams/u?x=1","vars":{"t":{"$oid":"62166d53ebdcd56455a1a7aa"}},"lastEventId":""},"ref":7}"#;
        let request = SocketRequest::parse(text.as_bytes()).unwrap();
        assert_eq!(request.reference.as_json(), "7");
        let Wish::Subscribe(subscribe) = request.wish else { panic!("{request:?}") };
        assert_eq!(subscribe.path.text, "/d/c/_streams/u?x=1");
        let vars = subscribe.vars.unwrap();
        assert!(vars.as_document().unwrap().get_object_id("t").is_ok());
        assert_eq!(subscribe.last_event_id, None);
        let request = SocketRequest::parse(br#"{"unsubscribe":true,"ref":"a\"b"}"#).unwrap();
        assert_eq!(request.reference.as_json(), r#""a\"b""#);
        assert!(matches!(request.wish, Wish::Unsubscribe));
        let request = SocketRequest::parse(br#"{"authorize":"Bearer hush","ref":1}"#).unwrap();
        assert!(!format!("{request:?}").contains("hush"));
        let Wish::Authorize(credential) = request.wish else { panic!("{request:?}") };
        assert_eq!(credential.expose(), "Bearer hush");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        refused("hello", None, "not JSON");
        refused("", None, "not JSON");
        refused("[1]", None, "no object");
        refused(r#"{"subscribe":{"path":"/a"}}"#, None, "ref is missing");
        refused(r#"{"unsubscribe":true,"ref":null}"#, None, "neither a string");
        refused(r#"{"unsubscribe":true,"ref":1.5}"#, None, "neither a string");
        refused(&format!(r#"{{"unsubscribe":true,"ref":"{}"}}"#, "x".repeat(129)), None, "longer");
        refused(r#"{"ref":1}"#, Some("1"), "no subscribe");
        refused(r#"{"unsubscribe":false,"ref":1}"#, Some("1"), "no subscribe");
        refused(r#"{"authorize":{},"ref":1}"#, Some("1"), "no subscribe");
        refused(r#"{"authorize":"x","unsubscribe":true,"ref":1}"#, Some("1"), "by itself");
        refused(r#"{"authorize":"Bearer hush"}"#, None, "ref is missing");
        refused(
            r#"{"subscribe":{"path":"/a"},"unsubscribe":true,"ref":1}"#,
            Some("1"),
            "by itself",
        );
        refused(r#"{"unsubscribe":true,"ref":1,"x":1}"#, Some("1"), "unknown key \"x\"");
        refused(r#"{"subscribe":{},"ref":1}"#, Some("1"), "path");
        refused(r#"{"subscribe":{"path":"/a","x":1},"ref":1}"#, Some("1"), "x");
        refused(r#"{"subscribe":{"path":"a"},"ref":1}"#, Some("1"), "path");
        refused(r#"{"subscribe":{"path":"/a","vars":[]},"ref":1}"#, Some("1"), "subscribe");
    }
}
