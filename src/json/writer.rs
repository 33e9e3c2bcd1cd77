//! Raw BSON to JSON text, in one pass over the bytes.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf, cstr};

use super::mode::JsonMode;
use super::text::write_text;
use super::walk::{Elements, JsonError, RawValue};

/// How deep documents and arrays may nest, the outermost one included. MongoDB stores fewer.
pub const MAX_DEPTH: usize = 200;

/// Appends `document` to `out` as one line of JSON, with `", "` and `": "` as separators.
///
/// Keys keep their order and are all written, also when one is there twice. Text that is not
/// UTF-8 is written with U+FFFD in place of what cannot be read. The output never holds a raw
/// control character.
///
/// # Errors
/// [`JsonError`] when the bytes are not BSON or nest too deep; `out` is then as it was.
pub fn write_document(
    document: &RawDocument,
    mode: JsonMode,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    all_or_nothing(mode, out, |writer| writer.document(document.as_bytes(), MAX_DEPTH))
}

/// Appends `document` as [`write_document`] does, without the top-level fields that `omit` names.
///
/// # Errors
/// As [`write_document`].
pub fn write_without(
    document: &RawDocument,
    omit: &[&str],
    mode: JsonMode,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    all_or_nothing(mode, out, |writer| writer.fields(document.as_bytes(), omit, MAX_DEPTH))
}

/// Appends one `value` to `out`, as [`write_document`] would write it inside a document.
///
/// # Errors
/// As [`write_document`].
pub fn write_value(
    value: RawBsonRef<'_>,
    mode: JsonMode,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    match value {
        RawBsonRef::Document(document) => write_document(document, mode, out),
        RawBsonRef::Array(array) => {
            all_or_nothing(mode, out, |writer| writer.array(array.as_bytes(), MAX_DEPTH))
        }
        scalar => write_scalar(scalar, mode, out),
    }
}

/// Goes through the bytes so that each form exists once; a scalar is small enough to be copied.
fn write_scalar(
    scalar: RawBsonRef<'_>,
    mode: JsonMode,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    let mut holder = RawDocumentBuf::new();
    holder.append(cstr!(""), scalar);
    let mut elements = Elements::of(holder.as_bytes())?;
    all_or_nothing(mode, out, |writer| {
        elements.try_for_each(|element| writer.value(element?.1, MAX_DEPTH))
    })
}

/// Takes back what was written when the rest of it fails.
fn all_or_nothing(
    mode: JsonMode,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    let before = out.len();
    let written = write(&mut Writer { mode, out });
    if written.is_err() {
        out.truncate(before);
    }
    written
}

/// The text so far. `forms` has what each scalar type looks like.
pub(super) struct Writer<'a> {
    pub(super) mode: JsonMode,
    pub(super) out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// `levels` is how many documents and arrays, this one included, may still be opened.
    pub(super) fn document(&mut self, bytes: &[u8], levels: usize) -> Result<(), JsonError> {
        self.fields(bytes, &[], levels)
    }

    fn fields(&mut self, bytes: &[u8], omit: &[&str], levels: usize) -> Result<(), JsonError> {
        let levels = levels.checked_sub(1).ok_or(JsonError::TooDeep)?;
        let mut separator = "";
        self.raw("{");
        for element in Elements::of(bytes)? {
            let (key, value) = element?;
            if omit.iter().any(|name| name.as_bytes() == key) {
                continue;
            }
            self.raw(separator);
            write_text(key, self.out);
            self.raw(": ");
            self.value(value, levels)?;
            separator = ", ";
        }
        self.raw("}");
        Ok(())
    }

    fn array(&mut self, bytes: &[u8], levels: usize) -> Result<(), JsonError> {
        let levels = levels.checked_sub(1).ok_or(JsonError::TooDeep)?;
        let mut separator = "";
        self.raw("[");
        for element in Elements::of(bytes)? {
            let (_, value) = element?;
            self.raw(separator);
            self.value(value, levels)?;
            separator = ", ";
        }
        self.raw("]");
        Ok(())
    }

    fn value(&mut self, value: RawValue<'_>, levels: usize) -> Result<(), JsonError> {
        match value {
            RawValue::Document(bytes) => self.document(bytes, levels),
            RawValue::Array(bytes) => self.array(bytes, levels),
            RawValue::CodeWithScope { code, scope } => self.code_with_scope(code, scope, levels),
            scalar => {
                self.scalar(&scalar);
                Ok(())
            }
        }
    }

    fn code_with_scope(
        &mut self,
        code: &[u8],
        scope: &[u8],
        levels: usize,
    ) -> Result<(), JsonError> {
        self.raw("{\"$code\": ");
        write_text(code, self.out);
        self.raw(", \"$scope\": ");
        self.document(scope, levels)?;
        self.raw("}");
        Ok(())
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
