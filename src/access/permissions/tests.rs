use bson::{Document, doc};

use super::{Decision, Denial, Grant, Permissions, RequestKind};
use crate::access::principal::Caller;
use crate::access::scope::{BindError, ProjectResponse};
use crate::access::support::{get, nora, user};
use crate::config::{AclConfig, AclSemantics, AclSource};

fn config(semantics: AclSemantics) -> AclConfig {
    let source = AclSource::File("acl.yaml".into());
    AclConfig { source, also_file: None, root_role: Some("admin".into()), semantics }
}

fn permissions(documents: &[Document]) -> Permissions {
    let permissions = Permissions::new(Some(&config(AclSemantics::V9_12)));
    permissions.replace(documents);
    permissions
}

fn file(semantics: AclSemantics, yaml: &str) -> Permissions {
    let permissions = Permissions::new(Some(&config(semantics)));
    assert_eq!(permissions.replace_file(yaml).unwrap(), []);
    permissions
}

fn decide(permissions: &Permissions, caller: &Caller, target: &str) -> Decision {
    permissions.decide(caller, &get(target), RequestKind::Collection)
}

/// The permission that decides.
fn decider(permissions: &Permissions, caller: &Caller, target: &str) -> Option<String> {
    match decide(permissions, caller, target) {
        Decision::Allow(grant) => grant.permission,
        Decision::Deny(_) => None,
    }
}

fn with_roles(roles: &[&str]) -> Caller {
    user("u", roles, doc! { "_id": "u" })
}

fn permission(id: &str, role: &str, predicate: &str) -> Document {
    doc! { "_id": id, "roles": [role], "predicate": predicate }
}

#[test]
fn the_root_role_may_do_everything() {
    let filtered = doc! { "_id": "p", "roles": ["admin"], "predicate": "true", "mongo": { "readFilter": { "a": 1 } } };
    let listed = permissions(&[filtered]);
    let Decision::Allow(grant) = decide(&listed, &with_roles(&["x", "admin"]), "/any") else {
        panic!("denied");
    };
    assert_eq!(grant, Grant::everything());
    let mut config = config(AclSemantics::V9_12);
    config.root_role = None;
    let rootless = Permissions::new(Some(&config));
    assert_eq!(
        decide(&rootless, &with_roles(&["admin"]), "/any"),
        Decision::Deny(Denial::Forbidden)
    );
}

#[test]
fn without_a_match_strangers_are_asked_and_others_refused() {
    let listed = permissions(&[permission("p", "reader", "path('/a')")]);
    let denied = |denial| Decision::Deny(denial);
    assert_eq!(decide(&listed, &nora(), "/b"), denied(Denial::Forbidden));
    assert_eq!(decide(&listed, &with_roles(&[]), "/a"), denied(Denial::Forbidden));
    assert_eq!(decide(&listed, &Caller::Anonymous, "/a"), denied(Denial::Unauthenticated));
    assert_eq!(decider(&listed, &nora(), "/a"), Some("p".into()));
    let nothing = Permissions::new(None);
    assert_eq!(decide(&nothing, &with_roles(&["admin"]), "/a"), denied(Denial::Forbidden));
    let everything = Permissions::everything();
    assert!(matches!(decide(&everything, &Caller::Anonymous, "/a"), Decision::Allow(_)));
}

#[test]
fn strangers_have_a_role_that_others_have_not() {
    let public = doc! { "_id": "public", "roles": ["$unauthenticated"], "predicate": "path('/c')", "mongo": { "readFilter": { "public": true } } };
    let listed = permissions(&[public]);
    let Decision::Allow(grant) = decide(&listed, &Caller::Anonymous, "/c/") else {
        panic!("denied");
    };
    assert_eq!(grant.read_filter, Some(doc! { "public": true }));
    assert!(!grant.read_filter_binds_caller);
    let denied = |denial| Decision::Deny(denial);
    assert_eq!(decide(&listed, &Caller::Anonymous, "/c/_size"), denied(Denial::Unauthenticated));
    assert_eq!(decide(&listed, &nora(), "/c"), denied(Denial::Forbidden));
}

#[test]
fn the_highest_priority_decides() {
    let with = |id: &str, role: &str, priority: Option<i32>| {
        let mut document = permission(id, role, "true");
        document.insert("priority", priority);
        document
    };
    let listed = permissions(&[
        with("a-none", "r1", None),
        with("b-low", "r1", Some(1)),
        with("c-high", "r2", Some(2)),
        with("d-tie", "r1", Some(1)),
    ]);
    let check = |roles: &[&str], expected: &str| {
        assert_eq!(decider(&listed, &with_roles(roles), "/").as_deref(), Some(expected));
    };
    check(&["r1"], "d-tie");
    check(&["r1", "r2"], "c-high");
    check(&["r2", "r1"], "c-high");
    let legacy = Permissions::new(Some(&config(AclSemantics::Legacy)));
    legacy.replace(&[with("b-low", "r1", Some(1)), with("c-high", "r2", Some(2))]);
    assert_eq!(decider(&legacy, &with_roles(&["r1", "r2"]), "/").as_deref(), Some("b-low"));
    assert_eq!(decider(&legacy, &with_roles(&["r2", "r1"]), "/").as_deref(), Some("c-high"));
}

