use bson::{RawDocumentBuf, bson, oid::ObjectId, rawdoc};

use super::*;
use crate::{
    binding::Images,
    change::{ChangeEvent, PositionKey, ResumeToken, View},
    definition::Parameters,
};

fn stream(element: &Bson) -> StreamDef {
    StreamDef::parse(element).unwrap()
}

fn plan_with(element: &Bson, avars: Option<Bson>, scope: &Scope) -> Result<Binding, PlanError> {
    let parameters = Parameters::from_query(std::iter::empty()).unwrap();
    let variables = Variables::client(&parameters, avars.as_ref()).unwrap();
    Binding::plan(&Namespace::new("d", "c"), &stream(element), &variables, scope)
}

fn plan(element: &Bson, scope: &Scope) -> Binding {
    plan_with(element, None, scope).unwrap()
}

fn reads(filter: Document) -> Scope {
    Scope { read_filter: Some(filter), ..Scope::default() }
}

fn event(raw: RawDocumentBuf) -> ChangeEvent {
    let token = ResumeToken::from_hex("826565A1B2000000032B02AA").unwrap();
    let key = PositionKey::new(b"k", [0; 4]);
    let id = key.seal(&key.after(&token), "d.c");
    ChangeEvent::new(raw, token, id)
}

#[track_caller]
fn check(binding: &Binding, raw: RawDocumentBuf, expected: Option<View>) {
    let event = event(raw);
    let images = Images::of(&event).unwrap();
    assert_eq!(binding.selection.judge(&images), expected, "{:?}", event.raw());
}

fn all() -> Bson {
    bson!({ "uri": "all", "stages": [] })
}

fn with_images() -> Bson {
    bson!({ "uri": "all", "stages": [], "full_document": "whenAvailable", "full_document_before_change": "whenAvailable" })
}

/// Callers with different filters share the cursor: nothing of theirs is sent to MongoDB.
#[test]
fn a_boundary_leaves_the_cursor_shared() {
    let (ann, bob) = (
        plan(&all(), &reads(doc! { "owner": "ann" })),
        plan(&all(), &reads(doc! { "owner": "bob" })),
    );
    assert_eq!(ann.cursor, bob.cursor);
    assert!(ann.cursor.pipeline.is_empty() && !ann.own && ann.explanation.shared);
    check(
        &ann,
        rawdoc! { "operationType": "insert", "fullDocument": { "owner": "ann" } },
        Some(View::Whole),
    );
    check(&bob, rawdoc! { "operationType": "insert", "fullDocument": { "owner": "ann" } }, None);
}

/// The table of before and after.
#[test]
fn the_boundary_shows_as_much_as_could_be_read() {
    let update = |before: Option<&str>, after: Option<&str>| {
        let mut event = rawdoc! { "operationType": "update", "documentKey": { "_id": 1 } };
        let image = |owner: Option<&str>| owner.map(|owner| rawdoc! { "_id": 1, "owner": owner });
        if let Some(after) = image(after) {
            event.append(bson::cstr!("fullDocument"), after);
        }
        if let Some(before) = image(before) {
            event.append(bson::cstr!("fullDocumentBeforeChange"), before);
        }
        event
    };
    let delete = |before: Option<&str>| {
        let mut event = rawdoc! { "operationType": "delete", "documentKey": { "_id": 1 } };
        if let Some(owner) = before {
            event.append(bson::cstr!("fullDocumentBeforeChange"), rawdoc! { "owner": owner });
        }
        event
    };
    let post = plan(&with_images(), &reads(doc! { "owner": "me" }));
    let mut leaving = with_images();
    leaving.as_document_mut().unwrap().insert("leave", true);
    let leaving = plan(&leaving, &reads(doc! { "owner": "me" }));
    let looked_up = plan(&all(), &reads(doc! { "owner": "me" }));
    let (me, you) = (Some("me"), Some("you"));
    check(&post, update(me, me), Some(View::Whole));
    check(&post, update(you, me), Some(View::Current));
    check(&post, update(me, you), None);
    check(&leaving, update(me, you), Some(View::Leave));
    check(&leaving, update(you, you), None);
    check(&post, update(None, me), Some(View::Whole));
    check(&looked_up, update(None, me), Some(View::Current));
    check(&looked_up, update(None, None), None);
    check(&post, delete(me), Some(View::Gone));
    check(&post, delete(you), None);
    check(&post, delete(None), None);
}

/// A negated filter is true of an absent field, and must not let through what carries no document.
#[test]
fn a_negated_filter_lets_no_imageless_event_through() {
    let filters = [
        doc! { "private": { "$ne": true } },
        doc! { "private": { "$nin": [true] } },
        doc! { "$nor": [{ "private": true }] },
        doc! { "private": { "$exists": false } },
        doc! { "private": null },
        doc! { "private": { "$not": { "$eq": true } } },
    ];
    for filter in filters {
        let binding = plan(&all(), &reads(filter));
        for kind in ["delete", "update", "drop", "rename", "dropDatabase", "invalidate", "create"] {
            check(&binding, rawdoc! { "operationType": kind, "documentKey": { "_id": 1 } }, None);
        }
        check(&binding, rawdoc! { "operationType": "update", "fullDocument": null }, None);
    }
}

