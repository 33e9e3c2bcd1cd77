//! A dotted path, as filters and index keys name fields.

use std::fmt;
use std::sync::Arc;

use super::check::FULL_DOCUMENT;
use super::refusal::Refusal;

/// MongoDB refuses documents nested deeper than 200; a path needs less.
const MAX_COMPONENTS: usize = 100;

/// A numeric component is both a name and a position, so each may double the ways through a
/// document that alternates arrays and objects.
const MAX_POSITIONS: usize = 10;

/// Components of a dotted field path; cloning shares them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path(Arc<[Component]>);

/// One name, and whether it may address an element of an array.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Component {
    pub(crate) name: Box<str>,
    pub(crate) numeric: bool,
}

impl Path {
    /// Reads a dotted path.
    ///
    /// # Errors
    /// A component that is empty (where `find` and `$match` disagree) or starts with `$`, more than
    /// 100 of them, or more than 10 numeric ones.
    pub fn parse(path: &str) -> Result<Self, Refusal> {
        let components = path.split('.').map(|name| Component::parse(name, path));
        let components = components.take(MAX_COMPONENTS + 1).collect::<Result<Arc<[_]>, _>>()?;
        if components.len() > MAX_COMPONENTS {
            return Err(Refusal::LongPath { limit: MAX_COMPONENTS });
        }
        let positions = components.iter().filter(|component| component.numeric).count();
        if positions > MAX_POSITIONS {
            return Err(Refusal::ManyPositions { path: path.to_owned(), limit: MAX_POSITIONS });
        }
        Ok(Self(components))
    }

    /// The path that stands for the value itself, used inside `$elemMatch: {$gt: …}`.
    pub(crate) fn itself() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn is_itself(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn join(&self, inner: &Self) -> Result<Self, Refusal> {
        let components: Arc<[_]> = self.0.iter().chain(inner.0.iter()).cloned().collect();
        if components.len() > MAX_COMPONENTS {
            return Err(Refusal::LongPath { limit: MAX_COMPONENTS });
        }
        Ok(Self(components))
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.0
    }

    /// The first component, as the name of a top-level field.
    #[must_use]
    pub fn root(&self) -> &str {
        self.0.first().map_or("", |component| &component.name)
    }

    /// What remains behind `fullDocument`, when the path starts there.
    pub(crate) fn under_full_document(&self) -> Option<&[Component]> {
        let (first, rest) = self.0.split_first()?;
        (&*first.name == FULL_DOCUMENT).then_some(rest)
    }

    /// The same path below another top-level field.
    ///
    /// # Errors
    /// `root` is no name of a field.
    pub fn rerooted(&self, root: &str) -> Result<Self, Refusal> {
        let root = Component::parse(root, root)?;
        Ok(Self(std::iter::once(root).chain(self.0.iter().skip(1).cloned()).collect()))
    }

    pub(crate) fn has_numeric(&self) -> bool {
        self.0.iter().any(|component| component.numeric)
    }
}

impl Component {
    fn parse(name: &str, path: &str) -> Result<Self, Refusal> {
        if name.is_empty() {
            return Err(Refusal::EmptyComponent { path: path.to_owned() });
        }
        if name.starts_with('$') {
            return Err(Refusal::DollarComponent { path: path.to_owned() });
        }
        let numeric = name.bytes().all(|byte| byte.is_ascii_digit());
        Ok(Self { name: name.into(), numeric })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, component) in self.0.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            write!(formatter, "{dot}{}", component.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, accepted: bool) {
        let parsed = Path::parse(path);
        assert_eq!(parsed.is_ok(), accepted, "{path}");
        if let Ok(parsed) = parsed {
            assert_eq!(parsed.to_string(), path);
        }
    }

    #[test]
    fn parses_and_refuses() {
        check("a", true);
        check("a.0.00.é", true);
        check("a$.b$", true);
        check("", false);
        check(".", false);
        check("a.", false);
        check(".a", false);
        check("a..b", false);
        check("$a", false);
        check("a.$id", false);
        check(&["a"; 100].join("."), true);
        check(&["a"; 101].join("."), false);
        check(&["0"; 11].join("."), false);
    }
}
