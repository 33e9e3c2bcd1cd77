//! Rows: elements of `streams` as they are stored, and what is made of them.

use bson::{bson, doc};

use super::super::streams::StreamDefs;
use super::*;

fn parse(element: Bson) -> StreamDef {
    StreamDef::parse(&element).unwrap()
}

#[test]
fn stored_definitions_are_read() {
    let defs = StreamDefs::parse(&bson!([
        {"stages": [{"_$match": {"_$or": [{"operationType": "insert"}, {"operationType": "update"}]}}], "uri": "all"},
        {"stages": [{"_$match": {"fullDocument::name": {"_$var": "n"}}}], "uri": "mine"},
        {"uri": "safe", "stages": [{"$match": {"operationType": "insert"}}, {"$project": {"fullDocument": 1, "operationType": 1}}]},
        {"uri": "by-tenant", "stages": [], "notify_when": {"fullDocument::tenantId": {"$var": "tid"}}},
    ]));
    assert_eq!(defs.bad, []);
    let uris: Vec<&str> = defs.good.iter().map(|def| def.uri.as_str()).collect();
    assert_eq!(uris, ["all", "mine", "safe", "by-tenant"]);
    let expected = doc! {"$match": {"fullDocument.name": {"$var": "n"}}};
    assert_eq!(defs.good[1].stages, [StageTemplate::Always(expected)]);
    assert!(defs.find("mine").is_some() && defs.find("Mine").is_none());
}

#[test]
fn options_are_read_and_default() {
    let def = parse(bson!({"uri": "a", "stages": []}));
    assert_eq!((def.full_document, def.full_document_before_change), Default::default());
    assert_eq!((def.show_expanded_events, def.leave, def.description), (false, false, None));
    let def = parse(bson!({
        "uri": "a", "stages": [], "full_document": "whenAvailable", "description": "x",
        "full_document_before_change": "required", "show_expanded_events": true, "leave": true,
    }));
    assert_eq!(def.full_document.as_str(), "whenAvailable");
    assert_eq!(def.full_document_before_change.as_str(), "required");
    assert_eq!(
        (def.show_expanded_events, def.leave, def.description.as_deref()),
        (true, true, Some("x"))
    );
}

#[test]
fn equality_is_about_what_clients_receive() {
    let base = doc! {"uri": "a", "stages": [{"$match": {"a.b": 1}}]};
    let with = |field: &str, value: Bson| {
        let mut element = base.clone();
        element.insert(field, value);
        parse(element.into())
    };
    let def = parse(base.clone().into());
    for same in [
        with("stages", bson!([{"_$match": {"a::b": 1}}])),
        with("description", "other".into()),
        with("whatever", 1.into()),
        with("full_document", "updateLookup".into()),
    ] {
        assert_eq!(def, same);
    }
    for other in [
        with("uri", "b".into()),
        with("stages", bson!([])),
        with("notify_when", bson!({"operationType": "insert"})),
        with("full_document", "off".into()),
        with("full_document_before_change", "required".into()),
        with("show_expanded_events", true.into()),
        with("leave", true.into()),
    ] {
        assert_ne!(def, other);
    }
}

#[test]
fn a_bad_element_does_not_disturb_its_siblings() {
    let defs = StreamDefs::parse(&bson!([
        {"stages": []},
        {"uri": "good", "stages": []},
        {"uri": "a/b", "stages": []},
        {"uri": "good", "stages": [{"$match": {}}]},
        {"uri": "evil", "stages": [{"$match": {"a": {"$function": 1}}}]},
        {"uri": "late", "stages": []},
        1,
    ]));
    let good: Vec<&str> = defs.good.iter().map(|def| def.uri.as_str()).collect();
    assert_eq!(good, ["good", "late"]);
    assert_eq!(defs.good[0].stages, [], "the first of two wins");
    let bad: Vec<_> = defs
        .bad
        .iter()
        .map(|bad| (bad.index, bad.uri.as_deref(), bad.error.path.to_string()))
        .collect();
    assert_eq!(
        bad,
        [
            (0, None, "streams[0]".to_owned()),
            (2, Some("a/b"), "streams[2].uri".to_owned()),
            (3, Some("good"), "streams[3].uri".to_owned()),
            (4, Some("evil"), "streams[4].stages[0].$match.a".to_owned()),
            (6, None, "streams[6]".to_owned()),
        ]
    );
    let violation = defs.find_bad("evil").unwrap().error.violation.as_ref().unwrap();
    assert_eq!(
        violation.to_string(),
        "Cannot open change stream: Security violation: BLACKLISTED_OPERATOR operator '$function' at \
         pipeline[0].$match.a - Operator is in security blacklist"
    );
    let whole = StreamDefs::parse(&bson!({"uri": "a"}));
    assert_eq!(
        whole.bad[0].error.to_string(),
        "streams: it must be an array of stream definitions"
    );
}

