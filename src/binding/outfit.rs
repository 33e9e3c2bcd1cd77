//! What a client is shown of an event: stages that reshape it, then what its permission hides.

use bson::{RawDocument, RawDocumentBuf};

use super::{Cut, steps::Steps};
use crate::change::Reshape;

/// Applied once for all clients who are shown the same.
#[derive(Debug)]
pub(super) struct Outfit {
    pub(super) steps: Steps,
    /// The permission's projection; last, so that nothing can bring back what it hides.
    pub(super) cut: Option<Cut>,
    /// What nobody is shown.
    pub(super) secrets: Option<Cut>,
}

impl Outfit {
    pub(super) fn changes_nothing(&self) -> bool {
        self.steps.leave_untouched() && self.cut.is_none() && self.secrets.is_none()
    }
}

impl Reshape for Outfit {
    fn reshape(&self, event: &RawDocument) -> Option<RawDocumentBuf> {
        let mut shown = self.steps.reshape(event).ok()?;
        for cut in self.cut.iter().chain(&self.secrets) {
            shown = cut.event(&shown)?;
        }
        Some(shown)
    }
}
