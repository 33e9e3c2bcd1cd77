use bson::{Document, doc};

use super::{BindError, FilterError, ReadFilter, unescaped};
use crate::access::principal::Caller;
use crate::access::support::{get, nora, user};
use crate::access::variable::Scope;

fn bind(filter: Document, caller: &Caller) -> Result<Document, BindError> {
    let head = get("/shop/orders?k=v%24");
    ReadFilter::parse(&unescaped(&filter)).unwrap().bind(&Scope { head: &head, caller })
}

#[track_caller]
fn check(filter: Document, expected: Document) {
    assert_eq!(bind(filter.clone(), &nora()), Ok(expected), "{filter}");
}

#[track_caller]
fn refused(filter: Document, expected: BindError) {
    assert_eq!(bind(filter.clone(), &nora()), Err(expected), "{filter}");
}

#[track_caller]
fn unusable(filter: Document, expected: FilterError) {
    assert_eq!(ReadFilter::parse(&filter).unwrap_err(), expected, "{filter}");
}

fn nothing() -> Document {
    crate::binding::Scope::nothing()
}

fn unresolved(name: &str) -> BindError {
    BindError::Unresolved(name.to_owned())
}

#[test]
fn values_keep_their_types() {
    check(doc! { "owner": "@user._id" }, doc! { "owner": { "$eq": "nora" } });
    check(doc! { "level": "@user.level" }, doc! { "level": { "$eq": 3 } });
    check(doc! { "x": "@user.address.city" }, doc! { "x": { "$eq": "Rome" } });
    check(doc! { "x": "@user.groups.1" }, doc! { "x": { "$eq": "b" } });
    check(doc! { "x": "@user.address" }, doc! { "x": { "$eq": { "city": "Rome" } } });
    check(doc! { "x": "%USER" }, doc! { "x": { "$eq": "nora" } });
    check(doc! { "x": { "$in": "%ROLES" } }, doc! { "x": { "$in": ["reader"] } });
    check(doc! { "x": "@qparams['k']" }, doc! { "x": { "$eq": "v$" } });
    check(doc! { "x": "@request.remoteIp" }, doc! { "x": { "$eq": "192.0.2.7" } });
    let date = bson::DateTime::from_millis(1_800_000_000_000);
    check(doc! { "x": { "$lt": "@now" } }, doc! { "x": { "$lt": date } });
    check(doc! { "x": "@unknown", "y": 1 }, doc! { "x": "@unknown", "y": 1 });
}

#[test]
fn the_whole_account() {
    let caller = user("u", &[], doc! { "_id": "u", "a": 1 });
    let bound = bind(doc! { "by": "@user" }, &caller);
    assert_eq!(bound, Ok(doc! { "by": { "$eq": { "_id": "u", "a": 1 } } }));
}

#[test]
fn filters_without_variables_stay_as_they_are() {
    let filter =
        doc! { "a": 1, "$or": [{ "b": null }, { "c": { "$ne": /* any */ 2 } }], "$comment": "x" };
    check(filter.clone(), filter.clone());
    assert!(!ReadFilter::parse(&filter).unwrap().binds());
    assert!(ReadFilter::parse(&doc! { "$or": [{ "a": "@user.x" }] }).unwrap().binds());
}

#[test]
fn stored_escapes_are_undone() {
    check(
        doc! { "a::b": "@user._id", "_$or": [{ "x": { "_$in": [1] } }] },
        doc! { "a.b": { "$eq": "nora" }, "$or": [{ "x": { "$in": [1] } }] },
    );
}

#[test]
fn operators_take_values() {
    check(doc! { "x": { "$gte": "@user.level", "$lt": 9 } }, doc! { "x": { "$gte": 3, "$lt": 9 } });
    check(doc! { "x": { "$ne": "@user._id" } }, doc! { "x": { "$ne": "nora" } });
    check(
        doc! { "x": { "$not": { "$eq": "@user._id" } } },
        doc! { "x": { "$not": { "$eq": "nora" } } },
    );
    check(
        doc! { "x": { "$elemMatch": { "u": "@user._id", "n": 1 } } },
        doc! { "x": { "$elemMatch": { "u": { "$eq": "nora" }, "n": 1 } } },
    );
    check(
        doc! { "x": { "$elemMatch": { "$gt": "@user.level" } } },
        doc! { "x": { "$elemMatch": { "$gt": 3 } } },
    );
    check(doc! { "x": { "$in": ["@user._id", "z"] } }, doc! { "x": { "$in": ["nora", "z"] } });
    check(
        doc! { "x": { "a": "@user._id", "b": [1, "@user.level"] } },
        doc! { "x": { "$eq": { "a": "nora", "b": [1, 3] } } },
    );
}

#[test]
fn expressions_take_literals() {
    check(
        doc! { "$expr": { "$eq": ["$owner", "@user._id"] } },
        doc! { "$expr": { "$eq": ["$owner", { "$literal": "nora" }] } },
    );
    check(
        doc! { "$expr": { "$eq": ["$o", { "$literal": "@user._id" }] } },
        doc! { "$expr": { "$eq": ["$o", { "$literal": "nora" }] } },
    );
    refused(doc! { "$expr": { "$eq": ["$o", "@user.no"] } }, unresolved("@user.no"));
}

