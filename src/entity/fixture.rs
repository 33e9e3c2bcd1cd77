//! What several tests need: declarations, and changes as MongoDB reports them.

use std::path::PathBuf;

use bson::{RawDocument, RawDocumentBuf};

use super::Entities;
use crate::change::{ChangeEvent, PositionKey, ResumeToken};

/// Declarations of one file.
#[track_caller]
pub(super) fn entities(text: &str) -> Entities {
    Entities::parse(&[(PathBuf::from("f.yaml"), text.to_owned())]).unwrap()
}

/// A change, committed at second 7.
pub(super) fn change(raw: &RawDocument) -> ChangeEvent {
    let token = ResumeToken::from_hex("8200000007000000012B022C").unwrap();
    let key = PositionKey::new(b"secret", *b"ep01");
    let id = key.seal(&key.after(&token), "shop.orders");
    ChangeEvent::new(raw.to_owned(), token, id)
}

/// A change whose document is `after` and was `before`.
pub(super) fn event(
    kind: &str,
    after: Option<&RawDocument>,
    before: Option<&RawDocument>,
) -> RawDocumentBuf {
    let mut event = bson::rawdoc! { "operationType": kind, "documentKey": { "_id": 1 } };
    if let Some(after) = after {
        event.append(bson::cstr!("fullDocument"), after);
    }
    if let Some(before) = before {
        event.append(bson::cstr!("fullDocumentBeforeChange"), before);
    }
    event
}
