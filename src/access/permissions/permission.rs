use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Bson, Document};

use super::grant::{Denial, Grant};
use super::kind::RequestKind;
use super::options::{Options, OptionsError};
use crate::access::predicate::{Predicate, PredicateError};
use crate::access::principal::Caller;
use crate::access::properties::scalar_text;
use crate::access::request::RequestHead;
use crate::access::variable::Scope;

/// One permission: whom it is for, which requests it is about, and what it shows.
#[derive(Debug)]
pub(super) struct Permission {
    pub(super) id: Bson,
    name: String,
    pub(super) roles: Vec<String>,
    pub(super) priority: Option<i32>,
    predicate: Predicate,
    options: Result<Options, OptionsError>,
    /// The sections as written, to tell whether a tie matters.
    written: [Option<Bson>; 2],
    tie_reported: AtomicBool,
}

/// A permission that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("permission `{permission}` grants nothing: {problem}")]
pub struct PermissionError {
    /// Its `_id`, or its place in the file.
    pub permission: String,
    pub problem: PermissionProblem,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PermissionProblem {
    #[error("`roles` must be a list of at least one role")]
    Roles,
    #[error("both `role` and `roles` are given; keep one of them")]
    RoleAndRoles,
    #[error("`predicate` must be a text")]
    NoPredicate,
    #[error("its predicate is not understood: {0}")]
    Predicate(#[from] PredicateError),
    #[error(transparent)]
    Options(#[from] OptionsError),
}

impl Permission {
    pub(super) fn parse(document: &Document, name: String) -> Result<Self, PermissionError> {
        let failed = |problem| PermissionError { permission: name.clone(), problem };
        let roles = roles(document).map_err(failed)?;
        let predicate = predicate(document).map_err(failed)?;
        Ok(Self {
            id: document.get("_id").cloned().unwrap_or(Bson::Null),
            roles,
            priority: priority(document.get("priority")),
            predicate,
            options: Options::parse(document),
            written: ["mongo", "tailwater"].map(|section| document.get(section).cloned()),
            tie_reported: AtomicBool::new(false),
            name,
        })
    }

    /// What is wrong with it although it takes part in decisions: it denies what it matches.
    pub(super) fn error(&self) -> Option<PermissionError> {
        let problem = self.options.as_ref().err()?.clone().into();
        Some(PermissionError { permission: self.name.clone(), problem })
    }

    /// Whether it is about this request. A broken one still is, so that a mistake in it never lets
    /// a wider permission decide.
    pub(super) fn matches(&self, caller: &Caller, head: &RequestHead, kind: RequestKind) -> bool {
        let is_open = self.options.as_ref().map_or(true, |options| options.allow_management);
        (!kind.is_management() || is_open) && self.predicate.matches(head, caller)
    }

    pub(super) fn grant(&self, scope: &Scope<'_>) -> Result<Grant, Denial> {
        let permission = self.name.clone();
        let options = match &self.options {
            Ok(options) => options,
            Err(error) => return Err(Denial::Broken { permission, reason: error.to_string() }),
        };
        let filter = options.read_filter.as_ref();
        let read_filter = filter
            .map(|filter| filter.bind(scope))
            .transpose()
            .map_err(|source| Denial::Unbound { permission: permission.clone(), source })?;
        Ok(Grant {
            permission: Some(permission),
            root: false,
            read_filter,
            read_filter_binds_caller: filter.is_some_and(|filter| filter.binds()),
            project_response: options.project_response.clone(),
            allow_management: options.allow_management,
            all_topics: options.all_topics,
        })
    }

    /// Says once that chance decides between two permissions that show different things.
    pub(super) fn report_tie(&self, other: &Self) {
        if self.written != other.written && !self.tie_reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                permission.id = self.name,
                permission.other = other.name,
                "two permissions of one priority match the same request; give them different ones"
            );
        }
    }
}

/// The name of a permission for messages.
pub(super) fn name_of(document: &Document) -> Option<String> {
    let id = document.get("_id").filter(|id| **id != Bson::Null)?;
    Some(scalar_text(id).unwrap_or_else(|| id.to_string()))
}

fn roles(document: &Document) -> Result<Vec<String>, PermissionProblem> {
    let listed = match (document.get("role"), document.get("roles")) {
        (Some(_), Some(_)) => return Err(PermissionProblem::RoleAndRoles),
        (Some(role), None) => std::slice::from_ref(role),
        (None, Some(Bson::Array(roles))) => roles.as_slice(),
        _ => return Err(PermissionProblem::Roles),
    };
    let roles: Option<Vec<String>> =
        listed.iter().map(|role| role.as_str().map(str::to_owned)).collect();
    roles.filter(|roles| !roles.is_empty()).ok_or(PermissionProblem::Roles)
}

fn predicate(document: &Document) -> Result<Predicate, PermissionProblem> {
    let text = document.get_str("predicate").map_err(|_| PermissionProblem::NoPredicate)?;
    Ok(Predicate::parse(text)?)
}

/// Numbers of any type; everything else is as good as none.
fn priority(value: Option<&Bson>) -> Option<i32> {
    match value? {
        Bson::Int32(number) => Some(*number),
        Bson::Int64(number) => Some(clamped(*number as f64)),
        Bson::Double(number) if number.is_finite() => Some(clamped(*number)),
        Bson::Decimal128(number) => number.to_string().parse().ok().map(clamped),
        _ => None,
    }
}

/// Rust's conversion saturates, so that a huge priority stays the highest.
fn clamped(number: f64) -> i32 {
    number as i32
}
