//! What the check of a pipeline can find wrong.

use std::fmt;

use thiserror::Error;

use super::path::{FieldPath, Located};

/// A stage or operator that a change stream may not contain. Opening the stream is answered `403`
/// with this text, in the words RESTHeart clients know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "Cannot open change stream: Security violation: {kind} operator '{operator}' at {location} - {reason}"
)]
pub struct SecurityViolation {
    /// Which rule was broken.
    pub kind: ViolationKind,
    /// The stage or operator, as written.
    pub operator: String,
    /// `pipeline[i]`, or a path below it.
    pub location: String,
    /// Why, and what to use instead where there is something.
    pub reason: String,
}

/// The rule a [`SecurityViolation`] broke. The first three are RESTHeart's, the last two Tailwater's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// A stage that reads or writes other collections.
    BlacklistedStage,
    /// An operator that runs code.
    BlacklistedOperator,
    /// Code where a stage should stand, or a code value.
    JavascriptExecution,
    /// A stage that is not valid in a change stream.
    UnsupportedStage,
    /// An operator that is unknown, impure, or not valid where it stands.
    UnsupportedOperator,
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BlacklistedStage => "BLACKLISTED_STAGE",
            Self::BlacklistedOperator => "BLACKLISTED_OPERATOR",
            Self::JavascriptExecution => "JAVASCRIPT_EXECUTION",
            Self::UnsupportedStage => "UNSUPPORTED_STAGE",
            Self::UnsupportedOperator => "UNSUPPORTED_OPERATOR",
        })
    }
}

impl SecurityViolation {
    pub(crate) fn new(location: String, forbidden: Forbidden) -> Self {
        let Forbidden { kind, operator, reason } = forbidden;
        Self { kind, operator, location, reason }
    }
}

/// Something wrong in a pipeline, with the path from the pipeline's start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) path: FieldPath,
    pub(crate) fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum Fault {
    #[error("{kind} operator '{operator}' - {reason}", kind = .0.kind, operator = .0.operator, reason = .0.reason)]
    Forbidden(Forbidden),
    #[error("{0}")]
    Malformed(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forbidden {
    pub(crate) kind: ViolationKind,
    pub(crate) operator: String,
    pub(crate) reason: String,
}

impl Finding {
    /// The place in the words of a [`SecurityViolation`], for a path that starts with the stage's
    /// position.
    pub(crate) fn location(&self) -> String {
        self.path.clone().inside("pipeline").to_string()
    }

    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self { path: FieldPath::default(), fault: Fault::Malformed(reason.into()) }
    }

    pub(crate) fn forbidden(
        kind: ViolationKind,
        operator: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let forbidden = Forbidden { kind, operator: operator.into(), reason: reason.into() };
        Self { path: FieldPath::default(), fault: Fault::Forbidden(forbidden) }
    }
}

impl Located for Finding {
    fn path_mut(&mut self) -> &mut FieldPath {
        &mut self.path
    }
}
