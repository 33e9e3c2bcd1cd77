//! What is wrong with the values that a client sent.

use thiserror::Error;

/// Why the client's values were refused; all of them are `400`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariableError {
    /// `avars` is JSON, but not an object.
    #[error("illegal avars parameter, it is not a json object: {0}")]
    NotAnObject(String),
    /// An operator, pattern or piece of code where data is expected.
    #[error("illegal avars parameter: {0}; only values are accepted")]
    NotData(String),
    /// Nested too deep, or too many values.
    #[error("too many or too deep variables: {0}")]
    TooLarge(String),
    /// The same parameter twice.
    #[error("duplicate parameter {0}; give it once")]
    Duplicate(String),
    /// A name that only the server may bind.
    #[error("illegal variable {0}: names starting with @ are set by the server")]
    ServerName(String),
}

impl VariableError {
    /// Refuses a name that is, or after the skipping of a path's decoration would read as, one of
    /// the server's.
    pub(super) fn check_client_name(name: &str) -> Result<(), Self> {
        let decoration = |c: char| c.is_whitespace() || c.is_control() || ".['\"".contains(c);
        if name.trim_start_matches(decoration).starts_with('@') {
            return Err(Self::ServerName(name.to_owned()));
        }
        Ok(())
    }
}
