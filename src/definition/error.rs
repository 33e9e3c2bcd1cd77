//! Why a declaration was refused.

use thiserror::Error;

use super::path::{FieldPath, Located};
use super::violation::{Fault, Finding, SecurityViolation};

/// A declaration that cannot be used: the place and the reason, which names the remedy.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{path}: {reason}")]
pub struct DefinitionError {
    /// Where in the metadata, for example `streams[2].stages[0].$match`.
    pub path: FieldPath,
    /// What is wrong there and what to do about it.
    pub reason: String,
    /// Set when a forbidden stage or operator is the reason: opening such a stream is answered
    /// with `403` and this text, anything else with the plain reason.
    pub violation: Option<Box<SecurityViolation>>,
}

impl DefinitionError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { path: FieldPath::default(), reason: reason.into(), violation: None }
    }
}

impl Located for DefinitionError {
    fn path_mut(&mut self) -> &mut FieldPath {
        &mut self.path
    }
}

/// A finding in the stages, whose path starts with the stage's position.
impl From<Finding> for DefinitionError {
    fn from(finding: Finding) -> Self {
        let (reason, location) = (finding.fault.to_string(), finding.location());
        let violation = match finding.fault {
            Fault::Forbidden(forbidden) => {
                Some(Box::new(SecurityViolation::new(location, forbidden)))
            }
            Fault::Malformed(_) => None,
        };
        Self { path: finding.path, reason, violation }
    }
}
