//! A change event as it travels through the hub: raw BSON, shared, encoded at most once per shape.

use std::sync::{Mutex, OnceLock, PoisonError};

use bson::{RawDocument, RawDocumentBuf, oid::ObjectId};

use super::{ClusterTime, Frame, PositionId, ResumeToken, Shape, frame};
use crate::json::JsonError;

/// One change, after the stages that MongoDB ran.
#[derive(Debug)]
pub struct ChangeEvent {
    raw: RawDocumentBuf,
    token: ResumeToken,
    id: PositionId,
    frames: Mutex<Vec<(Shape, Frame)>>,
    etag: OnceLock<Option<ObjectId>>,
}

impl ChangeEvent {
    /// `token` is the event's own resume token, `id` the opaque position that stands for it.
    pub fn new(raw: RawDocumentBuf, token: ResumeToken, id: PositionId) -> Self {
        Self { raw, token, id, frames: Mutex::default(), etag: OnceLock::new() }
    }

    /// The event's document.
    pub fn raw(&self) -> &RawDocument {
        &self.raw
    }

    /// The event's resume token.
    pub fn token(&self) -> &ResumeToken {
        &self.token
    }

    /// When the change was committed.
    pub fn cluster_time(&self) -> ClusterTime {
        self.token.cluster_time()
    }

    /// The id that clients see.
    pub fn id(&self) -> &PositionId {
        &self.id
    }

    /// The `_etag` of the document after the change.
    pub fn etag(&self) -> Option<ObjectId> {
        let read = || self.raw.get_document("fullDocument").ok()?.get_object_id("_etag").ok();
        *self.etag.get_or_init(read)
    }

    /// Bytes that the event is taken to hold in memory: its document, and twice that for its frames.
    pub fn weight(&self) -> usize {
        self.raw.as_bytes().len() * 3
    }

    /// The event's bytes in a shape, encoded by whoever asks first.
    pub fn frame(&self, shape: Shape) -> Result<Frame, JsonError> {
        // Held while encoding, so that a second client waits for the bytes instead of making them again.
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = frames.iter().find(|(known, _)| *known == shape) {
            return Ok(frame.clone());
        }
        let frame = frame::encode(self, shape)?;
        frames.push((shape, frame.clone()));
        Ok(frame)
    }
}
