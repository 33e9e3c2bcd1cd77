//! Envelopes as bytes: made once for all readers that receive the same.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{Publication, Rendered, RenderedEvent, Rendition};
use crate::change::{ChangeEvent, View};

/// One envelope and its bytes for each transport.
#[derive(Debug)]
pub struct Print {
    event: RenderedEvent,
    sse: OnceLock<Bytes>,
    json: OnceLock<Bytes>,
}

/// A change in one rendition and view.
#[derive(Debug)]
pub(super) struct Printed {
    rendition: Rendition,
    view: View,
    first: u32,
    pub(super) events: Vec<Arc<Print>>,
    pub(super) withheld: usize,
    pub(super) unshowable: usize,
    /// What the reader is told of those.
    pub(super) notice: Option<&'static str>,
    pub(super) filtered: usize,
}

impl Print {
    fn new(event: RenderedEvent) -> Self {
        Self { event, sse: OnceLock::new(), json: OnceLock::new() }
    }

    /// The envelope.
    pub fn event(&self) -> &RenderedEvent {
        &self.event
    }

    /// See [`RenderedEvent::sse`].
    pub fn sse(&self) -> &Bytes {
        self.sse.get_or_init(|| self.event.sse())
    }

    /// See [`RenderedEvent::json`].
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| self.event.json())
    }
}

impl Printed {
    /// Made by whoever asks first. Publications of a change differ in their first number only.
    pub(super) fn of(
        rendition: &Rendition,
        event: &ChangeEvent,
        publication: &Publication,
        view: View,
        first: u32,
    ) -> Arc<Self> {
        let same = |known: &Self| {
            known.view == view && known.first == first && known.rendition == *rendition
        };
        event.memo().recall(same, || {
            let rendered = rendition.render(event, publication, view);
            Self::new(rendition.clone(), view, first, rendered)
        })
    }

    fn new(rendition: Rendition, view: View, first: u32, rendered: Rendered) -> Self {
        let entity = &rendition.entity.name;
        let (mut unshowable, mut notice) = (0, None);
        for withheld in &rendered.withheld {
            tracing::warn!(
                entity = %entity, event = %withheld.event, reason = %withheld.reason,
                "an event is withheld"
            );
            if let Some(said) = withheld.reason.notice() {
                unshowable += 1;
                notice.get_or_insert(said);
            }
        }
        let withheld = rendered.withheld.len() - unshowable;
        let events = rendered.events.into_iter().map(|event| Arc::new(Print::new(event))).collect();
        let filtered = rendered.filtered;
        Self { rendition, view, first, events, withheld, unshowable, notice, filtered }
    }
}
