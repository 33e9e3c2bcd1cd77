//! A change event as it travels through the hub: raw BSON, shared, encoded at most once per shape.

use std::sync::{Mutex, OnceLock, PoisonError};

use bson::{RawDocument, RawDocumentBuf, oid::ObjectId};

use super::{ClusterTime, Frame, Memo, PositionId, ResumeToken, Shape, View, frame};
use crate::json::JsonError;

/// One change, after the stages that MongoDB ran.
#[derive(Debug)]
pub struct ChangeEvent {
    raw: RawDocumentBuf,
    token: ResumeToken,
    id: PositionId,
    frames: Mutex<Vec<Encoded>>,
    /// Most bytes of what is made of it for a reader.
    largest: usize,
    etag: OnceLock<Option<ObjectId>>,
    before: OnceLock<Option<RawDocumentBuf>>,
    memo: Memo,
}

/// An event's bytes in a shape and a view, or why there are none.
type Encoded = (Shape, View, Result<Frame, JsonError>);

impl ChangeEvent {
    /// `token` is the event's own resume token, `id` the opaque position that stands for it.
    pub fn new(raw: RawDocumentBuf, token: ResumeToken, id: PositionId) -> Self {
        Self {
            raw,
            token,
            id,
            frames: Mutex::default(),
            largest: usize::MAX,
            etag: OnceLock::new(),
            before: OnceLock::new(),
            memo: Memo::default(),
        }
    }

    /// Bounds what is made of the event for a reader, in bytes: longer JSON text is an error of
    /// [`ChangeEvent::frame`].
    pub fn bounded(self, largest: usize) -> Self {
        Self { largest, ..self }
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

    /// Most bytes of what is made of it for a reader.
    pub fn largest(&self) -> usize {
        self.largest
    }

    /// The `_etag` of the document after the change.
    pub fn etag(&self) -> Option<ObjectId> {
        let read = || self.raw.get_document("fullDocument").ok()?.get_object_id("_etag").ok();
        *self.etag.get_or_init(read)
    }

    /// The event with the pre-image in place of `fullDocument`, when it carries one: conditions on the
    /// document are asked of it to learn how things stood before the change.
    pub fn before(&self) -> Option<&RawDocument> {
        self.before.get_or_init(|| with_image(&self.raw, "fullDocumentBeforeChange")).as_deref()
    }

    /// What was made of the event elsewhere.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Bytes that the event is taken to hold in memory: its document, and twice that for its frames.
    pub fn weight(&self) -> usize {
        self.raw.as_bytes().len() * 3
    }

    /// The event's bytes in a shape and a view, encoded by whoever asks first.
    pub fn frame(&self, shape: &Shape, view: View) -> Result<Frame, JsonError> {
        // Held while encoding, so that a second client waits for the bytes instead of making them again.
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let known = frames.iter().find(|(known, seen, _)| *seen == view && known == shape);
        if let Some((_, _, frame)) = known {
            return frame.clone();
        }
        let frame = frame::encode(self, shape, view).and_then(|frame| self.bound(frame));
        frames.push((shape.clone(), view, frame.clone()));
        frame
    }

    fn bound(&self, frame: Frame) -> Result<Frame, JsonError> {
        let fits = frame.json.len() <= self.largest;
        if fits { Ok(frame) } else { Err(JsonError::TooLarge(self.largest)) }
    }
}

impl ChangeEvent {
    /// The document that the event carries, as a snapshot shows it: JSON. `None`: nothing of it is shown.
    pub fn document(&self, shape: &Shape, view: View) -> Result<Option<Vec<u8>>, JsonError> {
        frame::encode_document(self, shape, view)
    }
}

/// The event with another of its documents as `fullDocument`. `None`: it has no such document.
pub fn with_image(event: &RawDocument, image: &str) -> Option<RawDocumentBuf> {
    let image = event.get_document(image).ok()?;
    let mut changed = RawDocumentBuf::new();
    for field in event {
        let (name, value) = field.ok()?;
        if name.as_str() != "fullDocument" {
            changed.append(name, value);
        }
    }
    changed.append(bson::cstr!("fullDocument"), image);
    Some(changed)
}
