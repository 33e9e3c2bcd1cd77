//! BSON bytes, written front to back, with a bound.

use bson::spec::ElementType;

use crate::query::error::MatchError;
use crate::query::raw::Raw;

/// Twice the largest document of MongoDB. Setting a field in every element of an array multiplies
/// the constant by the array's length, so the input does not bound the output.
const MAX_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Starts a document or an array; what it returns goes to [`Writer::close`].
    pub(super) fn open(&mut self) -> Result<usize, MatchError> {
        let start = self.0.len();
        self.put(&[0; 4])?;
        Ok(start)
    }

    pub(super) fn close(&mut self, start: usize) -> Result<(), MatchError> {
        self.put(&[0])?;
        let length = i32::try_from(self.0.len() - start).map_err(|_| TOO_LARGE)?;
        if let Some(slot) = self.0.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *slot = length.to_le_bytes();
        }
        Ok(())
    }

    pub(super) fn name(&mut self, kind: ElementType, name: &[u8]) -> Result<(), MatchError> {
        self.put(&[kind as u8])?;
        self.put(name)?;
        self.put(&[0])
    }

    pub(super) fn copy(&mut self, name: &[u8], raw: Raw<'_>) -> Result<(), MatchError> {
        self.name(raw.kind, name)?;
        self.put(raw.bytes)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), MatchError> {
        if self.0.len() + bytes.len() > MAX_BYTES {
            return Err(TOO_LARGE);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

const TOO_LARGE: MatchError = MatchError::TooLarge { limit: MAX_BYTES };
