//! Documents as a permission lets them be seen.

use bson::RawDocumentBuf;

use crate::{
    binding::{Cut, Scope},
    http::error::ApiError,
    json::{JsonMode, write_document},
};

/// Writes documents for one caller.
pub(super) struct Presenter {
    cuts: Vec<Cut>,
}

impl Presenter {
    pub(super) fn of(scope: &Scope) -> Result<Self, ApiError> {
        let projection = scope.project_response.as_ref().map(Cut::parse).transpose();
        let projection = projection.map_err(|error| ApiError::Forbidden(error.to_string()))?;
        Ok(Self { cuts: projection.into_iter().chain(scope.secrets.cut()).collect() })
    }

    pub(super) fn write(
        &self,
        document: &RawDocumentBuf,
        mode: JsonMode,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        let unreadable = || ApiError::Unprocessable("the stored document is malformed".to_owned());
        let mut shown = document.clone();
        for cut in &self.cuts {
            shown = cut.document(&shown).ok_or_else(unreadable)?;
        }
        write_document(&shown, mode, out).map_err(|_| unreadable())
    }

    /// A JSON array of all of them.
    pub(super) fn array(
        &self,
        found: &[RawDocumentBuf],
        mode: JsonMode,
    ) -> Result<Vec<u8>, ApiError> {
        let mut out = vec![b'['];
        for (index, document) in found.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            self.write(document, mode, &mut out)?;
        }
        out.push(b']');
        Ok(out)
    }
}
