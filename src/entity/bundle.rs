//! What one reader has open: one or several feeds, on one cursor.

use std::sync::Arc;

use bson::{Bson, doc};

use super::{EntityDef, Feed, FeedError, Part, Publication, Rendition, Said, print::Printed};
use crate::{
    binding::{Binding, CursorSpec, Images, Namespace, PlanError, Scope, Selection},
    change::{ChangeEvent, View},
    telemetry::Telemetry,
};

/// The feeds of one reader, planned.
#[derive(Debug)]
pub struct Bundle {
    strands: Vec<Strand>,
}

/// One feed among them.
#[derive(Debug)]
struct Strand {
    rendition: Rendition,
    /// Asked again where the hub only knows that one of several feeds wants a change.
    selection: Option<Arc<Selection>>,
    /// Entities of the same collection whose events of a change come first, shown or not: what an
    /// event's number is does not depend on who reads.
    before: Vec<Arc<EntityDef>>,
}

/// What the hub is asked for, and what is made of its answers.
#[derive(Debug)]
pub struct Planned {
    /// Shared by all readers of the same entities.
    pub cursor: CursorSpec,
    /// Whether only equal readers can share it.
    pub own: bool,
    /// Which changes concern the reader.
    pub selection: Selection,
    /// What they are to it.
    pub bundle: Bundle,
}

/// A change as one reader is told of it.
#[derive(Debug, Default)]
pub struct Told {
    /// Envelopes and notices, in declared order.
    pub said: Vec<Said>,
    /// The number of the last event of the change, shown or not.
    pub last: u32,
    /// How many could not be decided.
    pub withheld: usize,
    /// How many a condition or the filter did not let pass.
    pub filtered: usize,
}

/// Events that a reader does not get.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Although nothing says that they are not for it: a condition, a filter or whose they are could
    /// not be decided, or they could not be written.
    pub dropped: usize,
    /// Because a condition or the filter did not let them pass.
    pub filtered: usize,
}

impl Bundle {
    /// Plans feeds, each under the scopes of the permissions that apply to it. `all` is everything
    /// that is declared under the name that was asked for: the cursor follows from that alone, so
    /// that readers share it whatever they may see.
    ///
    /// # Errors
    /// A permission cannot be applied; several feeds need one that is decided in process.
    pub fn plan(
        feeds: Vec<(Feed, Vec<Scope>)>,
        all: &[Part],
        records_images: bool,
    ) -> Result<Planned, FeedError> {
        let watched = Namespace::around(all.iter().map(|part| &part.entity.namespace));
        let watched = watched.ok_or_else(nothing)?;
        let alone = feeds.len() == 1;
        let mut bindings = Vec::new();
        let mut strands = Vec::new();
        for (feed, scopes) in feeds {
            let feed = if watched.is_collection() { feed } else { feed.among_others() };
            let (binding, rendition) = feed.plan(&scopes, records_images)?;
            let selection = (!alone).then(|| Arc::new(binding.selection.clone()));
            let before = before(feed.entity(), all);
            strands.push(Strand { rendition, selection, before });
            bindings.push(binding);
        }
        let own = bindings.iter().any(|binding| binding.own);
        let (cursor, selection) = join(bindings, watched, all)?;
        Ok(Planned { cursor, own, selection, bundle: Self { strands } })
    }

    /// Whether a change can be several events: then an id stands for one of them, and the client is
    /// owed the rest.
    pub fn splits_changes(&self) -> bool {
        let events = |strand: &Strand| {
            let before: usize = strand.before.iter().map(|entity| entity.events.len()).sum();
            before + strand.rendition.entity.events.len()
        };
        self.strands.iter().any(|strand| events(strand) > 1)
    }

    /// The entities of the feeds.
    pub fn entities(&self) -> impl Iterator<Item = &Arc<EntityDef>> {
        self.strands.iter().map(|strand| &strand.rendition.entity)
    }

    /// The collections of the feeds, each once.
    pub fn collections(&self) -> Vec<&Namespace> {
        let mut found: Vec<&Namespace> = Vec::new();
        for strand in &self.strands {
            let namespace = &strand.rendition.entity.namespace;
            if !found.contains(&namespace) {
                found.push(namespace);
            }
        }
        found
    }