#[test]
fn priorities_of_any_number_type() {
    let with = |id: &str, priority: bson::Bson| {
        let mut document = permission(id, "reader", "true");
        document.insert("priority", priority);
        document
    };
    let check = |low: bson::Bson, high: bson::Bson| {
        let listed = permissions(&[with("z-low", low), with("a-high", high.clone())]);
        assert_eq!(decider(&listed, &nora(), "/").as_deref(), Some("a-high"), "{high}");
    };
    check(1.into(), 2_i64.into());
    check(1.into(), 2.5.into());
    check("99".into(), 1.into());
    check(f64::NAN.into(), 1.into());
    check(5.into(), i64::MAX.into());
}

const FILE: &str = "
permissions:
  - { _id: none, role: reader, predicate: 'true' }
  - { _id: one, role: reader, predicate: 'true', priority: 1 }
  - { _id: one-later, roles: [other, reader], predicate: 'true', priority: 1 }
  - { _id: two, role: reader, predicate: path('/two'), priority: 2 }
";

#[test]
fn files_are_ordered_by_the_chosen_semantics() {
    let check = |semantics, target: &str, expected: &str| {
        let listed = file(semantics, FILE);
        assert_eq!(decider(&listed, &nora(), target).as_deref(), Some(expected));
    };
    check(AclSemantics::V9_12, "/two", "two");
    check(AclSemantics::V9_12, "/x", "one-later");
    check(AclSemantics::Legacy, "/two", "one-later");
}

#[test]
fn files_hold_json() {
    let listed = file(
        AclSemantics::V9_12,
        r#"
permissions:
  - role: reader
    predicate: >
      method(GET)
      and path-prefix('/shop/orders')
    priority: 10
    mongo:
      readFilter: '{"owner": "@user._id", "at": {"$gt": {"$date": "2026-01-01T00:00:00Z"}}}'
      projectResponse: '{"cost": 0}'
      allowManagementRequests: true
  - role: reader
    predicate: path('/nested')
    mongo: { readFilter: { a: { $in: [1, 2] } } }
"#,
    );
    let Decision::Allow(grant) = decide(&listed, &nora(), "/shop/orders") else {
        panic!("denied");
    };
    let since = bson::DateTime::parse_rfc3339_str("2026-01-01T00:00:00Z").unwrap();
    let filter = doc! { "owner": { "$eq": "nora" }, "at": { "$gt": since } };
    assert_eq!(grant.read_filter, Some(filter));
    assert!(grant.read_filter_binds_caller && grant.allow_management && !grant.all_topics);
    assert_eq!(grant.project_response, Some(ProjectResponse::Exclude(vec!["cost".into()])));
    assert_eq!(grant.permission.as_deref(), Some("#1"));
    let Decision::Allow(nested) = decide(&listed, &nora(), "/nested") else { panic!("denied") };
    assert_eq!(nested.read_filter, Some(doc! { "a": { "$in": [1, 2] } }));
}

#[test]
fn files_that_are_no_list_are_refused_and_change_nothing() {
    let listed = file(AclSemantics::V9_12, FILE);
    for text in ["permissions: 3", "users: []", "[", "a: &a [*a]", "x\n---\ny"] {
        assert!(listed.replace_file(text).is_err(), "{text}");
    }
    assert!(!listed.is_empty());
    assert_eq!(listed.replace_file("permissions:").unwrap(), []);
    assert!(listed.is_empty());
}

#[test]
fn broken_permissions_are_skipped_and_others_work() {
    let broken = |document: Document| {
        let listed = Permissions::new(Some(&config(AclSemantics::V9_12)));
        let errors = listed.replace(&[document.clone(), permission("ok", "reader", "path('/ok')")]);
        assert_eq!(errors.len(), 1, "{document}");
        assert_eq!(decider(&listed, &nora(), "/ok").as_deref(), Some("ok"), "{document}");
        assert_eq!(decider(&listed, &nora(), "/x"), None, "{document}");
    };
    broken(doc! { "_id": 1, "roles": [], "predicate": "true" });
    broken(doc! { "_id": 1, "roles": ["reader", 1], "predicate": "true" });
    broken(doc! { "_id": 1, "roles": "reader", "predicate": "true" });
    broken(doc! { "_id": 1, "predicate": "true" });
    broken(doc! { "_id": 1, "role": "reader", "roles": ["reader"], "predicate": "true" });
    broken(doc! { "_id": 1, "roles": ["reader"], "predicate": "tru" });
    broken(doc! { "_id": 1, "roles": ["reader"], "predicate": 1 });
    broken(doc! { "_id": 1, "roles": ["reader"] });
}