#[test]
fn a_missing_value_leaves_the_other_branches() {
    let filter = doc! { "$or": [{ "public": true }, { "owner": "@user.no" }] };
    check(filter.clone(), doc! { "$or": [{ "public": true }] });
    assert_eq!(bind(filter, &Caller::Anonymous), Ok(doc! { "$or": [{ "public": true }] }));
    check(
        doc! { "$or": [{ "public": true }, { "owner": "@user._id" }] },
        doc! { "$or": [{ "public": true }, { "owner": { "$eq": "nora" } }] },
    );
    check(
        doc! { "$or": [{ "a": 1 }, { "$and": [{ "b": 1 }, { "c": "@user.no" }] }] },
        doc! { "$or": [{ "a": 1 }] },
    );
    check(doc! { "x": { "$in": ["@user.no", "z"] } }, doc! { "x": { "$in": ["z"] } });
}

#[test]
fn a_missing_value_shows_nothing_of_the_rest() {
    for filter in [
        doc! { "owner": "@user.no" },
        doc! { "a": 1, "owner": "@user.no" },
        doc! { "$or": [{ "x": "@user.no" }] },
        doc! { "$and": [{ "x": 1 }, { "x": "@user.no" }] },
        doc! { "x": { "$gt": "@user.no" } },
        doc! { "x": { "a": "@user.no" } },
        doc! { "x": { "$all": ["a", "@user.no"] } },
        doc! { "x": "@user.nothing" },
        doc! { "x": "@rnd(32)" },
    ] {
        check(filter, nothing());
    }
    for owner in ["@user._id", "%USER"] {
        assert_eq!(bind(doc! { "owner": owner }, &Caller::Anonymous), Ok(nothing()));
    }
}

#[test]
fn a_missing_value_under_a_negation_refuses() {
    let no = || unresolved("@user.no");
    let public = |branch: Document| doc! { "$or": [{ "public": true }, branch] };
    refused(public(doc! { "x": { "$ne": "@user.no" } }), no());
    refused(public(doc! { "x": { "$nin": ["@user.no"] } }), no());
    refused(public(doc! { "x": { "$nin": "@user.no" } }), no());
    refused(public(doc! { "x": { "$not": { "$eq": "@user.no" } } }), no());
    refused(public(doc! { "x": { "$not": { "$in": ["@user.no"] } } }), no());
    refused(public(doc! { "$nor": [{ "x": "@user.no" }] }), no());
    refused(public(doc! { "x": { "$not": { "$elemMatch": { "y": "@user.no" } } } }), no());
}

#[test]
fn a_value_never_becomes_an_operator() {
    let operator = || BindError::Operator("@user.operator".into());
    refused(doc! { "owner": "@user.operator" }, operator());
    refused(doc! { "owner": { "$eq": "@user.operator" } }, operator());
    refused(doc! { "x": { "$in": ["@user.operator"] } }, operator());
    refused(doc! { "$expr": { "$eq": ["$x", "@user.operator"] } }, operator());
    refused(doc! { "x": "@user" }, BindError::Operator("@user".into()));
    let pattern = bson::Regex { pattern: "^".try_into().unwrap(), options: "".try_into().unwrap() };
    let caller =
        user("u", &[], doc! { "p": pattern.clone(), "l": [pattern], "n": [{ "a": { "$gt": 1 } }] });
    for name in ["@user.p", "@user.l", "@user.n"] {
        assert_eq!(bind(doc! { "x": name }, &caller), Err(BindError::Operator(name.into())));
    }
    let list = bind(doc! { "x": { "$in": "@user.l" } }, &caller);
    assert_eq!(list, Err(BindError::Operator("@user.l".into())));
}

#[test]
fn lists_are_bound_where_the_filter_asks_for_one() {
    let caller = user("u", &[], doc! { "t": ["a", null, "b"], "s": "a", "e": [] });
    let check = |filter: Document, expected| assert_eq!(bind(filter, &caller), expected);
    check(doc! { "x": { "$in": "@user.t" } }, Ok(doc! { "x": { "$in": ["a", "b"] } }));
    check(doc! { "x": { "$in": "@user.e" } }, Ok(doc! { "x": { "$in": [] } }));
    check(doc! { "x": { "$all": "@user.t" } }, Ok(nothing()));
    check(doc! { "x": { "$nin": "@user.t" } }, Err(unresolved("@user.t")));
    check(doc! { "x": { "$in": "@user.s" } }, Err(BindError::NotAList("@user.s".into())));
}

#[test]
fn variables_stand_only_where_they_are_values() {
    let misplaced = |name: &str| FilterError::Misplaced(name.into());
    unusable(doc! { "x": { "$regex": "@user.x" } }, misplaced("$regex"));
    unusable(doc! { "x": { "$not": "@user.x" } }, misplaced("$not"));
    unusable(doc! { "x": { "$in": { "a": "@user.x" } } }, misplaced("$in"));
    unusable(doc! { "x": { "y": { "$gt": "@user.x" } } }, misplaced("$gt"));
    unusable(doc! { "$where": "@user.x" }, misplaced("$where"));
    unusable(doc! { "x": { "$exists": "@user.x" } }, misplaced("$exists"));
    unusable(doc! { "$and": "@user.x" }, FilterError::NotFilters("$and".into()));
    unusable(doc! { "$or": [1] }, FilterError::NotFilters("$or".into()));
    unusable(doc! { "x": "@filter" }, FilterError::Variable("@filter".into()));
    unusable(doc! { "x": ["@user.a", "@user."] }, FilterError::Variable("@user.".into()));
}

#[test]
fn depth_is_bounded() {
    let deep = (0..1000).fold(doc! { "x": "@user._id" }, |inner, _| doc! { "$and": [inner] });
    unusable(deep, FilterError::TooDeep);
}
