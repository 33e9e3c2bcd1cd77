//! What an author should know about a stream that works but may not do what was meant.

use bson::{Bson, Document};

use super::fields::{FullDocument, FullDocumentBeforeChange};
use super::parameters::RESERVED;
use super::stream::StreamDef;

/// Every warning that applies, in a fixed order.
pub(crate) fn of(def: &StreamDef) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(client_is_the_guard(def));
    warnings.extend(deletes_never_match(def));
    warnings.extend(leave_needs_images(def));
    warnings.extend(images_can_be_missing(def));
    warnings.extend(descending_redact(def));
    warnings.extend(unreachable_names(def));
    warnings.extend(odd_paths(def));
    warnings
}

/// A client may bind any value it can name.
fn client_is_the_guard(def: &StreamDef) -> Option<String> {
    let variables = def.variables();
    let scoped = variables.iter().any(|variable| variable.name.starts_with("@user"));
    let client: Vec<String> = variables
        .iter()
        .filter(|variable| !variable.server)
        .map(|variable| format!("`{}`", variable.name))
        .collect();
    (!scoped && !client.is_empty()).then(|| {
        format!(
            "any caller may choose {}: that selects events, it does not protect them; keep tenants \
             apart with a readFilter in the permission, or with an @user variable",
            client.join(", ")
        )
    })
}

fn deletes_never_match(def: &StreamDef) -> Option<String> {
    let images = def.full_document_before_change != FullDocumentBeforeChange::Off;
    let filtered = queries(def).any(reads_document) || notified_by_document(def);
    (filtered && !images && !queries(def).any(excludes_deletes)).then(|| {
        "deletes carry no fullDocument, so a filter on it never delivers them; record pre-images \
         and set full_document_before_change, or select the other operationTypes"
            .to_owned()
    })
}

fn leave_needs_images(def: &StreamDef) -> Option<String> {
    let images = def.full_document_before_change != FullDocumentBeforeChange::Off;
    (def.leave && !images).then(|| {
        "leave needs the document before the change; record pre-images and set \
         full_document_before_change: whenAvailable"
            .to_owned()
    })
}

fn images_can_be_missing(def: &StreamDef) -> Option<String> {
    let required = def.full_document == FullDocument::Required
        || def.full_document_before_change == FullDocumentBeforeChange::Required;
    required.then(|| {
        "with `required` one event without image ends the stream for everybody; whenAvailable \
         delivers it without"
            .to_owned()
    })
}

/// `$$DESCEND` visits the event's `_id` too, and pruning that ends the stream.
fn descending_redact(def: &StreamDef) -> Option<String> {
    let redacts = arguments(def, "$redact").any(|argument| mentions(argument, "$$DESCEND"));
    redacts.then(|| {
        "$redact with $$DESCEND also visits the event's `_id` and ends the stream when that is pruned; \
         answer $$KEEP where {\"$gt\": [\"$_data\", null]} holds"
            .to_owned()
    })
}

fn unreachable_names(def: &StreamDef) -> Vec<String> {
    let variables = def.variables().into_iter();
    let reserved = variables.filter(|variable| RESERVED.contains(&variable.name.as_str()));
    reserved
        .map(|variable| {
            let name = variable.name;
            format!("`{name}` is a query parameter of its own; clients can bind the variable only in avars")
        })
        .collect()
}

fn odd_paths(def: &StreamDef) -> Vec<String> {
    let added = added_fields(def);
    let conditions = def.notify_when.iter().flat_map(|template| &template.conditions);
    conditions.filter_map(|condition| condition.path.warning(&added)).collect()
}

/// The top-level fields that stages may add to an event.
fn added_fields(def: &StreamDef) -> Vec<String> {
    let adding =
        ["$set", "$addFields", "$project"].into_iter().flat_map(|name| arguments(def, name));
    let roots = ["$replaceWith", "$replaceRoot"].into_iter().flat_map(|name| arguments(def, name));
    let mut fields = Vec::new();
    adding.for_each(|argument| top_keys(argument, &mut fields));
    roots.for_each(|argument| all_keys(argument, &mut fields));
    fields
}

fn top_keys(argument: &Bson, fields: &mut Vec<String>) {
    let keys = argument.as_document().into_iter().flat_map(Document::keys);
    fields.extend(keys.map(|key| key.split('.').next().unwrap_or_default().to_owned()));
}

fn all_keys(value: &Bson, fields: &mut Vec<String>) {
    top_keys(value, fields);
    children(value).for_each(|child| all_keys(child, fields));
}

/// The arguments of every stage of this name, in all branches.
fn arguments<'a>(def: &'a StreamDef, stage: &'a str) -> impl Iterator<Item = &'a Bson> {
    def.stages
        .iter()
        .flat_map(|template| template.branches())
        .filter_map(move |branch| branch.get(stage))
}

fn queries(def: &StreamDef) -> impl Iterator<Item = &Document> {
    arguments(def, "$match").filter_map(Bson::as_document)
}

fn reads_document(query: &Document) -> bool {
    query.iter().any(|(key, value)| match key.as_str() {
        "$and" | "$or" | "$nor" => branches(value).any(reads_document),
        field => field == "fullDocument" || field.starts_with("fullDocument."),
    })
}

fn notified_by_document(def: &StreamDef) -> bool {
    let conditions = def.notify_when.iter().flat_map(|template| &template.conditions);
    conditions.into_iter().any(|condition| condition.path.top() == "fullDocument")
}

/// Does the query select operation types other than delete? Then nobody waits for deletes.
fn excludes_deletes(query: &Document) -> bool {
    query.iter().any(|(key, value)| match key.as_str() {
        "operationType" => !admits_delete(value),
        "$and" => branches(value).any(excludes_deletes),
        "$or" => branches(value).all(excludes_deletes),
        _ => false,
    })
}

fn admits_delete(operand: &Bson) -> bool {
    match operand {
        Bson::String(name) => name == "delete",
        Bson::Document(operators) => {
            operators.iter().all(|(operator, value)| match operator.as_str() {
                "$eq" => admits_delete(value),
                "$in" => children(value).any(admits_delete),
                "$ne" => value.as_str() != Some("delete"),
                "$nin" => children(value).all(|name| name.as_str() != Some("delete")),
                _ => true,
            })
        }
        _ => true,
    }
}

fn branches(value: &Bson) -> impl Iterator<Item = &Document> {
    children(value).filter_map(Bson::as_document)
}

fn mentions(value: &Bson, text: &str) -> bool {
    value.as_str() == Some(text) || children(value).any(|child| mentions(child, text))
}

fn children(value: &Bson) -> Box<dyn Iterator<Item = &Bson> + '_> {
    match value {
        Bson::Array(items) => Box::new(items.iter()),
        Bson::Document(document) => Box::new(document.values()),
        _ => Box::new(std::iter::empty()),
    }
}
