//! What is decided in process: which events of a shared cursor a subscriber receives.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use crate::{
    definition::{BindError, NotifyEntry, NotifyWhen},
    query::{BoundFilter, Checked, Filter, IndexChoice, Key, Keyer, ParseOptions, Path, Refusal},
};

/// Decides for one subscriber. The only place where an event is kept from a client.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    filter: Option<Conditions>,
}

#[derive(Debug, Clone)]
struct Conditions {
    filter: BoundFilter,
    index: Option<IndexChoice>,
}

impl Selection {
    /// Everything, or what the conditions of `notify_when` select.
    ///
    /// # Errors
    /// A value that cannot be compared with as MongoDB would.
    pub fn new(notify_when: Option<&NotifyWhen>) -> Result<Self, BindError> {
        Ok(Self { filter: notify_when.map(Conditions::of).transpose()? })
    }

    /// Whether every event is selected, without looking.
    pub fn is_everything(&self) -> bool {
        self.filter.is_none()
    }

    /// Whether an event is for this subscriber. What cannot be decided is not.
    pub fn selects(&self, event: &RawDocument) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|conditions| Checked::new(event).is_ok_and(|event| conditions.hold(&event)))
    }

    /// [`Selection::selects`] for an event that many selections look at.
    pub fn selects_checked(&self, event: &Checked<'_>) -> bool {
        self.filter.as_ref().is_none_or(|conditions| conditions.hold(event))
    }

    /// Values of which an event must hold one to be selected, by path. `None`: no index can tell.
    pub fn keys(&self, keyer: &Keyer) -> Option<Vec<(Path, Key)>> {
        let conditions = self.filter.as_ref()?;
        conditions.index.as_ref()?.keys(&conditions.filter, keyer)
    }
}

impl Conditions {
    fn of(notify_when: &NotifyWhen) -> Result<Self, BindError> {
        let mut conditions = Vec::new();
        for entry in &notify_when.entries {
            // Without this an absent image would equal null, and a delete would reach whoever binds it.
            conditions.push(doc! { &entry.top: { "$type": "object" } });
            conditions.push(equals_any(entry));
        }
        let raw = RawDocumentBuf::try_from(&doc! { "$and": conditions }).map_err(uncodable)?;
        let filter =
            Filter::parse(&raw, &ParseOptions::event()).map_err(|refusal| refused(&refusal))?;
        let index = filter.index_choice();
        let filter = filter.bind(&[]).map_err(uncodable)?;
        Ok(Self { filter, index })
    }

    /// What cannot be decided does not hold.
    fn hold(&self, event: &Checked<'_>) -> bool {
        self.filter.matches_checked(event).unwrap_or(false)
    }
}

fn equals_any(entry: &NotifyEntry) -> Document {
    match entry.any_of.as_slice() {
        [value] => doc! { &entry.path: { "$eq": value } },
        values => doc! { &entry.path: { "$in": Bson::Array(values.to_vec()) } },
    }
}

fn refused(refusal: &Refusal) -> BindError {
    BindError::NotData { name: "of notify_when".to_owned(), reason: refusal.to_string() }
}

fn uncodable(error: impl std::fmt::Display) -> BindError {
    BindError::NotData { name: "of notify_when".to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    fn selection(path: &str, any_of: Vec<Bson>) -> Selection {
        let top = path.split('.').next().unwrap().to_owned();
        let entries = vec![NotifyEntry { path: path.to_owned(), top, any_of }];
        Selection::new(Some(&NotifyWhen { entries })).unwrap()
    }

    #[track_caller]
    fn check(path: &str, any_of: impl Into<Bson>, event: &RawDocument, expected: bool) {
        let any_of = vec![any_of.into()];
        assert_eq!(selection(path, any_of.clone()).selects(event), expected, "{path} {any_of:?}");
    }

    #[test]
    fn equality_is_that_of_mongodb() {
        let event = rawdoc! { "fullDocument": { "t": 42, "l": ["a", "b"], "d": [{ "id": "u1" }] } };
        check("fullDocument.t", 42_i64, &event, true);
        check("fullDocument.t", 42.0, &event, true);
        check("fullDocument.t", "42", &event, false);
        check("fullDocument.l", "b", &event, true);
        check("fullDocument.l", "c", &event, false);
        check("fullDocument.d.id", "u1", &event, true);
    }

    #[test]
    fn null_needs_an_image() {
        let null = Bson::Null;
        check("fullDocument.x", null.clone(), &rawdoc! { "fullDocument": { "y": 1 } }, true);
        check("fullDocument.x", null.clone(), &rawdoc! { "fullDocument": null }, false);
        check("fullDocument.x", null, &rawdoc! { "operationType": "delete" }, false);
    }

    #[test]
    fn what_is_selected_is_found_by_its_keys() {
        let keyer = Keyer::new(ahash::RandomState::new());
        let one = selection("fullDocument.t", vec!["42".into(), 42.into()]);
        assert_eq!(one.keys(&keyer).map(|keys| keys.len()), Some(2));
        assert!(selection("fullDocument.t", vec![Bson::Null]).keys(&keyer).is_none());
        assert!(Selection::default().is_everything());
    }
}
