//! Rows: declared stages, what the client binds, and the pipeline that comes out.

use bson::bson;

use super::super::escape::unescape;
use super::super::parameters::Parameters;
use super::*;

fn variables(avars: Bson) -> Variables {
    let parameters =
        Parameters::from_query([("plain", "42"), ("path", "$fullDocument.ssn")]).unwrap();
    let user = doc! {
        "_id": "joe",
        "name": "$fullDocument.ssn",
        "teams": ["red"],
        "profile": {"$ne": null},
    };
    Variables::client(&parameters, Some(&avars))
        .unwrap()
        .predefine("@page", 1)
        .predefine("@mongoPermissions.readFilter", doc! {"owner": {"$in": ["a", "b"]}})
        .predefine_user(user.into())
}

fn bind(stages: Bson, avars: Bson) -> Result<Vec<ResolvedStage>, BindError> {
    let elements = stages.as_array().unwrap().iter();
    let templates: Vec<_> =
        elements.map(|element| StageTemplate::parse(&unescape(element)).unwrap()).collect();
    bind_stages(&templates, &variables(avars))
}

fn check(stages: Bson, avars: Bson, expected: Bson, bounds: &[Bound]) {
    let resolved = bind(stages.clone(), avars).unwrap();
    let pipeline: Vec<Bson> =
        resolved.iter().map(|resolved| resolved.stage.clone().into()).collect();
    assert_eq!(Bson::Array(pipeline), expected, "{stages}");
    let bound_by: Vec<Bound> = resolved.iter().map(|resolved| resolved.bound_by).collect();
    assert_eq!(bound_by, bounds, "{stages}");
}

use Bound::{Caller, Client, Nothing};

#[test]
fn variables_are_filled_in_and_their_stages_marked() {
    check(bson!([]), bson!({}), bson!([]), &[]);
    check(
        bson!([
            {"_$match": {"operationType": "insert"}},
            {"_$match": {"fullDocument::name": {"_$var": "n"}}},
            {"$match": {"fullDocument.owner": {"$var": "@user._id"}}},
            {"$match": {"fullDocument.owner": {"$var": "@user._id"}, "x": {"$var": "n"}}},
            {"$match": {"page": {"$var": "@page"}}},
        ]),
        bson!({"n": "uji"}),
        bson!([
            {"$match": {"operationType": "insert"}},
            {"$match": {"fullDocument.name": "uji"}},
            {"$match": {"fullDocument.owner": "joe"}},
            {"$match": {"fullDocument.owner": "joe", "x": "uji"}},
            {"$match": {"page": 1}},
        ]),
        &[Nothing, Client, Caller, Caller, Client],
    );
}

#[test]
fn types_paths_and_defaults_are_kept() {
    check(
        bson!([{"$match": {
            "a": {"$var": "n"}, "b": {"$var": "options.sort[0]"}, "c": {"$var": "plain"},
            "d": {"$in": {"$var": "list"}}, "e": {"$var": "doc"}, "f": {"$var": "null"},
            "g": {"$var": ["missing", 7]}, "h": {"$var": ["n", 7]}, "i": {"$var": ["null", 7]},
        }}]),
        bson!({"n": 1.5, "options": {"sort": ["x"]}, "list": [1, "2"], "doc": {"a": {"b": 1}}, "null": null}),
        bson!([{"$match": {
            "a": 1.5, "b": "x", "c": "42", "d": {"$in": [1, "2"]}, "e": {"a": {"b": 1}},
            "f": null, "g": 7, "h": 1.5, "i": null,
        }}]),
        &[Client],
    );
    check(
        bson!([{"$var": ["st", {"$match": {"a": 1}}]}]),
        bson!({}),
        bson!([{"$match": {"a": 1}}]),
        &[Client],
    );
    check(
        bson!([{"$match": {"$var": "@mongoPermissions.readFilter"}}]),
        bson!({}),
        bson!([{"$match": {"owner": {"$in": ["a", "b"]}}}]),
        &[Caller],
    );
}

#[test]
fn optional_stages_come_and_go() {
    let stages = bson!([
        {"_$ifvar": ["fruit", {"_$match": {"fullDocument::fruit": {"_$var": "fruit"}}}]},
        {"$ifvar": ["x", {"$match": {"a": 1}}, {"$match": {"a": 2}}]},
        {"$ifvar": [["@user._id"], {"$match": {"b": 1}}]},
        {"$ifvar": [[], {"$match": {"c": 1}}]},
    ]);
    check(
        stages.clone(),
        bson!({}),
        bson!([{"$match": {"a": 2}}, {"$match": {"b": 1}}, {"$match": {"c": 1}}]),
        &[Client, Caller, Nothing],
    );
    check(
        stages,
        bson!({"fruit": "kiwi", "x": null}),
        bson!([
            {"$match": {"fullDocument.fruit": "kiwi"}}, {"$match": {"a": 1}},
            {"$match": {"b": 1}}, {"$match": {"c": 1}},
        ]),
        &[Client, Client, Caller, Nothing],
    );
}

