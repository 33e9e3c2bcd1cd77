//! What a filter may say, by where it comes from.

use std::fmt;

use bson::raw::RawBsonRef;

/// Recognises a placeholder: the slot that a string or document stands for, if it stands for one.
pub type SlotOf<'a> = &'a dyn Fn(RawBsonRef<'_>) -> Option<u16>;

/// How a filter is read. The default reads any MongoDB filter over plain documents.
#[derive(Clone, Copy, Default)]
pub struct ParseOptions<'a> {
    /// What the paths lead into.
    pub paths: Paths,
    /// A field that holds the document the filter was written for: every path is prefixed with it,
    /// and it must be an object.
    pub prefix: Option<&'a str>,
    /// What a repeated key means.
    pub duplicates: Duplicates,
    /// What `null` means to the value *undefined*.
    pub undefined: UndefinedRule,
    /// Which operands are placeholders for values bound later.
    pub slot: Option<SlotOf<'a>>,
}

/// What the paths of a filter lead into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paths {
    /// A plain document.
    #[default]
    Document,
    /// A change event: refuses what the server answers from its oplog instead of the event.
    Event,
}

/// What a repeated key in one document of a filter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Both conditions hold, as the server reads raw BSON.
    #[default]
    And,
    /// Refused: for configuration, where another reader would silently drop one condition.
    Refuse,
}

/// Whether a test for `null` is met by the deprecated value *undefined*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UndefinedRule {
    /// It is, as in MongoDB before 8.0.
    #[default]
    EqualsNull,
    /// The evaluation fails, and nothing is delivered: right for any version.
    Fail,
}

impl<'a> ParseOptions<'a> {
    /// For a `$match` over change events.
    #[must_use]
    pub fn event() -> Self {
        Self { paths: Paths::Event, ..Self::default() }
    }

    /// For a permission's filter, written for documents and applied to change events: without a
    /// document image nothing matches, negations included.
    #[must_use]
    pub fn read_filter() -> Self {
        Self { prefix: Some(super::check::FULL_DOCUMENT), ..Self::event() }
    }

    /// With placeholders.
    #[must_use]
    pub fn with_slots(self, slot: SlotOf<'a>) -> Self {
        Self { slot: Some(slot), ..self }
    }
}

impl fmt::Debug for ParseOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ParseOptions")
            .field("paths", &self.paths)
            .field("prefix", &self.prefix)
            .field("duplicates", &self.duplicates)
            .field("undefined", &self.undefined)
            .field("slot", &self.slot.is_some())
            .finish()
    }
}
