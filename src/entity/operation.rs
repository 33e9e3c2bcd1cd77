//! What happened to a document, in the words of entity feeds.

use bson::RawDocument;

/// One kind of change. MongoDB's `insert` is a create, `update` and `replace` are updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// A document came to be.
    Create,
    /// A document was changed or replaced.
    Update,
    /// A document is gone.
    Delete,
}

/// Some of the operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operations(u8);

/// An `ops` parameter, or a list in a declaration, that does not name operations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationsError {
    /// Nothing where an operation is expected.
    #[error("an operation is missing; use create, update, delete, separated by commas")]
    Empty,
    /// Reads are not changes.
    #[error("`read` produces no events; use create, update, delete")]
    Read,
    /// Anything else, cut to 64 characters.
    #[error("`{0}` is not an operation; use create, update, delete{1}")]
    Unknown(String, &'static str),
}

/// What MongoDB calls things, and what that is here.
const FOREIGN: &[(&str, &str)] = &[
    ("insert", " (an insert is a create)"),
    ("replace", " (a replace is reported as an update)"),
    ("remove", " (a remove is a delete)"),
];

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    /// What an event of a change stream reports. `None`: nothing that concerns one document.
    pub fn of(event: &RawDocument) -> Option<Self> {
        match event.get_str("operationType").ok()? {
            "insert" => Some(Self::Create),
            "update" | "replace" => Some(Self::Update),
            "delete" => Some(Self::Delete),
            _ => None,
        }
    }

    /// `create`, `update` or `delete`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// The name of the server-sent event, which is also the `type` of the envelope.
    pub fn event_name(self) -> &'static str {
        match self {
            Self::Create => "entity.create",
            Self::Update => "entity.update",
            Self::Delete => "entity.delete",
        }
    }

    /// The `operationType`s of a change stream that are this operation.
    pub fn operation_types(self) -> &'static [&'static str] {
        match self {
            Self::Create => &["insert"],
            Self::Update => &["update", "replace"],
            Self::Delete => &["delete"],
        }
    }
}

impl Operations {
    /// All of them.
    pub const ALL: Self = Self(0b111);
    /// None of them: selects nothing.
    pub const NONE: Self = Self(0);

    /// Reads an `ops` parameter: names between commas, in any case, with spaces around them; twice
    /// is once. Absent is all of them.
    ///
    /// # Errors
    /// Anything else is `400`: a misspelled name must not widen the feed.
    pub fn from_query(ops: Option<&str>) -> Result<Self, OperationsError> {
        match ops {
            None => Ok(Self::ALL),
            Some(ops) => Self::of_names(ops.split(',')),
        }
    }

    /// Reads names, at least one.
    ///
    /// # Errors
    /// The first one that is no operation.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, OperationsError> {
        let mut found = Self::NONE;
        for name in names {
            found = found.with(operation(name.trim())?);
        }
        if found == Self::NONE { Err(OperationsError::Empty) } else { Ok(found) }
    }

    /// Whether an operation is among them.
    pub fn contains(self, operation: Operation) -> bool {
        self.0 & bit(operation) != 0
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are in one of them.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These and one more.
    #[must_use]
    pub fn with(self, operation: Operation) -> Self {
        Self(self.0 | bit(operation))
    }

    /// In the order create, update, delete.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| self.contains(*operation))
    }
}

impl std::fmt::Display for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.iter().map(Operation::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

fn operation(name: &str) -> Result<Operation, OperationsError> {
    if name.is_empty() {
        return Err(OperationsError::Empty);
    }
    if name.eq_ignore_ascii_case("read") {
        return Err(OperationsError::Read);
    }
    let found = Operation::ALL.into_iter().find(|known| name.eq_ignore_ascii_case(known.as_str()));
    found.ok_or_else(|| {
        let foreign = FOREIGN.iter().find(|(theirs, _)| name.eq_ignore_ascii_case(theirs));
        let name = name.chars().take(64).collect();
        OperationsError::Unknown(name, foreign.map_or("", |(_, ours)| ours))
    })
}

fn bit(operation: Operation) -> u8 {
    match operation {
        Operation::Create => 1,
        Operation::Update => 2,
        Operation::Delete => 4,
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use Operation::{Create, Delete, Update};

    #[test]
    fn ops_names_what_is_wanted() {
        for (ops, expected) in [
            (None, vec![Create, Update, Delete]),
            (Some("create"), vec![Create]),
            (Some("delete,create"), vec![Create, Delete]),
            (Some(" CREATE , Update\t"), vec![Create, Update]),
            (Some("update,update,UPDATE"), vec![Update]),
            (Some("create,update,delete"), vec![Create, Update, Delete]),
        ] {
            let found = Operations::from_query(ops).unwrap();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{ops:?}");
        }
    }

    #[test]
    fn a_typo_is_an_error_that_names_the_operations() {
        let long = "x".repeat(1000);
        for ops in [
            "",
            " ",
            ",",
            "create,",
            ",create",
            "create,,delete",
            "upsert",
            "create,upsert",
            "read",
            "READ",
            "create,read",
            "replace",
            "insert",
            "drop",
            "*",
            "all",
            "create;update",
            "créate",
            "create update",
            long.as_str(),
        ] {
            let error = Operations::from_query(Some(ops)).unwrap_err().to_string();
            assert!(error.contains("create, update, delete"), "{ops}: {error}");
            assert!(error.len() < 200, "{error}");
        }
        let reason = |ops| Operations::from_query(Some(ops)).unwrap_err().to_string();
        assert!(reason("read").contains("produces no events"));
        assert!(reason("replace").contains("a replace is reported as an update"));
    }

    #[test]
    fn changes_of_documents_have_an_operation() {
        for (kind, expected) in [
            ("insert", Some(Create)),
            ("update", Some(Update)),
            ("replace", Some(Update)),
            ("delete", Some(Delete)),
            ("drop", None),
            ("rename", None),
            ("invalidate", None),
            ("createIndexes", None),
            ("", None),
        ] {
            assert_eq!(Operation::of(&rawdoc! { "operationType": kind }), expected, "{kind}");
        }
        assert_eq!(Operation::of(&rawdoc! { "operationType": 1 }), None);
        assert_eq!(Operation::of(&rawdoc! {}), None);
    }
}
