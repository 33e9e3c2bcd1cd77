//! A change as the envelopes that a group of equal readers receives.

mod shown;

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use bson::{RawDocument, RawDocumentBuf};
use bytes::Bytes;

use super::{Audience, EntityDef, EventDef, Expression, Publication, Published, Undecided};
use crate::{
    binding::Cut,
    change::{ChangeEvent, Reshaping, View},
    envelope::{Body, Format},
    json::JsonError,
};
use shown::Shown;

/// Everything that decides the bytes of a change for a reader. Equal renditions make equal bytes of
/// equal views.
#[derive(Clone, Debug)]
pub struct Rendition {
    pub(super) entity: Arc<EntityDef>,
    pub(super) events: Vec<usize>,
    pub(super) audience: Audience,
    pub(super) fieldgroup: Option<Cut>,
    pub(super) filter: Option<Arc<Expression>>,
    pub(super) cuts: Vec<Reshaping>,
}

/// What came of a change.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The events, in declared order.
    pub events: Vec<RenderedEvent>,
    /// Events that the reader would have received if something could have been decided. Fails
    /// closed; to be counted and logged once.
    pub withheld: Vec<Withheld>,
    /// How many events the filter did not let pass.
    pub filtered: usize,
}

/// One event, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedEvent {
    /// `evt-<position>`, a valid `Last-Event-ID`.
    pub id: String,
    /// Its position among the events of the change. A client that comes back with the id of an
    /// earlier one is still owed this one.
    pub ordinal: u32,
    /// The name of the server-sent event.
    pub name: &'static str,
    /// How the envelope is written.
    pub format: Format,
    /// The envelope.
    pub body: Body,
}

/// An event that was kept back because something could not be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The declared name of the event; empty when it concerns all events of the change.
    pub event: String,
    /// Its position among the events of the change, or that of the first. `None`: it may be none of them.
    pub ordinal: Option<u32>,
    /// Why.
    pub reason: WithheldReason,
}

/// Why an event was kept back. Holds nothing of the document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WithheldReason {
    /// The publisher's condition.
    #[error("its condition cannot be decided: {0}")]
    Condition(Undecided),
    /// The reader's filter.
    #[error("the subscription's filter cannot be decided: {0}")]
    Filter(Undecided),
    /// The reader is held to a tenant or a user, and the change does not tell whose it is.
    #[error("it cannot be told whose it is; record pre-images for deletes")]
    Unowned,
    /// It cannot be cut to what the reader may see, or cannot be written.
    #[error("it cannot be shown: {0}")]
    Unshowable(String),
    /// Its envelope is longer than the operator allows; the bound is in bytes.
    #[error("its envelope is longer than {0} bytes")]
    TooLarge(usize),
}

impl WithheldReason {
    /// What the reader is told. `None`: nothing, as the event may not be for it.
    pub fn notice(&self) -> Option<&'static str> {
        match self {
            Self::Condition(_) | Self::Filter(_) | Self::Unowned => None,
            Self::Unshowable(_) => Some("the event cannot be shown"),
            Self::TooLarge(limit) => Some(JsonError::TooLarge(*limit).notice()),
        }
    }
}

impl PartialEq for Rendition {
    fn eq(&self, other: &Self) -> bool {
        // Asked for every reader of every event: what is the same entity is not compared.
        let same_entity = Arc::ptr_eq(&self.entity, &other.entity) || self.entity == other.entity;
        same_entity
            && self.events == other.events
            && self.audience == other.audience
            && self.fieldgroup == other.fieldgroup
            && self.filter == other.filter
            && self.cuts == other.cuts
    }
}

impl Rendition {
    /// The envelopes of a change. `view` is what the caller's permission lets it see of it.
    pub fn render(&self, event: &ChangeEvent, publication: &Publication, view: View) -> Rendered {
        let mut rendered = Rendered::default();
        let mine = |published: &&Published| self.events.contains(&published.event);
        let mut mine = publication.published.iter().filter(mine).peekable();
        let Some(first) = mine.peek().filter(|_| view != View::Leave) else { return rendered };
        match self.shown(event, publication, view) {
            Ok(Some(shown)) => mine.for_each(|published| shown.render(*published, &mut rendered)),
            Ok(None) => {}
            Err(reason) => {
                let ordinal = Some(first.ordinal);
                rendered.withheld.push(Withheld { event: String::new(), ordinal, reason });
            }
        }
        rendered
    }

    /// Whether a declared event, by its name, is among those that are shown.
    pub(super) fn shows(&self, name: &str) -> bool {
        let mut shown = self.events.iter().filter_map(|at| self.entity.events.get(*at));
        shown.any(|event| event.name == name)
    }

    /// How many events that are shown the change is not, as their condition does not hold.
    pub(super) fn unmet(&self, publication: &Publication) -> usize {
        let met = |at: usize| publication.published.iter().any(|published| published.event == at);
        let undecided = |event: &EventDef| {
            publication.withheld.iter().any(|withheld| withheld.event == event.name)
        };
        let shown = self.events.iter().filter_map(|at| Some((*at, self.entity.events.get(*at)?)));
        let declared = shown.filter(|(_, event)| event.operations.contains(publication.operation));
        declared.filter(|(at, event)| !met(*at) && !undecided(event)).count()
    }

    /// `None`: the change is somebody else's.
    fn shown<'a>(
        &'a self,
        event: &'a ChangeEvent,
        publication: &'a Publication,
        view: View,
    ) -> Result<Option<Shown<'a>>, WithheldReason> {
        if !self.admits(publication)? {
            return Ok(None);
        }
        let shown = Shown::of(self, event, publication, view);
        shown.map(Some).ok_or_else(|| WithheldReason::Unshowable("it is malformed".to_owned()))
    }

    /// Whether the change is one of those that the reader is held to. The selection has looked
    /// already, in its own way: for any element of a list, say, which names nobody here.
    fn admits(&self, publication: &Publication) -> Result<bool, WithheldReason> {
        let held = [
            (&self.audience.tenant, &publication.tenant),
            (&self.audience.user, &publication.user),
        ];
        for (wanted, found) in held {
            match (wanted, found) {
                (Some(_), None) => return Err(WithheldReason::Unowned),
                (Some(wanted), Some(found)) if found != wanted => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    fn cut(&self, event: &RawDocument) -> Option<RawDocumentBuf> {
        let whole = event.to_owned();
        self.cuts.iter().try_fold(whole, |event, cut| cut.reshape(&event))
    }
}

impl RenderedEvent {
    /// The whole server-sent-events block, its blank line included. Avro is base64 there.
    pub fn sse(&self) -> Bytes {
        let data = match &self.body {
            Body::Text(json) => Cow::Borrowed(&json[..]),
            Body::Binary(bytes) => Cow::Owned(STANDARD.encode(bytes).into_bytes()),
        };
        let head = format!("id: {}\nevent: {}\ndata: ", self.id, self.name);
        [head.as_bytes(), &data, b"\n\n"].concat().into()
    }

    /// What stands in `data` of a message of the WebSocket subprotocol: the envelope, or for Avro
    /// its base64 in quotes.
    pub fn json(&self) -> Bytes {
        match &self.body {
            Body::Text(json) => json.clone(),
            Body::Binary(bytes) => format!("\"{}\"", STANDARD.encode(bytes)).into(),
        }
    }
}

#[cfg(test)]
mod tests;
