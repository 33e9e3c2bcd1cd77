//! Whether the declarations of all files fit together.

use std::collections::HashMap;

use super::{Declarations, Note, Origin};
use crate::{
    entity::{EntityDef, Operations, Scope, SubscriptionDef},
    suggest::hint,
};

/// Everything that does not fit; warnings are added to the declarations.
pub(in crate::entity) fn link(declarations: &mut Declarations) -> Vec<Note> {
    let Declarations { entities, subscriptions, warnings } = declarations;
    let mut errors = Vec::new();
    repeated("entity", entities.iter().map(|entity| (&*entity.name, &entity.origin)), &mut errors);
    let named = subscriptions.iter().map(|def| (&*def.name, &def.origin));
    repeated("subscription", named, &mut errors);
    for entity in entities.iter() {
        let events = entity.events.iter().map(|event| (&*event.name, &event.origin));
        repeated("event", events, &mut errors);
        warn_of_entity(entity, warnings);
    }
    for subscription in subscriptions.iter() {
        check_subscription(subscription, entities, &mut errors);
        warn_of_subscription(subscription, entities, warnings);
    }
    errors
}

fn repeated<'a>(
    what: &str,
    named: impl Iterator<Item = (&'a str, &'a Origin)>,
    errors: &mut Vec<Note>,
) {
    let mut first = HashMap::new();
    for (name, origin) in named {
        let earlier: &Origin = first.entry(name).or_insert(origin);
        if earlier != origin {
            let reason = format!("{what} `{name}` is declared at {earlier} already; rename one");
            errors.push(note(origin, reason));
        }
    }
}

fn check_subscription(def: &SubscriptionDef, entities: &[EntityDef], errors: &mut Vec<Note>) {
    errors.extend(check_source(def, entities));
    for entity in parts(def, entities) {
        errors.extend(check_scope(def, entity));
        errors.extend(check_fieldgroup(def, entity));
    }
}

fn check_source(def: &SubscriptionDef, entities: &[EntityDef]) -> Option<Note> {
    let source = def.source.as_deref()?;
    let own = |entity: &&EntityDef| def.entity.as_deref().is_none_or(|name| name == entity.name);
    let events = entities.iter().filter(own).flat_map(|entity| &entity.events);
    let topics: Vec<&str> = events.map(|event| event.topic.as_str()).collect();
    if topics.contains(&source) {
        return None;
    }
    let near = hint(source, topics);
    let reason = format!("no event is published under the topic `{source}`{near}");
    Some(note(&def.origin, reason))
}

fn check_scope(def: &SubscriptionDef, entity: &EntityDef) -> Option<Note> {
    let lacks = match def.scope? {
        Scope::Tenant if entity.tenant.is_none() => "tenant",
        Scope::User if entity.user.is_none() => "user",
        _ => return None,
    };
    let name = &entity.name;
    let reason = format!("`scope: {lacks}` needs `{lacks}: <field>` on entity `{name}`");
    Some(note(&def.origin, reason))
}

fn check_fieldgroup(def: &SubscriptionDef, entity: &EntityDef) -> Option<Note> {
    let group = def.fieldgroup.as_deref()?;
    if entity.fieldgroups.contains_key(group) {
        return None;
    }
    let near = hint(group, entity.fieldgroups.keys().map(String::as_str));
    let reason = format!("entity `{}` has no fieldgroup `{group}`{near}", entity.name);
    Some(note(&def.origin, reason))
}

fn warn_of_entity(entity: &EntityDef, warnings: &mut Vec<Note>) {
    let name = &entity.name;
    if !entity.has_feed() {
        warnings.push(note(
            &entity.origin,
            format!("entity `{name}` declares no events and has no feed"),
        ));
    }
    let reasons = entity.wants_pre_images();
    if !reasons.is_empty() {
        let namespace = &entity.namespace;
        let reason = format!(
            "entity `{name}`: unless {namespace} records pre-images, {}",
            reasons.join("; ")
        );
        warnings.push(note(&entity.origin, reason));
    }
}

fn warn_of_subscription(def: &SubscriptionDef, entities: &[EntityDef], warnings: &mut Vec<Note>) {
    let events = parts(def, entities).flat_map(|entity| {
        entity.events.iter().filter(|event| def.covers(&entity.name, &event.topic))
    });
    let declared = events.fold(Operations::NONE, |all, event| all.or(event.operations));
    if declared.and(def.operations) == Operations::NONE {
        let reason = format!("subscription `{}` can never bring anything: ", def.name);
        let reason = match declared {
            Operations::NONE => reason + "its entity declares no events",
            declared => format!("{reason}its events are {declared}, not {}", def.operations),
        };
        warnings.push(note(&def.origin, reason));
    }
    for entity in parts(def, entities) {
        if def.scope == Some(Scope::Global) && entity.tenant.is_some() {
            let reason = format!(
                "subscription `{}`: `scope: global` shows events of every tenant of entity `{}`",
                def.name, entity.name
            );
            warnings.push(note(&def.origin, reason));
        }
    }
}

fn parts<'a>(
    def: &'a SubscriptionDef,
    entities: &'a [EntityDef],
) -> impl Iterator<Item = &'a EntityDef> {
    entities
        .iter()
        .filter(|entity| entity.events.iter().any(|event| def.covers(&entity.name, &event.topic)))
}

fn note(origin: &Origin, reason: impl Into<String>) -> Note {
    Note { origin: origin.clone(), reason: reason.into() }
}
