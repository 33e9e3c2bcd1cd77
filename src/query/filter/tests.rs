//! Filters as a whole: read, bound, evaluated, refused.

use super::*;
use crate::query::Duplicates;
use bson::raw::{RawBson, RawBsonRef};
use bson::{RawDocumentBuf, rawbson, rawdoc};

fn parse(filter: &RawDocument, options: &ParseOptions<'_>) -> Filter {
    Filter::parse(filter, options).unwrap_or_else(|refusal| panic!("{filter:?}: {refusal}"))
}

fn check_event(filter: &RawDocumentBuf, event: &RawDocumentBuf, expected: bool) {
    let filter = parse(filter, &ParseOptions::read_filter());
    assert_eq!(filter.matches(event), Ok(expected), "{filter:?} {event:?}");
}

#[test]
fn a_read_filter_needs_a_document_image() {
    let inside = rawdoc! { "fullDocument": { "owner": "a", "tags": [{ "owner": "b" }] } };
    check_event(&rawdoc! { "owner": "a" }, &inside, true);
    check_event(&rawdoc! { "$or": [{ "$nor": [{ "owner": "b" }] }] }, &inside, true);
    check_event(&rawdoc! { "tags": { "$elemMatch": { "owner": "b" } } }, &inside, true);
    check_event(&rawdoc! { "lsid": null }, &inside, true);
    check_event(&rawdoc! {}, &inside, true);
    for event in [
        rawdoc! { "owner": "a" },
        rawdoc! { "operationType": "delete", "documentKey": { "_id": 1 } },
        rawdoc! { "operationType": "update", "fullDocument": RawBson::Null },
    ] {
        check_event(&rawdoc! {}, &event, false);
        check_event(&rawdoc! { "owner": { "$ne": "a" } }, &event, false);
        check_event(&rawdoc! { "owner": RawBson::Null }, &event, false);
        check_event(&rawdoc! { "$nor": [{ "owner": "a" }] }, &event, false);
        check_event(&rawdoc! { "owner": { "$exists": false } }, &event, false);
    }
}

#[test]
fn malformed_bytes_fail_under_negation_too() {
    // { "a": <invalid UTF-8> }
    let bytes = b"\x0e\0\0\0\x02a\0\x02\0\0\0\xff\0\0".to_vec();
    let document = RawDocumentBuf::from_bytes(bytes).unwrap();
    for filter in [
        rawdoc! { "a": "x" },
        rawdoc! { "a": { "$ne": "x" } },
        rawdoc! { "b": { "$exists": false } },
        rawdoc! { "$nor": [{ "a": "x" }] },
        rawdoc! {},
    ] {
        let answer = parse(&filter, &ParseOptions::default()).matches(&document);
        assert!(matches!(answer, Err(MatchError::Malformed(_))), "{filter:?}");
    }
}

#[test]
fn undefined_meets_null_by_the_chosen_rule() {
    let document = rawdoc! { "a": RawBson::Undefined };
    let fail = ParseOptions { undefined: UndefinedRule::Fail, ..ParseOptions::default() };
    for filter in [
        rawdoc! { "a": RawBson::Null },
        rawdoc! { "a": { "$gte": RawBson::Null } },
        rawdoc! { "a": { "$in": [1, RawBson::Null] } },
        rawdoc! { "a": { "$not": { "$ne": RawBson::Null } } },
    ] {
        assert_eq!(parse(&filter, &ParseOptions::default()).matches(&document), Ok(true));
        let answer = parse(&filter, &fail).matches(&document);
        assert_eq!(answer, Err(MatchError::UndefinedMeetsNull), "{filter:?}");
    }
    assert_eq!(parse(&rawdoc! { "a": 1 }, &fail).matches(&document), Ok(false));
}

