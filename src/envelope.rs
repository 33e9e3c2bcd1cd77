//! Envelopes: an event of an entity as it leaves, in the format that its declaration names.
//!
//! | format | what it is |
//! |---|---|
//! | `json` | one line of JSON with the fields of [`Envelope`] |
//! | `cloudevents` | CloudEvents 1.0 in its JSON format, one line |
//! | `avro` | Avro's single-object encoding of [`AvroSchema`] |
//!
//! In all of them a document is plain JSON, see [`plain`]. Everything here is pure and total: any
//! document, malformed bytes included, is an envelope or an error, and text never holds a line
//! break.

pub mod avro;
mod cloudevents;
mod format;
mod json;
pub mod plain;
mod time;

pub use avro::AvroSchema;
pub use format::{Format, UnknownFormat};
pub use time::rfc3339;

use bson::{DateTime, RawDocument};
use bytes::Bytes;

/// One event of an entity, before it has a format.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// Unique in the entity, and the same each time and on every replica.
    pub id: &'a str,
    /// Where events of the entity come from: a URI reference, as declared.
    pub source: &'a str,
    /// The document's key as text. `None`: the change does not tell.
    pub subject: Option<&'a str>,
    /// When the change was committed.
    pub time: DateTime,
    /// The entity's name.
    pub entity: &'a str,
    /// `create`, `update` or `delete`.
    pub operation: &'a str,
    /// Whose document it is. `None`: unknown, not declared, or hidden from the reader.
    pub tenant: Option<&'a str>,
    /// Who made the change, as far as the document says. `None`: as for `tenant`.
    pub user_id: Option<&'a str>,
    /// What the reader is shown of the document. `None`: nothing, as for a delete without
    /// pre-image.
    pub data: Option<&'a RawDocument>,
}

/// An envelope that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// One line of JSON.
    Text(Bytes),
    /// Avro: a binary message on a WebSocket, base64 elsewhere.
    Binary(Bytes),
}

impl Body {
    /// The envelope as it stands in a message of its own.
    pub fn bytes(&self) -> &Bytes {
        let (Self::Text(bytes) | Self::Binary(bytes)) = self;
        bytes
    }
}

/// Why an envelope could not be written. The event is skipped, and the reader told so.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// The document is not BSON, or nests too deep.
    #[error("the document is malformed: {0}")]
    Document(#[from] plain::PlainError),
    /// Avro refused; a fault of ours.
    #[error("the Avro schema does not fit the envelope: {0}")]
    Avro(String),
}

impl Envelope<'_> {
    /// The envelope in a format.
    ///
    /// # Errors
    /// The document cannot be read.
    pub fn encode(&self, format: Format, schema: &AvroSchema) -> Result<Body, EnvelopeError> {
        match format {
            Format::Json => Ok(Body::Text(json::write(self)?.into())),
            Format::CloudEvents => Ok(Body::Text(cloudevents::write(self)?.into())),
            Format::Avro => schema.encode(self).map(|bytes| Body::Binary(bytes.into())),
        }
    }

    /// `entity.create`, `entity.update` or `entity.delete`.
    pub fn kind(&self) -> String {
        format!("entity.{}", self.operation)
    }
}

#[cfg(test)]
mod tests;
