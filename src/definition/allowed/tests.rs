//! Rows: a stage as a definition writes it, and what is said of it.

use bson::{Bson, bson, doc};

use super::super::path::At;
use super::super::violation::Fault;
use super::*;

/// `Ok`, or `KIND operator place`, or `malformed place`.
fn verdict(stage: &Bson, mode: Mode) -> String {
    let stage = stage.as_document().unwrap();
    match check_stage(stage, mode).at(0) {
        Ok(()) => "ok".to_owned(),
        Err(finding) => match &finding.fault {
            Fault::Malformed(reason) => {
                assert!(!reason.is_empty());
                format!("malformed {}", finding.location())
            }
            Fault::Forbidden(forbidden) => {
                format!("{} {} {}", forbidden.kind, forbidden.operator, finding.location())
            }
        },
    }
}

fn check(rows: &[(Bson, &str)]) {
    for (stage, expected) in rows {
        assert_eq!(verdict(stage, Mode::Template), *expected, "declared: {stage}");
        assert_eq!(verdict(stage, Mode::Resolved), *expected, "resolved: {stage}");
    }
}

#[test]
fn ordinary_stages_pass() {
    let stages = bson!([
        {"$match": {}},
        {"$match": {"$or": [{"operationType": "insert"}, {"operationType": "update"}]}},
        {"$match": {"operationType": {"$in": ["insert", "update"]}, "fullDocument.n": {"$gte": 1, "$lt": 5}}},
        {"$match": {"updateDescription.updatedFields.a": {"$exists": true}}},
        {"$match": {"a": {"$not": {"$gt": 1}}, "b": {"$not": {"$elemMatch": {"$eq": 1}}}}},
        {"$match": {"a": {"$elemMatch": {"b": 1, "$or": [{"c": 1}, {"d": {"$size": 2}}]}}}},
        {"$match": {"a": {"$all": [1, {"x": 1}]}, "b": {"$all": [{"$elemMatch": {"c": 1}}]}}},
        {"$match": {"a": {"b": 1, "c": [1, {"d": 2}]}}},
        {"$match": {"a": {"$ref": "c", "$id": 1, "$db": "d"}}},
        {"$match": {"a": {"$regex": "^x", "$options": "i"}, "$comment": {"any": "thing"}}},
        {"$match": {"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "int"}}}}},
        {"$match": {"loc": {"$geoWithin": {"$box": [[0, 0], [1, 1]]}}}},
        {"$match": {"loc": {"$geoIntersects": {"$geometry": {"type": "Point", "coordinates": [0, 0]}}}}},
        {"$match": {"$expr": {"$gt": ["$fullDocument.a", {"$add": ["$fullDocument.b", 1]}]}}},
        {"$match": {"$nor": [{"a": {"$mod": [2, 0]}}, {"$and": [{"b": {"$type": "int"}}]}]}},
        {"$addFields": {"fullDocument.div": {"$divide": [1, "$fullDocument.n"]}}},
        {"$set": {"a": {"b": {"$cond": {"if": true, "then": "$x", "else": "$$REMOVE"}}}}},
        {"$set": {"a": {"$switch": {"branches": [{"case": {"$eq": [1, 1]}, "then": 1}], "default": 0}}}},
        {"$set": {"a": {"$literal": {"$any": ["$thing", {"$x": 1}]}}}},
        {"$set": {"a": {"$let": {"vars": {"x": "$a"}, "in": {"$map": {"input": "$$x", "in": "$$this"}}}}}},
        {"$project": {"fullDocument": 1, "operationType": 1}},
        {"$project": {"fullDocument": {"a": 1, "b": {"c": 1}}, "_id": 1}},
        {"$project": {"fullDocument.secret": 0}},
        {"$unset": "fullDocument.secret"},
        {"$unset": ["fullDocument.secret", "updateDescription"]},
        {"$redact": {"$cond": [{"$eq": ["$operationType", "insert"]}, "$$KEEP", "$$PRUNE"]}},
        {"$replaceWith": "$$ROOT"},
    ]);
    let rows: Vec<_> =
        stages.as_array().unwrap().iter().map(|stage| (stage.clone(), "ok")).collect();
    check(&rows);
}

#[test]
fn every_listed_operator_passes_in_its_place() {
    for operator in operators::EXPRESSIONS {
        check(&[(bson!({"$set": {"a": {*operator: "$b"}}}), "ok")]);
    }
    for operator in operators::FIELD_OPERATORS
        .iter()
        .filter(|operator| !["$not", "$elemMatch", "$all", "$in", "$nin"].contains(operator))
    {
        check(&[(bson!({"$match": {"a": {*operator: 1}}}), "ok")]);
    }
}

#[test]
fn dangerous_stages_and_operators_are_found_everywhere() {
    for stage in ["$out", "$merge", "$lookup", "$graphLookup", "$unionWith", "$OUT", "$lookUp"] {
        let said = |place: &str| format!("BLACKLISTED_STAGE {stage} {place}");
        check(&[
            (bson!({stage: "x"}), &said("pipeline[0]")),
            (
                bson!({"$facet": {"a": [{"$match": {}}, {stage: "x"}]}}),
                &said("pipeline[0].$facet.a[1]"),
            ),
            (bson!({"$match": {"$expr": {stage: 1}}}), &said("pipeline[0].$match.$expr")),
            (bson!({"$match": {"a": {"$in": [{stage: 1}]}}}), &said("pipeline[0].$match.a.$in[0]")),
            (
                bson!({"$set": {"a": {"$literal": {stage: 1}}}}),
                &said("pipeline[0].$set.a.$literal"),
            ),
            (bson!({"$var": ["st", {stage: "x"}]}), &said("pipeline[0].$var[1]")),
            (bson!({"$ifvar": ["x", {stage: "x"}]}), &said("pipeline[0].$ifvar[1]")),
        ]);
    }
    for operator in ["$where", "$function", "$accumulator", "$WHERE"] {
        let said = |place: &str| format!("BLACKLISTED_OPERATOR {operator} {place}");
        check(&[
            (bson!({operator: "x"}), &format!("JAVASCRIPT_EXECUTION {operator} pipeline[0]")),
            (bson!({"$match": {operator: "x"}}), &said("pipeline[0].$match")),
            (bson!({"$match": {"$or": [{}, {operator: "x"}]}}), &said("pipeline[0].$match.$or[1]")),
            (
                bson!({"$match": {"$expr": {"$eq": [{operator: {}}, 1]}}}),
                &said("pipeline[0].$match.$expr.$eq[0]"),
            ),
            (
                bson!({"$match": {"a": {"$elemMatch": {operator: 1}}}}),
                &said("pipeline[0].$match.a.$elemMatch"),
            ),
            (bson!({"$project": {"a": {operator: {}}}}), &said("pipeline[0].$project.a")),
            (bson!({"$replaceWith": {"a": {operator: {}}}}), &said("pipeline[0].$replaceWith.a")),
            (
                bson!({"$match": {"a": {"$var": ["n", {operator: 1}]}}}),
                &said("pipeline[0].$match.a.$var[1]"),
            ),
        ]);
    }
    let code = Bson::JavaScriptCode("1".to_owned());
    check(&[(
        bson!({"$match": {"a": [code]}}),
        "JAVASCRIPT_EXECUTION $code pipeline[0].$match.a[0]",
    )]);
}

#[test]
fn other_stages_are_unsupported() {
    for stage in operators::OTHER_STAGES.iter().chain(&[
        "$changeStreamSplitLargeEvent",
        "$mtach",
        "match",
        "",
        "$",
    ]) {
        check(&[(bson!({*stage: {}}), format!("UNSUPPORTED_STAGE {stage} pipeline[0]").as_str())]);
    }
}

#[test]
fn other_operators_are_unsupported_in_each_place() {
    for (stage, operator, place) in [
        (bson!({"$match": {"$text": {"$search": "x"}}}), "$text", "$match"),
        (bson!({"$match": {"$sampleRate": 0.5}}), "$sampleRate", "$match"),
        (bson!({"$match": {"$alwaysTrue": 1}}), "$alwaysTrue", "$match"),
        (bson!({"$match": {"$gt": 1}}), "$gt", "$match"),
        (bson!({"$match": {"$and": [{"$nro": []}]}}), "$nro", "$match.$and[0]"),
        (bson!({"$match": {"a": {"$near": [0, 0]}}}), "$near", "$match.a"),
        (bson!({"$match": {"a": {"$nearSphere": [0, 0]}}}), "$nearSphere", "$match.a"),
        (bson!({"$match": {"a": {"$exsits": true}}}), "$exsits", "$match.a"),
        (bson!({"$match": {"a": {"$gt": 1, "b": 2}}}), "b", "$match.a"),
        (bson!({"$match": {"a": {"$not": {"$or": []}}}}), "$or", "$match.a.$not"),
        (bson!({"$match": {"a": {"$expr": 1}}}), "$expr", "$match.a"),
        (bson!({"$match": {"a": {"$elemMatch": {"$expr": 1}}}}), "$expr", "$match.a.$elemMatch"),
        (bson!({"$match": {"a": {"b": {"$gt": 1}}}}), "$gt", "$match.a.b"),
        (bson!({"$match": {"a": {"b": 1, "$gt": 1}}}), "$gt", "$match.a"),
        (bson!({"$match": {"a": {"$in": [{"$gt": 1}]}}}), "$gt", "$match.a.$in[0]"),
        (bson!({"$match": {"a": {"$eq": {"$ne": 1}}}}), "$ne", "$match.a.$eq"),
        (bson!({"$match": {"a": {"$var": "x", "b": 1}}}), "$var", "$match.a"),
        (bson!({"$match": {"a": {"$id": 1}}}), "$id", "$match.a"),
        (bson!({"$match": {"a": {"$comment": 1}}}), "$comment", "$match.a"),
        (bson!({"$match": {"$ifvar": ["x", {}]}}), "$ifvar", "$match"),
        (bson!({"$match": {"$expr": {"$rand": {}}}}), "$rand", "$match.$expr"),
        (bson!({"$set": {"a": {"$rand": {}}}}), "$rand", "$set.a"),
        (bson!({"$set": {"a": {"$meta": "textScore"}}}), "$meta", "$set.a"),
        (bson!({"$set": {"a": {"$exists": 1}}}), "$exists", "$set.a"),
        (bson!({"$set": {"a": [{"$cnd": []}]}}), "$cnd", "$set.a[0]"),
        (bson!({"$set": {"a": {"$add": [1, {"$match": {}}]}}}), "$match", "$set.a.$add[1]"),
        (bson!({"$set": {"a": {"$add": [1], "b": 1}}}), "$add", "$set.a"),
        (bson!({"$set": {"a": {"b": 1, "$add": [1]}}}), "$add", "$set.a"),
        (bson!({"$set": {"a": "$$USER_ROLES.role"}}), "$$USER_ROLES", "$set.a"),
        (bson!({"$project": {"a": {"$elemMatch": {}}}}), "$elemMatch", "$project.a"),
        (bson!({"$redact": {"$out": 1, "$x": 1}}), "$out", "$redact"),
    ] {
        let kind = if operator == "$out" { "BLACKLISTED_STAGE" } else { "UNSUPPORTED_OPERATOR" };
        check(&[(stage, format!("{kind} {operator} pipeline[0].{place}").as_str())]);
    }
}

#[test]
fn shapes_are_checked() {
    check(&[
        (bson!({}), "malformed pipeline[0]"),
        (bson!({"$match": {}, "$set": {"a": 1}}), "malformed pipeline[0]"),
        (bson!({"$match": 1}), "malformed pipeline[0].$match"),
        (bson!({"$match": []}), "malformed pipeline[0].$match"),
        (bson!({"$match": {"$or": {}}}), "malformed pipeline[0].$match.$or"),
        (bson!({"$match": {"$or": []}}), "malformed pipeline[0].$match.$or"),
        (bson!({"$match": {"$or": [1]}}), "malformed pipeline[0].$match.$or[0]"),
        (bson!({"$match": {"a": {"$in": 1}}}), "malformed pipeline[0].$match.a.$in"),
        (bson!({"$match": {"a": {"$not": 1}}}), "malformed pipeline[0].$match.a.$not"),
        (bson!({"$match": {"a": {"$elemMatch": 1}}}), "malformed pipeline[0].$match.a.$elemMatch"),
        (bson!({"$set": {}}), "ok"),
        (bson!({"$set": "a"}), "malformed pipeline[0].$set"),
        (bson!({"$set": {"$add": [1]}}), "malformed pipeline[0].$set"),
        (bson!({"$project": {}}), "malformed pipeline[0].$project"),
        (bson!({"$unset": 1}), "malformed pipeline[0].$unset"),
        (bson!({"$unset": []}), "malformed pipeline[0].$unset"),
        (bson!({"$unset": ["a", 1]}), "malformed pipeline[0].$unset"),
        (bson!({"$unset": "$a"}), "malformed pipeline[0].$unset"),
        (bson!({"$replaceRoot": "$$ROOT"}), "malformed pipeline[0].$replaceRoot"),
        (
            bson!({"$replaceRoot": {"newRoot": "$$ROOT", "x": 1}}),
            "malformed pipeline[0].$replaceRoot",
        ),
    ]);
}

#[test]
fn the_events_id_is_kept() {
    let kept = bson!([
        {"$set": {"_id": "$_id", "documentKey._id": 1, "_identity": 1}},
        {"$project": {"_id": true, "a": 1}},
        {"$project": {"_id": "$_id", "a": 1}},
        {"$project": {"documentKey._id": 0}},
        {"$unset": ["documentKey._id", "_idx"]},
        {"$replaceWith": "$$CURRENT"},
        {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"a": 1}]}},
        {"$replaceWith": {"$mergeObjects": [{"_id": 1}, "$fullDocument", "$$ROOT"]}},
        {"$replaceWith": {"$mergeObjects": ["$fullDocument", {"_id": "$_id"}]}},
        {"$replaceWith": {"$mergeObjects": "$$ROOT"}},
        {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$literal": {"a": 1}}]}},
        {"$replaceWith": {"_id": "$_id", "fullDocument": {"_id": 1}}},
        {"$replaceWith": {"$setField": {"field": "a", "input": "$$ROOT", "value": 1}}},
        {"$replaceWith": {"$unsetField": {"field": "a", "input": "$$ROOT"}}},
        {"$replaceRoot": {"newRoot": {"$mergeObjects": ["$$ROOT", {"x": "$_id"}]}}},
        {"$replaceRoot": {"newRoot": {"_id": "$$ROOT._id"}}},
    ]);
    let kept: Vec<_> = kept.as_array().unwrap().iter().map(|stage| (stage.clone(), "ok")).collect();
    check(&kept);
    let lost = bson!([
        [{"$set": {"_id": 1}}, "$set._id"],
        [{"$set": {"_id": "$documentKey._id"}}, "$set._id"],
        [{"$addFields": {"_id._data": 1}}, "$addFields._id._data"],
        [{"$project": {"_id": 0}}, "$project._id"],
        [{"$project": {"_id": false, "a": 1}}, "$project._id"],
        [{"$project": {"_id": (0.0), "a": 1}}, "$project._id"],
        [{"$project": {"_id": {"_data": 1}}}, "$project._id"],
        [{"$project": {"_id._data": 1}}, "$project._id._data"],
        [{"$project": {"_id": "$documentKey._id"}}, "$project._id"],
        [{"$unset": "_id"}, "$unset"],
        [{"$unset": "_id._data"}, "$unset"],
        [{"$unset": ["a", "_id"]}, "$unset[1]"],
        [{"$replaceWith": "$fullDocument"}, "$replaceWith"],
        [{"$replaceWith": {"a": 1}}, "$replaceWith"],
        [{"$replaceWith": {"_id": 1}}, "$replaceWith"],
        [{"$replaceWith": {"$mergeObjects": ["$$ROOT", "$fullDocument"]}}, "$replaceWith"],
        [{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"_id": 1}]}}, "$replaceWith"],
        [{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$literal": {"_id": 1}}]}}, "$replaceWith"],
        [{"$replaceWith": {"$mergeObjects": [{"a": 1}]}}, "$replaceWith"],
        [{"$replaceWith": {"$setField": {"field": "_id", "input": "$$ROOT", "value": 1}}}, "$replaceWith"],
        [{"$replaceWith": {"$unsetField": {"field": "_id", "input": "$$ROOT"}}}, "$replaceWith"],
        [{"$replaceWith": {"$ifNull": ["$fullDocument", "$$ROOT"]}}, "$replaceWith"],
        [{"$replaceRoot": {"newRoot": "$fullDocument"}}, "$replaceRoot.newRoot"],
    ]);
    for row in lost.as_array().unwrap() {
        let row = row.as_array().unwrap();
        let place = format!("malformed pipeline[0].{}", row[1].as_str().unwrap());
        check(&[(row[0].clone(), place.as_str())]);
    }
}