#[test]
fn errors_name_the_place_and_the_reason() {
    for (element, place, reason) in [
        (bson!({"stages": []}), "", "needs a `uri`"),
        (bson!({"uri": 1, "stages": []}), "uri", "a string"),
        (bson!({"uri": "", "stages": []}), "uri", "empty"),
        (bson!({"uri": "_meta", "stages": []}), "uri", "_meta"),
        (bson!({"uri": "_size", "stages": []}), "uri", "_size"),
        (bson!({"uri": "a/b", "stages": []}), "uri", "segment"),
        (bson!({"uri": "a\nb", "stages": []}), "uri", "control"),
        (bson!({"uri": "a"}), "", "needs `stages`"),
        (bson!({"uri": "a", "stages": {}}), "stages", "an array"),
        (bson!({"uri": "a", "stages": null}), "stages", "an array"),
        (bson!({"uri": "a", "stages": [1]}), "stages[0]", "a document"),
        (
            bson!({"uri": "a", "stages": [{"$match": {"a": {"$var": 1}}}]}),
            "stages[0].$match.a.$var",
            "wrong variable name",
        ),
        (bson!({"uri": "a", "stages": [{}, {"$ifvar": "x"}]}), "stages[0]", "exactly one key"),
        (
            bson!({"uri": "a", "stages": [{"$ifvar": "x"}]}),
            "stages[0].$ifvar",
            "invalid optional stage",
        ),
        (
            bson!({"uri": "a", "stages": [{"$ifvar": ["x", {"$match": {}}, {"$out": 1}]}]}),
            "stages[0].$ifvar[2]",
            "BLACKLISTED_STAGE operator '$out'",
        ),
        (
            bson!({"uri": "a", "stages": [{"$ifvar": ["x", {"$match": {"a": {"$var": []}}}]}]}),
            "stages[0].$ifvar[1].$match.a.$var",
            "wrong variable name",
        ),
        (bson!({"uri": "a", "stages": [{"$unset": "_id"}]}), "stages[0].$unset", "resume token"),
        (bson!({"uri": "a", "stages": [], "notify_when": []}), "notify_when", "a document"),
        (
            bson!({"uri": "a", "stages": [], "notify_when": {"a::b": {"$gt": 1}}}),
            "notify_when.a::b",
            "equality only",
        ),
        (
            bson!({"uri": "a", "stages": [], "full_document": "updatelookup"}),
            "full_document",
            "did you mean `updateLookup`",
        ),
        (bson!({"uri": "a", "stages": [], "full_document": true}), "full_document", "a string"),
        (
            bson!({"uri": "a", "stages": [], "full_document_before_change": "updateLookup"}),
            "full_document_before_change",
            "off, whenAvailable, required",
        ),
        (bson!({"uri": "a", "stages": [], "leave": "yes"}), "leave", "true or false"),
        (bson!({"uri": "a", "stages": [], "description": 1}), "description", "a string"),
    ] {
        let error = StreamDef::parse(&element).unwrap_err();
        assert_eq!(error.path.to_string(), place, "{element}");
        assert!(error.reason.contains(reason), "{error}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = (0..200).fold(bson!(1), |inner, _| bson!({"$not": [inner]}));
    let error =
        StreamDef::parse(&bson!({"uri": "a", "stages": [{"$set": {"x": deep}}]})).unwrap_err();
    assert!(error.reason.contains("deeper than 100"), "{error}");
    let wide = vec![Bson::Null; 30_000];
    let error =
        StreamDef::parse(&bson!({"uri": "a", "stages": [{"$set": {"x": wide}}]})).unwrap_err();
    assert!(error.reason.contains("20000 values"), "{error}");
}

#[test]
fn warnings_tell_what_may_surprise() {
    let guard = "any caller may choose";
    let deletes = "deletes carry no fullDocument";
    let inserts = || bson!({"$match": {"operationType": {"$in": ["insert", "update"]}}});
    let tenant = || bson!({"fullDocument::tenantId": {"$var": "tid"}});
    let mine = || bson!({"$match": {"fullDocument.owner": {"$var": "@user._id"}}});
    for (element, expected) in [
        (bson!({"uri": "a", "stages": []}), vec![]),
        (bson!({"uri": "a", "stages": [inserts()]}), vec![]),
        (bson!({"uri": "a", "stages": [], "notify_when": tenant()}), vec![guard, deletes]),
        (bson!({"uri": "a", "stages": [inserts()], "notify_when": tenant()}), vec![guard]),
        (bson!({"uri": "a", "stages": [inserts(), mine()], "notify_when": tenant()}), vec![]),
        (bson!({"uri": "a", "stages": [mine()]}), vec![deletes]),
        (
            bson!({"uri": "a", "stages": [mine()], "full_document_before_change": "whenAvailable"}),
            vec![],
        ),
        (
            bson!({"uri": "a", "stages": [{"$match": {"$or": [{"fullDocument.a": 1}, {"operationType": "delete"}]}}]}),
            vec![deletes],
        ),
        (
            bson!({"uri": "a", "stages": [{"$match": {"$or": [{"operationType": "insert"}, {"operationType": "update"}], "fullDocument.a": 1}}]}),
            vec![],
        ),
        (
            bson!({"uri": "a", "stages": [{"$match": {"operationType": {"$ne": "delete"}, "fullDocument.a": 1}}]}),
            vec![],
        ),
        (
            bson!({"uri": "a", "stages": [{"$match": {"operationType": {"$nin": ["drop"]}, "fullDocument.a": 1}}]}),
            vec![deletes],
        ),
        (
            bson!({"uri": "a", "stages": [{"$ifvar": ["x", {"$match": {"y": {"$var": "x"}}}]}]}),
            vec![guard],
        ),
        (bson!({"uri": "a", "stages": [], "leave": true}), vec!["leave needs"]),
        (bson!({"uri": "a", "stages": [], "full_document": "required"}), vec!["with `required`"]),
        (
            bson!({"uri": "a", "stages": [{"$redact": {"$cond": [true, "$$DESCEND", "$$PRUNE"]}}]}),
            vec!["$$DESCEND"],
        ),
        (
            bson!({"uri": "a", "stages": [{"$match": {"x": {"$var": "page"}}}]}),
            vec![guard, "only in avars"],
        ),
        (
            bson!({"uri": "a", "stages": [], "notify_when": {"tenantId": "x"}}),
            vec!["no change event has a field"],
        ),
        (
            bson!({"uri": "a", "stages": [{"$set": {"score.x": 1}}], "notify_when": {"score.x": 1}}),
            vec![],
        ),
        (
            bson!({"uri": "a", "stages": [{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"s": 1}]}}], "notify_when": {"s": 1}}),
            vec![],
        ),
        (
            bson!({"uri": "a", "stages": [], "fullDocument": "off"}),
            vec!["`fullDocument` is ignored; did you mean `full_document`"],
        ),
        (bson!({"uri": "a", "stages": [], "note": "off"}), vec!["unknown field `note` is ignored"]),
    ] {
        let warnings = parse(element.clone()).warnings;
        assert_eq!(warnings.len(), expected.len(), "{element}: {warnings:?}");
        for (warning, part) in warnings.iter().zip(expected) {
            assert!(warning.contains(part), "{warning}");
        }
    }
}

#[test]
fn variables_are_listed_once() {
    let def = parse(bson!({
        "uri": "a",
        "stages": [
            {"$match": {"a": {"$var": "x"}, "b": {"$var": ["y", 2]}, "c": {"$var": "@user._id"}}},
            {"$ifvar": ["z", {"$match": {"d": {"$var": "z"}, "e": {"$var": "w"}}}]},
        ],
        "notify_when": {"fullDocument::x": {"$var": "x"}, "fullDocument::t": {"$var": "tid"}},
    }));
    let listed: Vec<_> = def
        .variables()
        .into_iter()
        .map(|v| (v.name, v.required, v.default.is_some(), v.server, v.in_stages, v.in_notify_when))
        .collect();
    let row = |name: &str, required, default, server, stages, notify| {
        (name.to_owned(), required, default, server, stages, notify)
    };
    assert_eq!(
        listed,
        [
            row("x", true, false, false, true, true),
            row("y", false, true, false, true, false),
            row("@user._id", true, false, true, true, false),
            row("z", false, false, false, true, false),
            row("w", false, false, false, true, false),
            row("tid", true, false, false, false, true),
        ]
    );
}
