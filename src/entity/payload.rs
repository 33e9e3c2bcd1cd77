//! What `data` of an event holds, before anything is cut from it.

use std::borrow::Cow;

use bson::{
    RawArray, RawDocument, RawDocumentBuf,
    raw::{CString, RawBsonRef},
};

use super::Operation;
use crate::change::View;

/// What `data` of an update holds. A create and a replace always hold the document, a delete the
/// pre-image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The document after the change.
    #[default]
    Document,
    /// The changed fields with their new values, named by their dotted paths as MongoDB reports
    /// them; a removed field is null, and a shortened list is there as a whole.
    Delta,
}

impl Payload {
    /// The payload of a change. `event` may already be cut to what a reader is shown, `view` is how
    /// much of it that is. `None`: there is none, or it cannot be told.
    pub fn of<'a>(
        self,
        operation: Operation,
        event: &'a RawDocument,
        view: View,
    ) -> Option<Cow<'a, RawDocument>> {
        let image = |name| event.get_document(name).ok().map(Cow::Borrowed);
        let is_update = event.get_str("operationType").is_ok_and(|kind| kind == "update");
        match (view, operation) {
            (View::Leave | View::Gone, _) => None,
            (View::Whole | View::Current, Operation::Delete) => image("fullDocumentBeforeChange"),
            (View::Whole, Operation::Update) if is_update && self == Self::Delta => {
                delta(event).map(Cow::Owned)
            }
            // To a reader who could not read the document before, every field is new.
            (View::Whole | View::Current, _) => image("fullDocument"),
        }
    }
}

fn delta(event: &RawDocument) -> Option<RawDocumentBuf> {
    let update = event.get_document("updateDescription").ok()?;
    let mut delta = update.get_document("updatedFields").ok()?.to_owned();
    if let Ok(Some(RawBsonRef::Array(removed))) = update.get("removedFields") {
        for name in removed {
            delta.append(CString::try_from(name.ok()?.as_str()?).ok()?, bson::raw::RawBson::Null);
        }
    }
    if let Ok(Some(RawBsonRef::Array(shortened))) = update.get("truncatedArrays") {
        append_shortened(&mut delta, shortened, event)?;
    }
    Some(delta)
}

/// What was cut off a list is not told, so the list itself is taken from the document.
fn append_shortened(
    delta: &mut RawDocumentBuf,
    shortened: &RawArray,
    event: &RawDocument,
) -> Option<()> {
    let mut after = None;
    for entry in shortened {
        let path = entry.ok()?.as_document()?.get_str("field").ok()?;
        let after = match after {
            Some(after) => after,
            None => *after.insert(event.get_document("fullDocument").ok()?),
        };
        delta.append(CString::try_from(path).ok()?, at(after, path)?);
    }
    Some(())
}

/// The value at a dotted path, positions in lists included.
fn at<'a>(document: &'a RawDocument, path: &str) -> Option<RawBsonRef<'a>> {
    let mut value = RawBsonRef::Document(document);
    for name in path.split('.') {
        value = match value {
            RawBsonRef::Document(inner) => inner.get(name).ok()??,
            RawBsonRef::Array(inner) => inner.get(name.parse().ok()?).ok()??,
            _ => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use Operation::{Create, Delete, Update};

    #[track_caller]
    fn check(payload: Payload, view: View, event: &RawDocument, expected: Option<&RawDocument>) {
        let operation = Operation::of(event).unwrap();
        let found = payload.of(operation, event, view);
        assert_eq!(found.as_deref(), expected, "{payload:?} {view:?} {event:?}");
    }

    fn update() -> RawDocumentBuf {
        rawdoc! {
            "operationType": "update",
            "fullDocument": { "_id": 1, "n": 2, "list": [1, { "inner": [5] }], "kept": true },
            "fullDocumentBeforeChange": { "_id": 1, "n": 1 },
            "updateDescription": {
                "updatedFields": { "n": 2, "address.city": "Ulm" },
                "removedFields": ["gone", "address.zip"],
                "truncatedArrays": [{ "field": "list", "newSize": 2 }, { "field": "list.1.inner", "newSize": 1 }],
            },
        }
    }

    #[test]
    fn an_update_is_the_document_or_what_changed() {
        let whole = rawdoc! { "_id": 1, "n": 2, "list": [1, { "inner": [5] }], "kept": true };
        let delta = rawdoc! {
            "n": 2, "address.city": "Ulm", "gone": null, "address.zip": null,
            "list": [1, { "inner": [5] }], "list.1.inner": [5],
        };
        let event = update();
        check(Payload::Document, View::Whole, &event, Some(&whole));
        check(Payload::Document, View::Current, &event, Some(&whole));
        check(Payload::Delta, View::Whole, &event, Some(&delta));
        check(Payload::Delta, View::Current, &event, Some(&whole));
        for view in [View::Gone, View::Leave] {
            check(Payload::Delta, view, &event, None);
            check(Payload::Document, view, &event, None);
        }
    }

    #[test]
    fn other_changes_do_not_have_a_delta() {
        let document = rawdoc! { "_id": 1, "n": 2 };
        for (kind, operation) in [("insert", Create), ("replace", Update)] {
            let event = rawdoc! { "operationType": kind, "fullDocument": document.clone() };
            assert_eq!(Operation::of(&event), Some(operation));
            for payload in [Payload::Document, Payload::Delta] {
                check(payload, View::Whole, &event, Some(&document));
            }
        }
        let event =
            rawdoc! { "operationType": "delete", "fullDocumentBeforeChange": document.clone() };
        assert_eq!(Operation::of(&event), Some(Delete));
        check(Payload::Delta, View::Whole, &event, Some(&document));
        check(Payload::Document, View::Gone, &event, None);
    }

    #[test]
    fn what_cannot_be_told_is_nothing() {
        let gone = rawdoc! {
            "operationType": "update",
            "fullDocument": null,
            "updateDescription": { "updatedFields": { "n": 1 }, "removedFields": [], "truncatedArrays": [] },
        };
        check(Payload::Document, View::Whole, &gone, None);
        check(Payload::Delta, View::Whole, &gone, Some(&rawdoc! { "n": 1 }));
        let shortened = rawdoc! {
            "operationType": "update",
            "fullDocument": null,
            "updateDescription": { "updatedFields": {}, "truncatedArrays": [{ "field": "l", "newSize": 1 }] },
        };
        check(Payload::Delta, View::Whole, &shortened, None);
        let bare = rawdoc! { "operationType": "delete" };
        check(Payload::Document, View::Whole, &bare, None);
        let undescribed = rawdoc! { "operationType": "update", "fullDocument": {} };
        check(Payload::Delta, View::Whole, &undescribed, None);
    }
}