#[test]
fn a_broken_section_denies_what_the_permission_matches() {
    let check = |extra: Document| {
        let mut document = permission("p", "reader", "path('/p')");
        document.insert("priority", 9);
        document.extend(extra.clone());
        let listed = Permissions::new(Some(&config(AclSemantics::V9_12)));
        let errors = listed.replace(&[document, permission("wide", "reader", "true")]);
        assert_eq!(errors.len(), 1, "{extra}");
        let decision = decide(&listed, &nora(), "/p");
        assert!(matches!(decision, Decision::Deny(Denial::Broken { .. })), "{extra}");
        assert_eq!(decider(&listed, &nora(), "/x").as_deref(), Some("wide"));
    };
    check(doc! { "mongo": { "projectResponse": { "a": 1, "b": 0 } } });
    check(doc! { "mongo": { "projectResponse": { "a": 0.0 } } });
    check(doc! { "mongo": { "readFilter": "{" } });
    check(doc! { "mongo": { "readFilter": 1 } });
    check(doc! { "mongo": { "readFilter": { "x": { "$regex": "@user.x" } } } });
    check(doc! { "mongo": { "allowManagementRequests": "true" } });
    check(doc! { "mongo": { "allowWriteMode": 1 } });
    check(doc! { "mongo": "x" });
    check(doc! { "readFilter": { "a": 1 } });
    check(doc! { "tailwater": { "allTopics": 1 } });
    check(doc! { "tailwater": { "alltopics": true } });
}

#[test]
fn a_value_that_is_missing_is_an_answer_of_its_own() {
    let own = doc! { "_id": "own", "roles": ["reader", "$unauthenticated"], "predicate": "true", "mongo": { "readFilter": { "owner": { "$ne": "@user._id" } } } };
    let listed = permissions(&[own]);
    let source = BindError::Unresolved("@user._id".into());
    let unbound = Decision::Deny(Denial::Unbound { permission: "own".into(), source });
    assert_eq!(decide(&listed, &Caller::Anonymous, "/"), unbound);
    assert_eq!(decide(&listed, &user("u", &["reader"], doc! {}), "/"), unbound);
}

#[test]
fn metadata_needs_the_flag() {
    let mut open = permission("open", "reader", "true");
    open.insert("mongo", doc! { "allowManagementRequests": true });
    open.insert("priority", -1);
    let closed = permissions(&[permission("closed", "reader", "true")]);
    let both = permissions(&[permission("closed", "reader", "true"), open]);
    let check = |permissions: &Permissions, kind, expected: bool| {
        let decision = permissions.decide(&nora(), &get("/d/c/_meta"), kind);
        assert_eq!(matches!(decision, Decision::Allow(_)), expected, "{kind:?}");
    };
    check(&closed, RequestKind::Metadata, false);
    check(&closed, RequestKind::Declare, false);
    check(&closed, RequestKind::Stream, true);
    check(&closed, RequestKind::Document, true);
    check(&both, RequestKind::Metadata, true);
}

#[test]
fn topics() {
    let mut all = permission("all", "reader", "true");
    all.insert("tailwater", doc! { "allTopics": true });
    let Decision::Allow(grant) = decide(&permissions(&[all]), &nora(), "/") else {
        panic!("denied");
    };
    assert!(grant.all_topics && !grant.root);
}

#[test]
fn an_unchanged_scope_is_an_equal_grant() {
    let with = |filter: Document| {
        doc! { "_id": "p", "roles": ["reader"], "predicate": "true", "mongo": { "readFilter": filter } }
    };
    let listed = permissions(&[with(doc! { "o": "@user._id", "t": { "$lt": "@now" } })]);
    let head = get("/");
    let decide = || listed.decide(&nora(), &head, RequestKind::Stream);
    let before = decide();
    listed.replace(&[with(doc! { "o": "@user._id", "t": { "$lt": "@now" } })]);
    assert_eq!(decide(), before);
    listed.replace(&[with(doc! { "o": "@user.tenant", "t": { "$lt": "@now" } })]);
    assert_ne!(decide(), before);
    listed.replace(&[]);
    assert_eq!(decide(), Decision::Deny(Denial::Forbidden));
}

#[test]
fn either_source_may_allow() {
    let listed = file(AclSemantics::V9_12, FILE);
    listed.replace(&[permission("mongo", "reader", "path('/two')")]);
    assert_eq!(decider(&listed, &nora(), "/two").as_deref(), Some("mongo"));
    assert_eq!(decider(&listed, &nora(), "/x").as_deref(), Some("one-later"));
}

#[test]
fn logs_see_no_values() {
    let own = doc! { "_id": "own", "roles": ["reader"], "predicate": "true", "mongo": { "readFilter": { "city": "@user.address.city" } } };
    let decision = decide(&permissions(&[own]), &nora(), "/");
    assert!(!format!("{decision:?} {:?}", nora()).contains("Rome"));
}
