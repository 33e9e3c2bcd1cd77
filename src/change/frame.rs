//! The bytes of one event: an SSE block, and the JSON inside it for the other transports.

use bson::raw::{CStr, RawBsonRef, RawDocument, RawDocumentBuf, cstr};
use bytes::Bytes;

use super::{ChangeEvent, Dialect, Shape, View, shape::reduce};
use crate::json::{JsonError, JsonMode, write_document, write_without};

/// An encoded event.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The whole server-sent-events block, its blank line included.
    pub sse: Bytes,
    /// The JSON alone: one line. Shares the block's memory.
    pub json: Bytes,
    /// What precedes the JSON in a message of the WebSocket subprotocol.
    pub preamble: Bytes,
}

/// Fields of the driver's own bookkeeping, which never leave: the resume token spells the document's `_id`.
const INTERNAL_FIELDS: [&str; 3] = ["_id", "lsid", "txnNumber"];

/// What RESTHeart sends, in its order.
const RESTHEART_FIELDS: [&CStr; 4] = [
    cstr!("fullDocument"),
    cstr!("documentKey"),
    cstr!("updateDescription"),
    cstr!("operationType"),
];

/// Encodes an event in a shape.
pub(super) fn encode(event: &ChangeEvent, shape: &Shape, view: View) -> Result<Frame, JsonError> {
    let mut shown = Shown::of(event.raw(), shape, view)?;
    if let (Shown::Reduced(signal), View::Leave) = (&mut shown, view) {
        signal.append(cstr!("id"), event.id().as_str());
    }
    let mut out = Vec::with_capacity(event.raw().as_bytes().len() * 2 + 128);
    match shape.dialect {
        Dialect::Tailwater => {
            push(&mut out, &["id: ", event.id().as_str(), "\nevent: ", name(view), "\ndata: "]);
        }
        Dialect::RestHeart => {
            let token = event.token().as_hex();
            push(&mut out, &["id:{\"_data\": \"", token, "\"}\nevent:change\ndata:"]);
        }
    }
    let start = out.len();
    match shape.dialect {
        Dialect::Tailwater => {
            write_without(shown.document(), &INTERNAL_FIELDS, shape.mode, &mut out)?;
        }
        Dialect::RestHeart => write_restheart(shown.document(), shape.mode, &mut out)?,
    }
    let end = out.len();
    out.extend_from_slice(b"\n\n");
    let sse = Bytes::from(out);
    let (id, name) = (event.id().as_str(), name(view));
    let preamble = format!(r#"{{"id":"{id}","event":"{name}","data":"#);
    Ok(Frame { json: sse.slice(start..end), sse, preamble: preamble.into() })
}

/// Encodes the document that an event carries, as it is shown in a shape.
pub(super) fn encode_document(
    event: &ChangeEvent,
    shape: &Shape,
    view: View,
) -> Result<Option<Vec<u8>>, JsonError> {
    let shown = Shown::of(event.raw(), shape, view)?;
    let Ok(document) = shown.document().get_document("fullDocument") else { return Ok(None) };
    let mut out = Vec::with_capacity(document.as_bytes().len() * 2);
    write_document(document, shape.mode, &mut out)?;
    Ok(Some(out))
}

/// The name of the event under which a view is sent.
fn name(view: View) -> &'static str {
    match view {
        View::Whole | View::Current | View::Gone => "change",
        View::Leave => "leave",
    }
}

/// The document that is encoded: the event itself where nothing is taken from it.
enum Shown<'a> {
    Event(&'a RawDocument),
    Reduced(RawDocumentBuf),
}

impl<'a> Shown<'a> {
    /// Reduced to the view first, so that no stage can bring back what the view hides.
    fn of(event: &'a RawDocument, shape: &Shape, view: View) -> Result<Self, JsonError> {
        let reduced = reduce(event, view).map_or(Self::Event(event), Self::Reduced);
        match &shape.reshaping {
            // A signal names a document and nothing else.
            Some(reshaping) if view != View::Leave => {
                let reshaped = reshaping.reshape(reduced.document());
                let unshowable = JsonError::Malformed("it cannot be cut to what may be shown");
                reshaped.map(Self::Reduced).ok_or(unshowable)
            }
            _ => Ok(reduced),
        }
    }

    fn document(&self) -> &RawDocument {
        match self {
            Self::Event(event) => event,
            Self::Reduced(reduced) => reduced,
        }
    }
}

/// The four fields that RESTHeart sends; absent and null ones are left out.
fn write_restheart(
    event: &RawDocument,
    mode: JsonMode,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    let mut shown = RawDocumentBuf::new();
    for name in RESTHEART_FIELDS {
        match event.get(name.as_str()) {
            Ok(Some(RawBsonRef::Null)) | Ok(None) | Err(_) => {}
            Ok(Some(value)) => shown.append(name, value),
        }
    }
    write_document(&shown, mode, out)
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}
