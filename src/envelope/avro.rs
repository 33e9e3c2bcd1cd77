//! The envelope in Avro's single-object encoding: two marker bytes, the fingerprint of the schema,
//! the record.
//!
//! Documents have no schema, so `data` is the JSON text that the `json` format has there, or null:
//! a reader that knows the envelope needs no new schema when documents change. `time` is the
//! logical type `timestamp-millis`.

use apache_avro::{
    Schema,
    headers::{HeaderBuilder, RabinFingerprintHeader},
    types::Value as Avro,
    writer::datum::GenericDatumWriter,
};
use serde_json::{Value, json};

use super::{Envelope, EnvelopeError, plain};

/// The schema of one entity's envelopes.
#[derive(Clone, Debug)]
pub struct AvroSchema {
    json: Value,
    schema: Schema,
    header: Vec<u8>,
}

impl AvroSchema {
    /// The schema for an entity: a record named after it in the namespace `tailwater`. Letters that
    /// Avro does not allow in names become `_`.
    ///
    /// # Errors
    /// The name is empty.
    pub fn of_entity(entity: &str) -> Result<Self, EnvelopeError> {
        let logical = json!({ "type": "long", "logicalType": "timestamp-millis" });
        let json = describe(entity, &logical);
        let parse = |json| Schema::parse(json).map_err(|error| refused(&error));
        let schema = parse(&json)?;
        // The fingerprint is that of the parsing canonical form, in which a logical type is its plain
        // one. The crate leaves an object there, and so another fingerprint than other readers find.
        let plain = parse(&describe(entity, &json!("long")))?;
        let header = RabinFingerprintHeader::from_schema(&plain).build_header();
        Ok(Self { json, schema, header })
    }

    /// The schema as it is published.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The envelope's bytes.
    ///
    /// # Errors
    /// The document cannot be read.
    pub fn encode(&self, envelope: &Envelope<'_>) -> Result<Vec<u8>, EnvelopeError> {
        let record = record(envelope)?;
        let writer = GenericDatumWriter::builder(&self.schema).build();
        let writer = writer.map_err(|error| refused(&error))?;
        let mut bytes = self.header.clone();
        writer.write_value_ref(&mut bytes, &record).map_err(|error| refused(&error))?;
        Ok(bytes)
    }
}

fn describe(entity: &str, time: &Value) -> Value {
    let name: String =
        entity.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let optional = json!(["null", "string"]);
    json!({
        "type": "record",
        "name": name,
        "namespace": "tailwater",
        "doc": format!("An event of the entity {entity}."),
        "fields": [
            { "name": "id", "type": "string" },
            { "name": "type", "type": "string" },
            { "name": "source", "type": "string" },
            { "name": "subject", "type": optional, "doc": "The key of the document." },
            { "name": "time", "type": time },
            { "name": "entity", "type": "string" },
            { "name": "operation", "type": "string", "doc": "create, update or delete." },
            { "name": "tenant", "type": optional },
            { "name": "user_id", "type": optional },
            { "name": "data", "type": optional, "doc": "The document as JSON text." },
        ],
    })
}

fn record(envelope: &Envelope<'_>) -> Result<Avro, EnvelopeError> {
    let text = |text: &str| Avro::String(text.to_owned());
    let fields = [
        ("id", text(envelope.id)),
        ("type", text(&envelope.kind())),
        ("source", text(envelope.source)),
        ("subject", optional(envelope.subject)),
        ("time", Avro::TimestampMillis(envelope.time.timestamp_millis())),
        ("entity", text(envelope.entity)),
        ("operation", text(envelope.operation)),
        ("tenant", optional(envelope.tenant)),
        ("user_id", optional(envelope.user_id)),
        ("data", optional(data(envelope)?.as_deref())),
    ];
    Ok(Avro::Record(fields.map(|(name, value)| (name.to_owned(), value)).into()))
}

fn data(envelope: &Envelope<'_>) -> Result<Option<String>, EnvelopeError> {
    let Some(document) = envelope.data else { return Ok(None) };
    let mut out = Vec::with_capacity(document.as_bytes().len() * 2);
    plain::write_document(document, &mut out)?;
    Ok(Some(String::from_utf8(out).map_err(|_| plain::PlainError::Malformed)?))
}

fn optional(text: Option<&str>) -> Avro {
    match text {
        None => Avro::Union(0, Box::new(Avro::Null)),
        Some(text) => Avro::Union(1, Box::new(Avro::String(text.to_owned()))),
    }
}

fn refused(error: &apache_avro::Error) -> EnvelopeError {
    EnvelopeError::Avro(error.to_string())
}