#[test]
fn repeated_keys_are_both_conditions_or_refused() {
    let mut filter = rawdoc! { "a": { "$gt": 1 } };
    filter.append(bson::raw::cstr!("a"), rawdoc! { "$lt": 3 });
    let parsed = parse(&filter, &ParseOptions::default());
    assert_eq!(parsed.matches(&rawdoc! { "a": 2 }), Ok(true));
    assert_eq!(parsed.matches(&rawdoc! { "a": 5 }), Ok(false));
    let strict = ParseOptions { duplicates: Duplicates::Refuse, ..ParseOptions::default() };
    assert!(matches!(Filter::parse(&filter, &strict), Err(Refusal::DuplicateKey { .. })));
    let mut literal = rawdoc! { "b": 1 };
    literal.append(bson::raw::cstr!("b"), 2);
    let nested = rawdoc! { "a": { "$eq": literal } };
    assert!(matches!(Filter::parse(&nested, &strict), Err(Refusal::DuplicateKey { .. })));
}

/// Strings such as `@0` are slots.
fn slotted(filter: &RawDocumentBuf) -> Result<Filter, Refusal> {
    let slot = |value: RawBsonRef<'_>| value.as_str()?.strip_prefix('@')?.parse().ok();
    Filter::parse(filter, &ParseOptions::default().with_slots(&slot))
}

fn check_bound(filter: &RawDocumentBuf, value: RawBson, document: &RawDocumentBuf) {
    let bound = slotted(filter).unwrap().bind(&[SlotValue::variable(value)]).unwrap();
    assert_eq!(bound.matches(document), Ok(true), "{filter:?} {document:?}");
    assert_eq!(bound.matches(&rawdoc! { "a": "other" }), Ok(false), "{filter:?}");
}

#[test]
fn bound_values_are_literals() {
    check_bound(&rawdoc! { "a": "@0" }, 7.into(), &rawdoc! { "a": [7.0] });
    let operator = rawbson!({ "$gt": "" });
    check_bound(&rawdoc! { "a": "@0" }, operator.clone(), &rawdoc! { "a": operator });
    check_bound(&rawdoc! { "a": { "$in": ["x", "@0"] } }, 7.into(), &rawdoc! { "a": "x" });
    check_bound(&rawdoc! { "a": { "$in": ["x", "@0"] } }, 7.into(), &rawdoc! { "a": 7 });
    check_bound(&rawdoc! { "a": { "$in": "@0" } }, rawbson!([7, 8]), &rawdoc! { "a": 8 });
    check_bound(&rawdoc! { "a": { "$gte": "@0" } }, 7.into(), &rawdoc! { "a": 8 });
    let inside = rawdoc! { "a": { "$elemMatch": { "u": "@0" } } };
    check_bound(&inside, 7.into(), &rawdoc! { "a": [{ "u": 7 }] });
    let unbound = slotted(&rawdoc! { "a": { "$ne": "@0" } }).unwrap();
    assert_eq!(unbound.matches(&rawdoc! {}), Err(MatchError::Unbound { slot: 0 }));
}

fn check_refused(filter: &RawDocumentBuf, value: &SlotValue) {
    assert!(slotted(filter).unwrap().bind(std::slice::from_ref(value)).is_err(), "{value:?}");
}

#[test]
fn what_may_not_be_bound_is_refused() {
    let (one, list) = (rawdoc! { "a": "@0" }, rawdoc! { "a": { "$in": "@0" } });
    for value in [RawBson::Null, rawbson!({}), rawbson!(["a"])] {
        check_refused(&one, &SlotValue::claim(value));
    }
    for value in [
        RawBson::Undefined,
        RawBson::MinKey,
        rawbson!({ "$ref": "a" }),
        rawbson!([{ "a": RawBson::MaxKey }]),
    ] {
        check_refused(&one, &SlotValue::variable(value));
    }
    check_refused(&list, &SlotValue::variable("a".into()));
    check_refused(&list, &SlotValue::claim(rawbson!(["a", null])));
    check_refused(&list, &SlotValue::claim(RawBson::Array((0..1001).collect())));
    assert!(slotted(&one).unwrap().bind(&[]).is_err());
}