/// A filter on the key decides deletes without pre-images.
#[test]
fn a_filter_on_the_key_decides_deletes() {
    let id = ObjectId::new();
    let binding = plan(&all(), &reads(doc! { "_id": id }));
    check(
        &binding,
        rawdoc! { "operationType": "delete", "documentKey": { "_id": id } },
        Some(View::Gone),
    );
    check(&binding, rawdoc! { "operationType": "delete", "documentKey": { "_id": 1 } }, None);
}

/// With pre-images a deleted document is judged by what it was.
#[test]
fn a_delete_is_matched_against_what_was_deleted() {
    let mut element = with_images();
    let stage = bson!([{ "$match": { "fullDocument.tenant": "A" } }]);
    element.as_document_mut().unwrap().insert("stages", stage);
    let binding = plan(&element, &Scope::default());
    let delete = |tenant: &str| rawdoc! { "operationType": "delete", "fullDocumentBeforeChange": { "tenant": tenant } };
    check(&binding, delete("A"), Some(View::Whole));
    check(&binding, delete("B"), None);
}

/// Stages before the first variable go to MongoDB; from it on they run in process, or none do.
#[test]
fn variables_split_the_pipeline() {
    let supported = bson!({ "uri": "x", "stages": [
        { "$match": { "operationType": "insert" } },
        { "$match": { "fullDocument.n": { "$var": "n" } } },
        { "$project": { "fullDocument": 1 } },
    ] });
    let one = plan_with(&supported, Some(bson!({ "n": 1 })), &Scope::default()).unwrap();
    let two = plan_with(&supported, Some(bson!({ "n": 2 })), &Scope::default()).unwrap();
    assert_eq!(one.cursor, two.cursor);
    assert_eq!(one.cursor.pipeline.len(), 1);
    check(
        &one,
        rawdoc! { "operationType": "insert", "fullDocument": { "n": 1 } },
        Some(View::Whole),
    );
    check(&two, rawdoc! { "operationType": "insert", "fullDocument": { "n": 1 } }, None);

    let computing = bson!({ "uri": "x", "stages": [
        { "$match": { "fullDocument.n": { "$var": "n" } } },
        { "$set": { "fullDocument.m": { "$add": ["$fullDocument.n", 1] } } },
    ] });
    let own = plan_with(&computing, Some(bson!({ "n": 1 })), &Scope::default()).unwrap();
    assert!(own.own && !own.explanation.shared);
    assert_eq!(own.cursor.pipeline.len(), 2);
}

/// What cannot be decided in process is sent to MongoDB, the boundary first; what cannot be sent is refused.
#[test]
fn an_undecidable_filter_gets_a_cursor_or_is_refused() {
    let regex = reads(doc! { "name": { "$regex": "^a", "$options": "i" } });
    let own = plan(&all(), &regex);
    assert!(own.own);
    let first = Document::try_from(own.cursor.pipeline[0].as_ref()).unwrap();
    assert_eq!(first.keys().next().unwrap(), "$match");
    assert!(!own.selection.sees_all());
    for filter in [
        doc! { "$where": "true" },
        doc! { "$text": { "$search": "x" } },
        doc! { "$jsonSchema": {} },
    ] {
        let refused = plan_with(&all(), None, &reads(filter.clone()));
        assert!(matches!(refused, Err(PlanError::Scope(_))), "{filter}");
    }
}

/// A client may not ask a condition of a field that it may not see.
#[test]
fn hidden_fields_are_no_oracle() {
    let scope = Scope { project_response: Some(doc! { "ssn": 0 }), ..Scope::default() };
    let asking =
        |path: &str| bson!({ "uri": "x", "stages": [], "notify_when": { path: { "$var": "v" } } });
    let avars = Some(bson!({ "v": 1 }));
    let refused = |path: &str| plan_with(&asking(path), avars.clone(), &scope).is_err();
    assert!(refused("fullDocument::ssn"));
    assert!(refused("updateDescription::updatedFields.ssn"));
    assert!(!refused("fullDocument::name"));
    let stage =
        bson!({ "uri": "x", "stages": [{ "$match": { "fullDocument.ssn": { "$var": "v" } } }] });
    assert!(plan_with(&stage, avars, &scope).is_err());
    let constant =
        bson!({ "uri": "x", "stages": [{ "$match": { "fullDocument.ssn": { "$gt": 1 } } }] });
    assert!(plan_with(&constant, None, &scope).is_ok(), "the definition's author may");
}

/// notify_when: equality as MongoDB has it, and null needs a document.
#[test]
fn notify_when_equals_as_mongodb_does() {
    let element =
        |path: &str| bson!({ "uri": "x", "stages": [], "notify_when": { path: { "$var": "v" } } });
    let bound = |path: &str, value: Bson| {
        plan_with(&element(path), Some(bson!({ "v": value })), &Scope::default()).unwrap()
    };
    let event = || rawdoc! { "fullDocument": { "t": 42, "l": ["a", "b"], "d": [{ "id": "u1" }] } };
    for (path, value, selected) in [
        ("fullDocument::t", bson!(42_i64), true),
        ("fullDocument::t", bson!(42.0), true),
        ("fullDocument::t", bson!("42"), false),
        ("fullDocument::l", bson!("b"), true),
        ("fullDocument::l", bson!("c"), false),
        ("fullDocument::d.id", bson!("u1"), true),
        ("fullDocument::x", Bson::Null, true),
    ] {
        check(&bound(path, value), event(), selected.then_some(View::Whole));
    }
    let null = bound("fullDocument::x", Bson::Null);
    check(&null, rawdoc! { "fullDocument": null }, None);
    check(&null, rawdoc! { "operationType": "delete" }, None);
}
