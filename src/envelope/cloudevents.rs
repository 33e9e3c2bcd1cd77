//! CloudEvents 1.0 in its JSON format.
//!
//! Source of the rules: the specification, version 1.0.2. Names of attributes are lower-case
//! letters and digits, an attribute without value is left out, text must not be empty nor hold
//! control characters.

use super::{Envelope, json::Fields, plain::PlainError, rfc3339};

/// The core attributes, and as extensions `entity`, `operation`, `tenant` and `userid`. Without
/// data, `data` and `datacontenttype` are left out.
pub(super) fn write(envelope: &Envelope<'_>) -> Result<Vec<u8>, PlainError> {
    let mut fields = Fields::new(envelope);
    fields.text("specversion", "1.0");
    fields.text("id", envelope.id);
    fields.text("type", &envelope.kind());
    fields.text("source", envelope.source);
    fields.optional("subject", allowed(envelope.subject));
    fields.optional("time", rfc3339(envelope.time).as_deref());
    fields.text("entity", envelope.entity);
    fields.text("operation", envelope.operation);
    fields.optional("tenant", allowed(envelope.tenant));
    fields.optional("userid", allowed(envelope.user_id));
    if let Some(data) = envelope.data {
        fields.text("datacontenttype", "application/json");
        fields.document("data", data)?;
    }
    Ok(fields.end())
}

/// Text that an attribute may hold. A key that it may not hold is left out; the document has it.
fn allowed(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty() && !text.contains(is_refused))
}

/// Control characters, and the code points that Unicode reserves as noncharacters.
fn is_refused(letter: char) -> bool {
    let code = u32::from(letter);
    letter.is_control() || (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE
}