#[test]
fn slots_stand_for_whole_operands_only() {
    for filter in [
        rawdoc! { "a": { "$nin": "@0" } },
        rawdoc! { "a": { "$not": { "$in": "@0" } } },
        rawdoc! { "$nor": [{ "a": { "$elemMatch": { "$in": "@0" } } }] },
        rawdoc! { "a": { "b": "@0" } },
        rawdoc! { "a": ["@0"] },
        rawdoc! { "a": "@0", "b": { "$in": "@0" } },
        rawdoc! { "a": { "$type": "@0" } },
        rawdoc! { "a": "@9999" },
    ] {
        assert!(slotted(&filter).is_err(), "{filter:?}");
    }
}

fn check_parse(filter: &RawDocumentBuf, options: &ParseOptions<'_>, refusal: Option<&str>) {
    let refused = Filter::parse(filter, options).err().map(|refusal| refusal.to_string());
    let agrees = match (&refused, refusal) {
        (Some(refused), Some(word)) => refused.contains(word),
        (refused, refusal) => refused.is_none() && refusal.is_none(),
    };
    assert!(agrees, "{filter:?}: {refused:?}");
}

#[test]
fn refusals_name_the_operator_and_the_path() {
    let (plain, event) = (ParseOptions::default(), ParseOptions::event());
    check_parse(&rawdoc! { "$where": "1" }, &plain, Some("$where"));
    check_parse(
        &rawdoc! { "a.b": { "$bitsAllSet": 1 } },
        &plain,
        Some("\"$bitsAllSet\" at \"a.b\""),
    );
    check_parse(&rawdoc! { "a": { "$regex": "a.c" } }, &plain, Some("/a.c/"));
    check_parse(&rawdoc! { "a": { "$gt": 1, "b": 1 } }, &plain, Some("\"b\""));
    let mut twice = rawdoc! { "$regex": "a" };
    twice.append(bson::raw::cstr!("$regex"), "b");
    check_parse(&rawdoc! { "a": twice }, &plain, Some("$regex at \"a\""));
    check_parse(&rawdoc! { "a..b": 1 }, &plain, Some("a..b"));
    check_parse(&rawdoc! { "a": RawBson::Undefined }, &plain, Some("Undefined"));
    check_parse(&rawdoc! { "a": { "$ref": "c" } }, &plain, Some("reference"));
    check_parse(&rawdoc! { "a": { "$mod": [0, 1] } }, &plain, Some("$mod"));
    check_parse(&rawdoc! { "a": { "$elemMatch": { "$comment": 1 } } }, &plain, Some("$comment"));
    check_parse(&rawdoc! { "lsid.id": 1 }, &event, Some("lsid"));
    check_parse(&rawdoc! { "$or": [{ "txnNumber": 1 }] }, &event, Some("txnNumber"));
    check_parse(&rawdoc! { "ns": { "$gt": RawBson::MinKey } }, &event, Some("MinKey"));
    check_parse(
        &rawdoc! { "ns": { "$elemMatch": { "a": RawBson::MinKey } } },
        &event,
        Some("MinKey"),
    );
    check_parse(&rawdoc! { "fullDocument.a": { "$gt": RawBson::MinKey } }, &event, None);
    check_parse(&rawdoc! { "a": { "$gt": RawBson::MinKey } }, &ParseOptions::read_filter(), None);
    check_parse(&rawdoc! { "a": 1, "$comment": { "any": "thing" } }, &event, None);
}

#[test]
fn filters_are_bounded() {
    let options = ParseOptions::default();
    let nested = |levels| {
        let wrap = |inner, _| rawdoc! { "$and": [inner] };
        (0..levels).fold(rawdoc! { "a": 1 }, wrap)
    };
    check_parse(&nested(40), &options, None);
    check_parse(&nested(60), &options, Some("deeper"));
    check_parse(&nested(2_000), &options, Some("deeper"));
    let literal = (0..60).fold(rawdoc! {}, |inner, _| rawdoc! { "a": inner });
    check_parse(&literal, &options, Some("deeper"));
    check_parse(&rawdoc! { "a": "x".repeat(300_000) }, &options, Some("bytes"));
}
