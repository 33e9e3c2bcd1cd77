//! The plain envelope: the fields in a fixed order, in one line.

use super::{
    Envelope,
    plain::{self, PlainError},
    rfc3339,
};

/// `{"id","type","source","subject"?,"time","entity","operation","tenant","user_id","data"}`.
/// `subject` is left out when the change does not tell; `tenant`, `user_id` and `data` are always
/// there and null when there is nothing to say.
pub(super) fn write(envelope: &Envelope<'_>) -> Result<Vec<u8>, PlainError> {
    let mut fields = Fields::new(envelope);
    fields.text("id", envelope.id);
    fields.text("type", &envelope.kind());
    fields.text("source", envelope.source);
    fields.optional("subject", envelope.subject);
    fields.text("time", &rfc3339(envelope.time).unwrap_or_default());
    fields.text("entity", envelope.entity);
    fields.text("operation", envelope.operation);
    fields.nullable("tenant", envelope.tenant);
    fields.nullable("user_id", envelope.user_id);
    match envelope.data {
        Some(data) => fields.document("data", data)?,
        None => fields.raw("data", b"null"),
    }
    Ok(fields.end())
}

/// An object on its way out.
pub(super) struct Fields {
    out: Vec<u8>,
}

impl Fields {
    pub(super) fn new(envelope: &Envelope<'_>) -> Self {
        let size = envelope.data.map_or(0, |data| data.as_bytes().len() * 2);
        Self { out: Vec::with_capacity(size + 384) }
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        plain::write_text(text, &mut self.out);
    }

    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(super) fn document(
        &mut self,
        name: &str,
        document: &bson::RawDocument,
    ) -> Result<(), PlainError> {
        self.name(name);
        plain::write_document(document, &mut self.out)
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn nullable(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.raw(name, b"null"),
        }
    }

    fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        self.out.extend_from_slice(json);
    }

    fn name(&mut self, name: &str) {
        self.out.push(if self.out.is_empty() { b'{' } else { b',' });
        plain::write_text(name, &mut self.out);
        self.out.push(b':');
    }
}