    /// What a change is to the reader. `view` is what the hub found that it may see.
    pub fn tell(&self, event: &ChangeEvent, view: View, telemetry: &Telemetry) -> Told {
        let mut told = Told::default();
        let images = Images::of(event).ok();
        for strand in self.strands.iter().filter(|strand| strand.rendition.entity.is_about(event)) {
            let view = match &strand.selection {
                None => Some(view),
                Some(selection) => images.as_ref().and_then(|images| selection.judge(images)),
            };
            if let Some(view) = view {
                strand.tell(event, view, telemetry, &mut told);
            }
        }
        told
    }
}

impl Strand {
    fn tell(&self, event: &ChangeEvent, view: View, telemetry: &Telemetry, told: &mut Told) {
        let earlier = self
            .before
            .iter()
            .filter_map(|entity| Publication::shared(entity, event, 0, telemetry));
        let first: usize = earlier.map(|publication| publication.published.len()).sum();
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let entity = &self.rendition.entity;
        let Some(publication) = Publication::shared(entity, event, first, telemetry) else {
            return;
        };
        let printed = Printed::of(&self.rendition, event, &publication, view, first);
        told.add(&printed);
        told.last = publication.published.last().map_or(told.last, |last| last.ordinal);
        let undecided = publication.withheld.iter();
        told.withheld += undecided.filter(|it| self.rendition.shows(&it.event)).count();
        told.filtered += self.rendition.unmet(&publication);
    }
}

impl Told {
    /// What the reader is not given.
    pub fn kept(&self) -> Kept {
        let unshowable = self.said.iter().filter(|said| matches!(said, Said::Notice(..))).count();
        Kept { dropped: self.withheld + unshowable, filtered: self.filtered }
    }

    fn add(&mut self, printed: &Printed) {
        self.said.extend(printed.said.iter().cloned());
        self.withheld += printed.withheld;
        self.filtered += printed.filtered;
    }
}

/// One cursor and one selection for all bindings.
fn join(
    mut bindings: Vec<Binding>,
    watched: Namespace,
    all: &[Part],
) -> Result<(CursorSpec, Selection), FeedError> {
    let alone = bindings.len() == 1;
    let first = bindings.first().ok_or_else(nothing)?.cursor.clone();
    if alone && watched.is_collection() {
        let binding = bindings.pop().ok_or_else(nothing)?;
        return Ok((binding.cursor, binding.selection));
    }
    if bindings.iter().any(|binding| !binding.cursor.pipeline.is_empty()) {
        let reason =
            "its readFilter needs MongoDB, which one cursor for several entities rules out";
        return Err(PlanError::Scope(reason.to_owned()).into());
    }
    let pipeline = if watched.is_collection() { Vec::new() } else { vec![only(all)?] };
    let cursor = CursorSpec { namespace: watched, pipeline, ..first };
    let mut selections: Vec<_> = bindings.into_iter().map(|binding| binding.selection).collect();
    let selection = match selections.len() {
        1 => selections.pop().unwrap_or_default(),
        _ => Selection::any_of(selections),
    };
    Ok((cursor, selection))
}

/// A stage that lets the declared collections pass, and what another is renamed to one of them. Theirs is
/// one order, so that equal ones are equal.
fn only(all: &[Part]) -> Result<bson::RawDocumentBuf, FeedError> {
    let mut namespaces: Vec<_> = all.iter().map(|part| &part.entity.namespace).collect();
    namespaces.sort();
    namespaces.dedup();
    let names =
        namespaces.into_iter().map(|Namespace { db, coll }| doc! { "db": db, "coll": coll });
    let names = doc! { "$in": names.map(Bson::from).collect::<Vec<_>>() };
    let stage = doc! { "$match": { "$or": [{ "ns": names.clone() }, { "to": names }] } };
    let raw = bson::RawDocumentBuf::try_from(&stage);
    raw.map_err(|error| PlanError::Scope(error.to_string()).into())
}

fn before(entity: &Arc<EntityDef>, all: &[Part]) -> Vec<Arc<EntityDef>> {
    let earlier = all.iter().map(|part| &part.entity).take_while(|other| other.name != entity.name);
    earlier.filter(|other| other.namespace == entity.namespace).cloned().collect()
}

fn nothing() -> FeedError {
    PlanError::Scope("nothing is left to be shown".to_owned()).into()
}

#[cfg(test)]
mod tests;