#[test]
fn bound_strings_never_become_field_paths() {
    let evil = bson!({"t": "$fullDocument.ssn", "r": "$$ROOT", "list": ["$a", {"x": "$b"}], "doc": {"x": {"y": "$c"}},
        "odd": [{}, {"x.y": "$d"}], "spec": {"fullDocument.a": 1, "b": "$e"}});
    let quoted = |text: &str| bson!({"$literal": text});
    for (declared, resolved) in [
        (
            bson!({"$addFields": {"tag": {"$var": "t"}}}),
            bson!({"$addFields": {"tag": (quoted("$fullDocument.ssn"))}}),
        ),
        (
            bson!({"$set": {"a": {"b": [{"$var": "r"}]}}}),
            bson!({"$set": {"a": {"b": [(quoted("$$ROOT"))]}}}),
        ),
        (
            bson!({"$set": {"a": {"$concat": ["x", {"$var": "t"}]}}}),
            bson!({"$set": {"a": {"$concat": ["x", (quoted("$fullDocument.ssn"))]}}}),
        ),
        (
            bson!({"$project": {"a": {"$var": "t"}}}),
            bson!({"$project": {"a": (quoted("$fullDocument.ssn"))}}),
        ),
        (
            bson!({"$set": {"a": {"$var": "list"}}}),
            bson!({"$set": {"a": [(quoted("$a")), {"x": (quoted("$b"))}]}}),
        ),
        (
            bson!({"$set": {"a": {"$var": "doc"}}}),
            bson!({"$set": {"a": {"x": {"y": (quoted("$c"))}}}}),
        ),
        (
            bson!({"$set": {"a": {"$var": "odd"}}}),
            bson!({"$set": {"a": [{"$literal": {}}, {"$literal": {"x.y": "$d"}}]}}),
        ),
        (
            bson!({"$project": {"$var": "spec"}}),
            bson!({"$project": {"fullDocument.a": 1, "b": (quoted("$e"))}}),
        ),
        (
            bson!({"$set": {"$var": "spec"}}),
            bson!({"$set": {"fullDocument.a": 1, "b": (quoted("$e"))}}),
        ),
        (bson!({"$set": {"a": {"$var": "plain"}}}), bson!({"$set": {"a": (quoted("42"))}})),
        (
            bson!({"$set": {"a": {"$var": "path"}}}),
            bson!({"$set": {"a": (quoted("$fullDocument.ssn"))}}),
        ),
        (
            bson!({"$match": {"$expr": {"$eq": ["$a", {"$var": "t"}]}}}),
            bson!({"$match": {"$expr": {"$eq": ["$a", (quoted("$fullDocument.ssn"))]}}}),
        ),
        (
            bson!({"$match": {"$or": [{"$expr": {"$var": "t"}}]}}),
            bson!({"$match": {"$or": [{"$expr": (quoted("$fullDocument.ssn"))}]}}),
        ),
        (bson!({"$match": {"a": {"$var": "t"}}}), bson!({"$match": {"a": "$fullDocument.ssn"}})),
        (
            bson!({"$set": {"a": {"$literal": {"$var": "t"}}}}),
            bson!({"$set": {"a": {"$literal": "$fullDocument.ssn"}}}),
        ),
        (
            bson!({"$redact": {"$cond": [{"$eq": ["$a", {"$var": "t"}]}, "$$KEEP", "$$PRUNE"]}}),
            bson!({"$redact": {"$cond": [{"$eq": ["$a", (quoted("$fullDocument.ssn"))]}, "$$KEEP", "$$PRUNE"]}}),
        ),
        (bson!({"$redact": {"$var": "r"}}), bson!({"$redact": (quoted("$$ROOT"))})),
        (
            bson!({"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$var": "doc"}]}}),
            bson!({"$replaceWith": {"$mergeObjects": ["$$ROOT", {"x": {"y": (quoted("$c"))}}]}}),
        ),
        (
            bson!({"$replaceRoot": {"newRoot": {"_id": "$_id", "a": {"$var": "t"}}}}),
            bson!({"$replaceRoot": {"newRoot": {"_id": "$_id", "a": (quoted("$fullDocument.ssn"))}}}),
        ),
    ] {
        check(bson!([declared]), evil.clone(), bson!([resolved]), &[Client]);
    }
    check(
        bson!([{"$set": {"a": {"$var": "@user.name"}}}]),
        bson!({}),
        bson!([{"$set": {"a": {"$literal": "$fullDocument.ssn"}}}]),
        &[Caller],
    );
    check(
        bson!([{"$set": {"a": {"$var": ["missing", "$fullDocument.b"]}}}]),
        bson!({}),
        bson!([{"$set": {"a": "$fullDocument.b"}}]),
        &[Client],
    );
}

