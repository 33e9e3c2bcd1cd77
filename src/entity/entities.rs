//! Everything that is declared.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    EntityDef, SubscriptionDef, Topic,
    feed::Part,
    file::{self, Declarations, Note},
};
use crate::{binding::Namespace, yaml};

/// The entities and subscriptions of a folder, which fit together.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    entities: Vec<Arc<EntityDef>>,
    subscriptions: Vec<Arc<SubscriptionDef>>,
    warnings: Vec<Note>,
}

/// The files of a folder, as they were read. Equal ones declare the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts(Vec<(PathBuf, String)>);

/// A collection that should record pre-images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreImages {
    /// The collection.
    pub namespace: Namespace,
    /// What happens without them.
    pub reasons: Vec<&'static str>,
}

impl Texts {
    /// Reads a folder of `.yaml`, `.yml` and `.json` files, or one file.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read(path: &Path) -> Result<Self, Vec<Note>> {
        let (texts, errors) = yaml::read(path);
        if errors.is_empty() { Ok(Self(texts)) } else { Err(errors) }
    }

    /// What they declare.
    ///
    /// # Errors
    /// As [`Entities::load`].
    pub fn parse(&self) -> Result<Entities, Vec<Note>> {
        Entities::parse(&self.0)
    }
}

impl Entities {
    /// Reads a folder of `.yaml`, `.yml` and `.json` files, or one file.
    ///
    /// # Errors
    /// Everything that is wrong in any of them, each with its place and the remedy.
    pub fn load(path: &Path) -> Result<Self, Vec<Note>> {
        let (files, mut errors) = yaml::read(path);
        let parsed = Self::parse(&files);
        if errors.is_empty() {
            return parsed;
        }
        errors.extend(parsed.err().unwrap_or_default());
        Err(errors)
    }

    /// Reads files that are already in memory.
    ///
    /// # Errors
    /// As [`Entities::load`].
    pub fn parse(files: &[(PathBuf, String)]) -> Result<Self, Vec<Note>> {
        let mut declarations = Declarations::default();
        let read = |(path, text): &(PathBuf, String)| file::read(path, text, &mut declarations);
        let mut errors: Vec<Note> = files.iter().flat_map(read).collect();
        // What fits together is only asked of what could be read, else one slip is told many times.
        if errors.is_empty() {
            errors = file::link(&mut declarations);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let Declarations { entities, subscriptions, warnings } = declarations;
        Ok(Self {
            entities: entities.into_iter().map(Arc::new).collect(),
            subscriptions: subscriptions.into_iter().map(Arc::new).collect(),
            warnings,
        })
    }

    /// Every entity, in declared order, those without a feed included.
    pub fn entities(&self) -> &[Arc<EntityDef>] {
        &self.entities
    }

    /// Every subscription, those of entities first where one file declares both.
    pub fn subscriptions(&self) -> &[Arc<SubscriptionDef>] {
        &self.subscriptions
    }

    /// What works but may surprise.
    pub fn warnings(&self) -> &[Note] {
        &self.warnings
    }

    /// The entity of a route. `None` is `404`.
    pub fn entity(&self, name: &str) -> Option<&Arc<EntityDef>> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The subscription of a route. `None` is `404`.
    pub fn subscription(&self, name: &str) -> Option<&Arc<SubscriptionDef>> {
        self.subscriptions.iter().find(|subscription| subscription.name == name)
    }

    /// Every topic that something is published under.
    pub fn topics(&self) -> BTreeSet<&str> {
        let events = self.entities.iter().flat_map(|entity| &entity.events);
        events.map(|event| event.topic.as_str()).collect()
    }

    /// An entity's own feed: all its events, whatever their topics. `None`: unknown, or it has no
    /// feed.
    pub fn of_entity(&self, name: &str) -> Option<Part> {
        Part::of(self.entity(name)?, |_| true)
    }

    /// The entities that publish under a topic. Empty: no such topic, which is `404`.
    pub fn of_topic(&self, topic: &Topic) -> Vec<Part> {
        let entities = self.entities.iter();
        entities.filter_map(|entity| Part::of(entity, |event| topic.covers(&event.topic))).collect()
    }

    /// The entities that have a part in a subscription.
    pub fn of_subscription(&self, subscription: &SubscriptionDef) -> Vec<Part> {
        let part = |entity: &Arc<EntityDef>| {
            Part::of(entity, |event| subscription.covers(&entity.name, &event.topic))
        };
        self.entities.iter().filter_map(part).collect()
    }

    /// The collections that should record pre-images, each once.
    pub fn pre_images(&self) -> Vec<PreImages> {
        let mut found: Vec<PreImages> = Vec::new();
        for entity in &self.entities {
            let reasons = entity.wants_pre_images();
            match found.iter_mut().find(|known| known.namespace == entity.namespace) {
                _ if reasons.is_empty() => {}
                Some(known) => known.reasons.extend(reasons),
                None => found.push(PreImages { namespace: entity.namespace.clone(), reasons }),
            }
        }
        found
    }
}
