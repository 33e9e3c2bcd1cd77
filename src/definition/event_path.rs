//! The path of a `notify_when` entry: `fullDocument::org.department`.

use std::fmt;

use super::error::DefinitionError;
use super::lookup::{Step, steps};
use crate::suggest::hint;

/// A field of the change event, as its components from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventPath(Vec<String>);

/// Fields that events carry and that are never sent to clients, so nothing can be decided by them.
const HIDDEN: &[&str] = &["_id", "lsid", "txnNumber"];

/// Fields of every kind of change event; stages can add others.
pub(crate) const TOP_FIELDS: &[&str] = &[
    "operationType",
    "ns",
    "to",
    "documentKey",
    "fullDocument",
    "fullDocumentBeforeChange",
    "updateDescription",
    "operationDescription",
    "clusterTime",
    "wallTime",
    "collectionUUID",
    "nsType",
    "splitEvent",
];

const MAX_COMPONENTS: usize = 100;

impl EventPath {
    /// Reads `top::path` (the first `::` separates, space around both is ignored) or a dotted path.
    /// In the path `[0]` means the component `0`.
    pub(crate) fn parse(key: &str) -> Result<Self, DefinitionError> {
        let (top, rest) = match key.split_once("::") {
            Some((top, rest)) => (top.trim(), Some(rest.trim())),
            None => key
                .trim()
                .split_once('.')
                .map_or((key.trim(), None), |(top, rest)| (top, Some(rest))),
        };
        let mut components = vec![top.to_owned()];
        if let Some(rest) = rest {
            components.extend(nested(rest).ok_or_else(|| shape(key))?);
        }
        Self(components).checked(key)
    }

    fn checked(self, key: &str) -> Result<Self, DefinitionError> {
        let odd = |component: &String| component.is_empty() || component.starts_with('$');
        if self.0.iter().any(odd) || self.0.len() > MAX_COMPONENTS {
            return Err(shape(key));
        }
        if HIDDEN.contains(&self.top()) {
            let reason = format!("`{}` is not part of the events clients receive", self.top());
            return Err(DefinitionError::new(reason + "; use documentKey or fullDocument"));
        }
        Ok(self)
    }

    /// The first component.
    pub(crate) fn top(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// What is suspicious about a path that is valid.
    pub(crate) fn warning(&self, added: &[String]) -> Option<String> {
        if self.0.iter().any(|component| component.contains("::")) {
            return Some(format!(
                "`notify_when` on `{self}`: only the first `::` separates, write further levels with dots"
            ));
        }
        let top = self.top();
        let known = TOP_FIELDS.contains(&top) || added.iter().any(|field| field == top);
        (!known).then(|| {
            let near = hint(top, TOP_FIELDS.iter().copied());
            format!(
                "`notify_when` on `{self}`: no change event has a field `{top}` and no stage adds \
                 it, so nothing is ever delivered{near}; fields of the document are written \
                 `fullDocument::{self}`"
            )
        })
    }
}

impl fmt::Display for EventPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The components below the top. A name in brackets that holds a dot has no path in a document.
fn nested(rest: &str) -> Option<Vec<String>> {
    if rest.starts_with('.') || rest.ends_with('.') || rest.contains("..") {
        return None;
    }
    let components = steps(rest)?.into_iter().map(|step| match step {
        Step::Name(name) => (!name.contains('.')).then_some(name),
        Step::Index(index) => Some(index.to_string()),
    });
    components.collect::<Option<Vec<_>>>().filter(|components| !components.is_empty())
}

fn shape(key: &str) -> DefinitionError {
    DefinitionError::new(format!(
        "`{key}` is not a path; write the event's field, `::` and the path inside it, for example \
         fullDocument::org.department"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_are_read() {
        for (key, expected) in [
            ("fullDocument::tenantId", "fullDocument.tenantId"),
            ("fullDocument::org.department", "fullDocument.org.department"),
            ("documentKey::_id", "documentKey._id"),
            (" fullDocument :: a.b ", "fullDocument.a.b"),
            ("fullDocument.tenantId", "fullDocument.tenantId"),
            ("fullDocument.org.department", "fullDocument.org.department"),
            ("operationType", "operationType"),
            ("fullDocument::tags[0]", "fullDocument.tags.0"),
            ("fullDocument::['a b'].c", "fullDocument.a b.c"),
            ("fullDocument::a::b", "fullDocument.a::b"),
        ] {
            let path = EventPath::parse(key).unwrap();
            assert_eq!(path.to_string(), expected);
            assert_eq!(path.top(), expected.split('.').next().unwrap());
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let long = format!("fullDocument::{}", vec!["a"; 100].join("."));
        for key in [
            "",
            " ",
            "::",
            "::a",
            "fullDocument::",
            " :: a",
            "fullDocument:: ",
            "fullDocument.",
            ".a",
            "fullDocument::a..b",
            "fullDocument::.a",
            "fullDocument::$a",
            "$a::b",
            "fullDocument::a[x]",
            "fullDocument::a[0",
            "fullDocument::['a.b']",
            "_id::_data",
            "lsid::id",
            "txnNumber",
            &long,
        ] {
            assert!(EventPath::parse(key).is_err(), "{key:?}");
        }
    }

    #[test]
    fn suspicious_paths_are_told() {
        let added = ["score".to_owned()];
        for (key, expected) in [
            ("fullDocument::tenantId", None),
            ("score", None),
            ("tenantId", Some("fullDocument::tenantId")),
            ("fulldocument::x", Some("did you mean `fullDocument`")),
            ("fullDocument::a::b", Some("with dots")),
        ] {
            let warning = EventPath::parse(key).unwrap().warning(&added);
            match expected {
                None => assert_eq!(warning, None),
                Some(part) => assert!(warning.as_ref().unwrap().contains(part), "{warning:?}"),
            }
        }
    }
}
