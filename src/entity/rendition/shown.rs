//! A change as far as a reader may see it.

use std::borrow::Cow;

use bson::{RawDocument, RawDocumentBuf};

use super::{Rendered, RenderedEvent, Rendition, Withheld, WithheldReason};
use crate::{
    change::{ChangeEvent, View},
    entity::{
        EventDef, EventId, Facts, Field, Operation, Publication, Published, Undecided,
        publication::image,
    },
    envelope::{Envelope, EnvelopeError},
};

/// A change as far as a reader may see it.
pub(super) struct Shown<'a> {
    rendition: &'a Rendition,
    publication: &'a Publication,
    position: &'a str,
    /// Most bytes of an envelope.
    largest: usize,
    tenant: Option<String>,
    user: Option<String>,
    payload: Option<RawDocumentBuf>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(
        rendition: &'a Rendition,
        event: &'a ChangeEvent,
        publication: &'a Publication,
        view: View,
    ) -> Option<Self> {
        let entity = &rendition.entity;
        let cut = if rendition.cuts.is_empty() { None } else { Some(rendition.cut(event.raw())?) };
        let shown = cut.as_deref().unwrap_or(event.raw());
        // A document that was somebody else's before, or may have been, does not tell what changed
        // in it.
        let moved = rendition.audience.is_held()
            && publication.operation == Operation::Update
            && !publication.stayed;
        let view = if moved && view == View::Whole { View::Current } else { view };
        let owner = image(shown, publication.operation);
        let name = |field: &Option<Field>| field.as_ref()?.name(owner?);
        let payload = entity.payload.of(publication.operation, shown, view);
        Some(Self {
            rendition,
            publication,
            position: event.id().as_str(),
            largest: event.largest(),
            tenant: name(&entity.tenant),
            user: name(&entity.user),
            payload: payload.map(Cow::into_owned),
        })
    }

    pub(super) fn render(&self, published: Published, rendered: &mut Rendered) {
        let Some(declared) = self.rendition.entity.events.get(published.event) else { return };
        let data = self
            .data(declared)
            .ok_or_else(|| WithheldReason::Unshowable("it cannot be cut to its fields".to_owned()));
        let event = data.and_then(|data| self.event(declared, published, data.as_deref()));
        match event {
            Ok(Some(event)) => rendered.events.push(event),
            Ok(None) => rendered.filtered += 1,
            Err(reason) => {
                let (event, ordinal) = (declared.name.clone(), Some(published.ordinal));
                rendered.withheld.push(Withheld { event, ordinal, reason });
            }
        }
    }

    /// `None`: the filter does not let it pass.
    fn event(
        &self,
        declared: &EventDef,
        published: Published,
        data: Option<&RawDocument>,
    ) -> Result<Option<RenderedEvent>, WithheldReason> {
        if !self.passes(declared, data).map_err(WithheldReason::Filter)? {
            return Ok(None);
        }
        let event = self.envelope(declared, published, data);
        let event = event.map_err(|error| WithheldReason::Unshowable(error.to_string()))?;
        let fits = event.body.bytes().len() <= self.largest;
        if fits { Ok(Some(event)) } else { Err(WithheldReason::TooLarge(self.largest)) }
    }

    /// The payload after the event's and the subscription's own choice of fields. The outer `None`:
    /// it cannot be cut.
    fn data(&self, declared: &EventDef) -> Option<Option<Cow<'_, RawDocument>>> {
        let Some(payload) = &self.payload else { return Some(None) };
        let mut data = Cow::Borrowed(&**payload);
        for cut in declared.cut.iter().chain(&self.rendition.fieldgroup) {
            data = Cow::Owned(cut.document(&data)?);
        }
        Some(Some(data))
    }

    fn passes(&self, declared: &EventDef, data: Option<&RawDocument>) -> Result<bool, Undecided> {
        let Some(filter) = &self.rendition.filter else { return Ok(true) };
        filter.holds(&Facts {
            event: &declared.name,
            entity: &self.rendition.entity.name,
            operation: self.publication.operation.as_str(),
            data,
            tenant: self.tenant.as_deref(),
            user_id: self.user.as_deref(),
        })
    }

    fn envelope(
        &self,
        declared: &EventDef,
        published: Published,
        data: Option<&RawDocument>,
    ) -> Result<RenderedEvent, EnvelopeError> {
        let (entity, publication) = (&self.rendition.entity, self.publication);
        let id = EventId { position: self.position, ordinal: published.ordinal }.to_string();
        let envelope = Envelope {
            id: &id,
            source: &entity.source,
            subject: publication.subject.as_deref(),
            time: publication.time,
            entity: &entity.name,
            operation: publication.operation.as_str(),
            tenant: self.tenant.as_deref(),
            user_id: self.user.as_deref(),
            data,
        };
        let body = envelope.encode(declared.format, &entity.schema)?;
        let name = publication.operation.event_name();
        Ok(RenderedEvent { id, ordinal: published.ordinal, name, format: declared.format, body })
    }
}
