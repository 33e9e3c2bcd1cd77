//! What can be wrong with an expression: when it is declared, and when it is asked.

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {reason}")]
pub struct ExpressionError {
    /// In characters, from one.
    pub at: usize,
    /// What is wrong there and what to do about it.
    pub reason: String,
}

/// Why an expression has no answer. It holds nothing of the document, so it may be logged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// An operator or a function met a value that it cannot take, most often `nil` for an absent
    /// field.
    #[error("the expression failed: {0}")]
    Failed(String),
    /// The fields that it looks at hold more than it may look at.
    #[error("the expression looks at more of the document than it may; name smaller fields")]
    TooMuch,
    /// The document cannot be read.
    #[error("the document is malformed")]
    Malformed,
}

impl ExpressionError {
    pub(super) fn new(text: &str, at: usize, reason: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        Self { at: before.chars().count() + 1, reason: reason.into() }
    }

    /// What our own reading lets pass and the grammar does not.
    pub(super) fn of_grammar(error: &expr::Error) -> Self {
        let text = error.to_string();
        let reason = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        let reason = reason.unwrap_or_default().trim_start_matches("= ");
        Self { at: 1, reason: format!("it is not an expression: {reason}") }
    }
}

impl Undecided {
    /// Messages quote values after a colon or a parenthesis: those may be somebody's data.
    pub(super) fn of(error: &expr::Error) -> Self {
        let text = error.to_string();
        let plain = text.split([':', '(', '\n']).next().unwrap_or_default();
        Self::Failed(plain.trim().to_lowercase())
    }
}
