//! Reading the fields of a definition, with their types.

use bson::{Bson, Document};

use super::error::DefinitionError;
use super::path::At;
use crate::suggest::hint;

/// What `fullDocument` of an update holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FullDocument {
    /// The document as it is when the event is read.
    #[default]
    UpdateLookup,
    /// The post-image, where the collection records it.
    WhenAvailable,
    /// The post-image; an event without one ends the stream.
    Required,
    /// Nothing for updates; inserts and replacements always carry the document.
    Off,
}

/// What `fullDocumentBeforeChange` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FullDocumentBeforeChange {
    /// Nothing.
    #[default]
    Off,
    /// The pre-image, where the collection records it.
    WhenAvailable,
    /// The pre-image; an event without one ends the stream.
    Required,
}

impl FullDocument {
    const NAMES: &[(&str, Self)] = &[
        ("updateLookup", Self::UpdateLookup),
        ("whenAvailable", Self::WhenAvailable),
        ("required", Self::Required),
        ("off", Self::Off),
    ];

    /// As MongoDB spells it.
    pub fn as_str(self) -> &'static str {
        name_of(Self::NAMES, self)
    }
}

impl FullDocumentBeforeChange {
    const NAMES: &[(&str, Self)] =
        &[("off", Self::Off), ("whenAvailable", Self::WhenAvailable), ("required", Self::Required)];

    /// As MongoDB spells it.
    pub fn as_str(self) -> &'static str {
        name_of(Self::NAMES, self)
    }
}

fn name_of<T: PartialEq + Copy>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("off", |(name, _)| name)
}

/// Every field of a definition.
pub(crate) const FIELDS: &[&str] = &[
    "uri",
    "stages",
    "notify_when",
    "description",
    "full_document",
    "full_document_before_change",
    "show_expanded_events",
    "leave",
];

/// The fields of one definition, read with their types.
pub(crate) struct Fields<'a>(pub(crate) &'a Document);

impl Fields<'_> {
    pub(crate) fn text(&self, field: &'static str) -> Result<Option<&str>, DefinitionError> {
        self.typed(field, "a string", Bson::as_str)
    }

    /// Absent means no.
    pub(crate) fn flag(&self, field: &'static str) -> Result<bool, DefinitionError> {
        Ok(self.typed(field, "true or false", Bson::as_bool)?.unwrap_or(false))
    }

    pub(crate) fn full_document(&self) -> Result<FullDocument, DefinitionError> {
        self.one_of("full_document", FullDocument::NAMES)
    }

    pub(crate) fn full_document_before_change(
        &self,
    ) -> Result<FullDocumentBeforeChange, DefinitionError> {
        self.one_of("full_document_before_change", FullDocumentBeforeChange::NAMES)
    }

    /// A warning for each field that means nothing.
    pub(crate) fn unknown(&self) -> Vec<String> {
        let unknown = self.0.keys().filter(|field| !FIELDS.contains(&field.as_str()));
        unknown.map(|field| unknown_field(field)).collect()
    }

    fn typed<'b, T>(
        &'b self,
        field: &'static str,
        expected: &str,
        read: impl Fn(&'b Bson) -> Option<T>,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        let wrong = || DefinitionError::new(format!("it must be {expected}"));
        read(value).map(Some).ok_or_else(wrong).at(field)
    }

    fn one_of<T: Copy + Default>(
        &self,
        field: &'static str,
        names: &[(&str, T)],
    ) -> Result<T, DefinitionError> {
        let Some(text) = self.text(field)? else { return Ok(T::default()) };
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        let wrong = || {
            let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            let near = hint(text, known.iter().copied());
            DefinitionError::new(format!("`{text}` is not one of {}{near}", known.join(", ")))
        };
        found.ok_or_else(wrong).at(field)
    }
}

/// What is said of a field that means nothing; RESTHeart ignores such fields, so they do no harm.
pub(crate) fn unknown_field(field: &str) -> String {
    format!("unknown field `{field}` is ignored{}", hint(field, FIELDS.iter().copied()))
}
