//! Which documents a stream would tell of: what MongoDB can leave out before it reads a snapshot.

use bson::{Bson, Document, doc};

use super::Scope;
use crate::definition::{NotifyWhen, ResolvedStage};

/// A filter that every document fulfils which the stream selects. What it lets pass is still judged as
/// every change is; it only spares the reading of the rest.
pub(super) fn filter(
    scope: &Scope,
    stages: &[ResolvedStage],
    notify_when: Option<&NotifyWhen>,
) -> Document {
    let mut conditions: Vec<Document> = scope.read_filter.iter().cloned().collect();
    let matches: Vec<_> =
        stages.iter().map_while(|stage| stage.stage.get_document("$match").ok()).collect();
    for (path, condition) in matches.iter().flat_map(|filter| filter.iter()) {
        conditions.extend(of_document(path).map(|path| doc! { path: condition.clone() }));
    }
    // What a stage has changed is not what is stored.
    let untouched = matches.len() == stages.len();
    for entry in notify_when.iter().filter(|_| untouched).flat_map(|when| &when.entries) {
        let any = Bson::Array(entry.any_of.clone());
        conditions.extend(of_document(&entry.path).map(|path| doc! { path: { "$in": any } }));
    }
    match conditions.len() {
        0 => Document::new(),
        1 => conditions.swap_remove(0),
        _ => doc! { "$and": conditions },
    }
}

/// The path within the document, of one within the event.
fn of_document(path: &str) -> Option<&str> {
    path.strip_prefix("fullDocument.").filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use bson::bson;

    use super::*;
    use crate::definition::{StreamDef, Variables};

    #[track_caller]
    fn check(stages: Bson, notify_when: Bson, read_filter: Option<Document>, expected: &Document) {
        let mut element = doc! { "uri": "u", "stages": stages };
        if notify_when != Bson::Null {
            element.insert("notify_when", notify_when);
        }
        let definition = StreamDef::parse(&element.into()).unwrap();
        let variables = Variables::default();
        let stages = definition.bind_stages(&variables).unwrap();
        let notify_when = definition.bind_notify_when(&variables).unwrap();
        let scope = Scope { read_filter, ..Scope::default() };
        assert_eq!(&filter(&scope, &stages, notify_when.as_ref()), expected);
    }

    #[test]
    fn conditions_on_the_document_are_found() {
        check(bson!([]), Bson::Null, None, &doc! {});
        check(bson!([]), Bson::Null, Some(doc! { "owner": "ann" }), &doc! { "owner": "ann" });
        check(
            bson!([
                { "$match": { "fullDocument.a": 1, "operationType": "insert", "$or": [{ "x": 1 }] } },
                { "$match": { "fullDocument.b.c": { "$gt": 2 } } },
            ]),
            bson!({ "fullDocument::t": "acme" }),
            Some(doc! { "owner": "ann" }),
            &doc! { "$and": [
                { "owner": "ann" }, { "a": 1 }, { "b.c": { "$gt": 2 } }, { "t": { "$in": ["acme"] } },
            ] },
        );
    }

    #[test]
    fn what_a_stage_may_have_changed_is_left_alone() {
        check(
            bson!([
                { "$match": { "fullDocument.a": 1 } },
                { "$set": { "fullDocument.b": 2 } },
                { "$match": { "fullDocument.b": 2 } },
            ]),
            bson!({ "fullDocument::b": 2 }),
            None,
            &doc! { "a": 1 },
        );
    }
}