#[test]
fn what_cannot_be_filled_is_refused() {
    for (stage, avars, expected) in [
        (bson!({"$match": {"a": {"$var": "tid"}}}), bson!({}), "variable tid not bound"),
        (bson!({"$match": {"a": {"$var": "tid"}}}), bson!({"TID": 1}), "variable tid not bound"),
        (bson!({"$match": {"a": {"$var": "a.b"}}}), bson!({"a": 1}), "variable a.b not bound"),
        (bson!({"$match": {"a": {"$var": "@now"}}}), bson!({}), "variable @now not bound"),
        (bson!({"$match": {"a": {"$var": "@user.x"}}}), bson!({}), "variable @user.x not bound"),
        (
            bson!({"$ifvar": ["x", {"$match": {"a": {"$var": "y"}}}]}),
            bson!({"x": 1}),
            "variable y not bound",
        ),
        (
            bson!({"$match": {"a": {"$var": "@user.profile"}}}),
            bson!({}),
            "variable @user.profile refused: variables cannot include operators such as `$ne`",
        ),
        (
            bson!({"$match": {"a": {"$var": "@user"}}}),
            bson!({}),
            "variable @user refused: variables cannot include operators such as `$ne`",
        ),
        (
            bson!({"$var": "st"}),
            bson!({"st": 1}),
            "invalid stage at pipeline[0]: the variable that stands for the stage must hold a document",
        ),
        (
            bson!({"$match": {"$var": "q"}}),
            bson!({"q": 1}),
            "invalid stage at pipeline[0].$match: a query is a document",
        ),
        (
            bson!({"$match": {"a": {"$in": {"$var": "q"}}}}),
            bson!({"q": 1}),
            "invalid stage at pipeline[0].$match.a.$in: it takes an array",
        ),
        (
            bson!({"$unset": {"$var": "f"}}),
            bson!({"f": 1}),
            "invalid stage at pipeline[0].$unset: it takes a field name or an array of field names",
        ),
    ] {
        assert_eq!(bind(bson!([stage]), avars).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_filled_stages_are_checked_again() {
    for (stage, avars, place) in [
        (bson!({"$unset": {"$var": "f"}}), bson!({"f": "_id"}), "$unset"),
        (bson!({"$unset": ["a", {"$var": "f"}]}), bson!({"f": "_id._data"}), "$unset[1]"),
        (bson!({"$project": {"$var": "p"}}), bson!({"p": {"_id": 0}}), "$project._id"),
        (bson!({"$set": {"$var": "p"}}), bson!({"p": {"_id": 1}}), "$set._id"),
        (
            bson!({"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$var": "p"}]}}),
            bson!({"p": {"_id": 1}}),
            "$replaceWith",
        ),
    ] {
        match bind(bson!([{"$match": {}}, stage]), avars) {
            Err(BindError::Invalid { location, reason }) => {
                assert_eq!(location, format!("pipeline[1].{place}"));
                assert!(reason.contains("_id"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn violations_read_as_restheart_clients_know_them() {
    for (stage, expected) in [
        (
            bson!({"$out": "x"}),
            "Cannot open change stream: Security violation: BLACKLISTED_STAGE operator '$out' at pipeline[1] - Pipeline stage is in security blacklist",
        ),
        (
            bson!({"$ifvar": ["plain", {"$merge": "x"}]}),
            "Cannot open change stream: Security violation: BLACKLISTED_STAGE operator '$merge' at pipeline[1] - Pipeline stage is in security blacklist",
        ),
        (
            bson!({"$match": {"$expr": {"$function": {}}}}),
            "Cannot open change stream: Security violation: BLACKLISTED_OPERATOR operator '$function' at pipeline[1].$match.$expr - Operator is in security blacklist",
        ),
        (
            bson!({"$where": "1"}),
            "Cannot open change stream: Security violation: JAVASCRIPT_EXECUTION operator '$where' at pipeline[1] - JavaScript execution is disabled by security policy",
        ),
        (
            bson!({"$var": "st"}),
            "Cannot open change stream: Security violation: UNSUPPORTED_STAGE operator 'x' at pipeline[1] - a change stream allows only $addFields, $match, $project, $redact, $replaceRoot, $replaceWith, $set, $unset",
        ),
    ] {
        let error = bind(bson!([{"$match": {}}, stage]), bson!({"st": {"x": 1}})).unwrap_err();
        assert!(matches!(error, BindError::Forbidden(_)));
        assert_eq!(error.to_string(), expected);
    }
}
