use std::collections::HashMap;

use bson::Document;

use super::kind::RequestKind;
use super::order;
use super::permission::{Permission, PermissionError, name_of};
use crate::access::principal::Caller;
use crate::access::request::RequestHead;
use crate::config::AclSemantics;

/// The permissions of one source, in the order in which they are tried.
#[derive(Debug, Default)]
pub(super) struct PermissionSet {
    permissions: Vec<Permission>,
    by_role: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Mongo,
    File,
}

impl PermissionSet {
    pub(super) fn of_documents(documents: &[Document]) -> (Self, Vec<PermissionError>) {
        // Both semantics order documents alike.
        Self::parse(documents, Source::Mongo, AclSemantics::V9_12)
    }

    pub(super) fn of_entries(
        entries: &[Document],
        semantics: AclSemantics,
    ) -> (Self, Vec<PermissionError>) {
        Self::parse(entries, Source::File, semantics)
    }

    fn parse(
        documents: &[Document],
        source: Source,
        semantics: AclSemantics,
    ) -> (Self, Vec<PermissionError>) {
        let (mut parsed, mut errors) = (Vec::new(), Vec::new());
        for (place, document) in documents.iter().enumerate() {
            let name = name_of(document).unwrap_or_else(|| format!("#{}", place + 1));
            match Permission::parse(document, name) {
                Ok(permission) => {
                    errors.extend(permission.error());
                    parsed.push((place, permission));
                }
                Err(error) => errors.push(error),
            }
        }
        order::sort(&mut parsed, source, semantics);
        (Self::new(parsed.into_iter().map(|(_, permission)| permission).collect()), errors)
    }

    fn new(permissions: Vec<Permission>) -> Self {
        let mut by_role: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, permission) in permissions.iter().enumerate() {
            for role in &permission.roles {
                by_role.entry(role.clone()).or_default().push(index);
            }
        }
        Self { permissions, by_role }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.permissions.is_empty()
    }

    /// The permission that decides. Filters of several are never merged.
    pub(super) fn select(
        &self,
        caller: &Caller,
        head: &RequestHead,
        kind: RequestKind,
        semantics: AclSemantics,
    ) -> Option<&Permission> {
        let matches =
            |index: &usize| self.permissions.get(*index).filter(|p| p.matches(caller, head, kind));
        let roles = caller.acl_roles().iter().filter_map(|role| self.by_role.get(role));
        if semantics == AclSemantics::Legacy {
            return roles.into_iter().find_map(|indexes| indexes.iter().find_map(matches));
        }
        let mut indexes: Vec<usize> = roles.flatten().copied().collect();
        indexes.sort_unstable();
        indexes.dedup();
        let mut matching = indexes.iter().filter_map(matches);
        let first = matching.next()?;
        if let Some(second) = matching.next().filter(|second| second.priority == first.priority) {
            first.report_tie(second);
        }
        Some(first)
    }
}
