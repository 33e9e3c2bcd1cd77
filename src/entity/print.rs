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

/// What a reader is told of one event of a change.
#[derive(Debug, Clone)]
pub enum Said {
    /// Its envelope.
    Envelope(Arc<Print>),
    /// Why there is none.
    Notice(u32, &'static str),
}

/// A change in one rendition and view.
#[derive(Debug)]
pub(super) struct Printed {
    rendition: Rendition,
    view: View,
    first: u32,
    /// In the order of the events.
    pub(super) said: Vec<Said>,
    /// How many could not be decided.
    pub(super) withheld: usize,
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

impl Said {
    /// The event's position among the events of the change.
    pub fn ordinal(&self) -> u32 {
        match self {
            Self::Envelope(print) => print.event().ordinal,
            Self::Notice(ordinal, _) => *ordinal,
        }
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
        let mut withheld = 0;
        let events = rendered.events.into_iter();
        let mut said: Vec<_> =
            events.map(|event| Said::Envelope(Arc::new(Print::new(event)))).collect();
        for kept in &rendered.withheld {
            tracing::warn!(
                entity = %entity, event = %kept.event, reason = %kept.reason,
                "an event is withheld"
            );
            match kept.ordinal.zip(kept.reason.notice()) {
                Some((ordinal, notice)) => said.push(Said::Notice(ordinal, notice)),
                None => withheld += 1,
            }
        }
        said.sort_by_key(Said::ordinal);
        Self { rendition, view, first, said, withheld, filtered: rendered.filtered }
    }
}