#[test]
fn placeholders_stand_for_any_value_until_they_are_filled() {
    for stage in bson!([
        {"$var": "st"},
        {"$var": ["st", {"$match": {"a": 1}}]},
        {"$match": {"$var": "query"}},
        {"$match": {"a": {"$var": "x"}, "$or": {"$var": "list"}}},
        {"$match": {"a": {"$in": {"$var": "list"}}, "b": {"$in": [{"$var": "x"}]}}},
        {"$match": {"a": {"b": {"$var": "x"}}, "c": {"$not": {"$var": "x"}}}},
        {"$match": {"a": {"$elemMatch": {"$var": "x"}}, "b": {"$all": [{"$var": "x"}]}}},
        {"$match": {"$expr": {"$eq": ["$a", {"$var": "x"}]}}},
        {"$set": {"a": {"$var": ["x", {"$add": [1, "$b"]}]}}},
        {"$project": {"a": {"$var": "x"}}},
        {"$unset": {"$var": "x"}},
        {"$unset": ["a", {"$var": ["x", "b"]}]},
        {"$replaceRoot": {"newRoot": {"$mergeObjects": ["$$ROOT", {"$var": "x"}]}}},
    ])
    .as_array()
    .unwrap()
    {
        assert_eq!(verdict(stage, Mode::Template), "ok", "{stage}");
    }
}

