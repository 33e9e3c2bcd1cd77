//! Where and why a text could not be read.

/// The first thing in a text that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at line {line}, column {column}")]
pub struct JsonReadError {
    /// Bytes before the place.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// Characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a text. Pieces of the text are cut to 32 characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The grammar asks for something else.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What may stand there.
        wanted: &'static str,
        /// What stands there.
        found: String,
    },
    /// A type wrapper or constructor whose content does not fit.
    #[error("{name} wants {wants}")]
    BadContent {
        /// `$oid`, `ObjectId`, …
        name: &'static str,
        /// What would fit.
        wants: &'static str,
    },
    /// A key stands twice in one document.
    #[error("key `{0}` is given twice, combine the two with $and or rename one")]
    DuplicateKey(String),
    /// BSON keys and regular expressions cannot hold NUL.
    #[error("key or regular expression contains NUL")]
    Nul,
    /// A number beyond the range of a double.
    #[error("number is out of range")]
    OutOfRange,
    /// Longer than [`Limits::bytes`](super::Limits::bytes).
    #[error("text is longer than {0} bytes")]
    TooLong(usize),
    /// Deeper than [`Limits::depth`](super::Limits::depth).
    #[error("value nests deeper than {0} levels")]
    TooDeep(usize),
    /// More than [`Limits::nodes`](super::Limits::nodes).
    #[error("text holds more than {0} values")]
    TooMany(usize),
}

impl JsonReadError {
    /// An error at `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, problem: Problem) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        Self { offset, line, column, problem }
    }
}

impl Problem {
    pub(super) fn expected(wanted: &'static str, found: impl Into<String>) -> Self {
        Self::Expected { wanted, found: found.into() }
    }

    /// [`Problem::expected`] with a piece of the text.
    pub(super) fn unexpected(wanted: &'static str, word: &str) -> Self {
        Self::expected(wanted, format!("`{}`", clip(word)))
    }

    pub(super) fn duplicate(key: &str) -> Self {
        Self::DuplicateKey(clip(key))
    }
}

fn clip(text: &str) -> String {
    text.chars().take(32).collect()
}