#[test]
fn defaults_are_checked_in_their_place() {
    for (stage, expected) in [
        (bson!({"$var": ["st", {"$limit": 1}]}), "UNSUPPORTED_STAGE $limit pipeline[0]"),
        (bson!({"$var": ["st", 1]}), "malformed pipeline[0]"),
        (
            bson!({"$match": {"$var": ["q", {"$text": {}}]}}),
            "UNSUPPORTED_OPERATOR $text pipeline[0].$match",
        ),
        (
            bson!({"$match": {"a": {"$var": ["q", {"$near": []}]}}}),
            "UNSUPPORTED_OPERATOR $near pipeline[0].$match.a",
        ),
        (
            bson!({"$set": {"a": {"$var": ["q", {"$rand": {}}]}}}),
            "UNSUPPORTED_OPERATOR $rand pipeline[0].$set.a",
        ),
        (bson!({"$unset": {"$var": ["f", "_id"]}}), "malformed pipeline[0].$unset"),
    ] {
        assert_eq!(verdict(&stage, Mode::Template), expected, "{stage}");
    }
}

#[test]
fn misspelt_names_get_a_suggestion() {
    for (stage, expected) in [
        (doc! {"$mtach": {}}, "did you mean `$match`"),
        (doc! {"$replacewith": {}}, "did you mean `$replaceWith`"),
        (doc! {"$match": {"a": {"$exsits": true}}}, "did you mean `$exists`"),
        (doc! {"$match": {"$nro": []}}, "did you mean `$nor`"),
        (doc! {"$set": {"a": {"$mergeObject": []}}}, "did you mean `$mergeObjects`"),
        (doc! {"$limit": 1}, "$addFields, $match, $project"),
    ] {
        let finding = check_stage(&stage, Mode::Template).unwrap_err();
        assert!(finding.fault.to_string().contains(expected), "{}", finding.fault);
    }
}
