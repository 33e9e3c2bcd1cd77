use bson::{Bson, Document};

use super::unescape;

/// Which fields a caller is shown. Paths are dotted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectResponse {
    /// Only these; `_id` only when listed.
    Include(Vec<String>),
    /// All but these.
    Exclude(Vec<String>),
}

/// Why a `projectResponse` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    #[error("projectResponse must say 0 or 1 for each field, as an integer; `{0}` has neither")]
    Value(String),
    #[error("projectResponse mixes 0 and 1; list what to show or what to hide")]
    Mixed,
    #[error("projectResponse names `{0}`, which is no path of a field")]
    Path(String),
}

impl ProjectResponse {
    /// Reads a projection; an empty one is none.
    pub(in crate::access) fn parse(document: &Document) -> Result<Option<Self>, ProjectError> {
        let (mut include, mut exclude) = (Vec::new(), Vec::new());
        for (key, value) in document {
            let path = unescape::key(key);
            if path.split('.').any(|name| name.is_empty() || name.starts_with('$')) {
                return Err(ProjectError::Path(path));
            }
            match value {
                Bson::Int32(1) => include.push(path),
                Bson::Int32(0) => exclude.push(path),
                _ => return Err(ProjectError::Value(path)),
            }
        }
        match (include.is_empty(), exclude.is_empty()) {
            (true, true) => Ok(None),
            (false, true) => Ok(Some(Self::Include(include))),
            (true, false) => Ok(Some(Self::Exclude(exclude))),
            (false, false) => Err(ProjectError::Mixed),
        }
    }

    /// As MongoDB takes it.
    pub fn to_document(&self) -> Document {
        let flag = match self {
            Self::Include(_) => 1,
            Self::Exclude(_) => 0,
        };
        self.paths().iter().map(|path| (path.clone(), Bson::Int32(flag))).collect()
    }

    pub fn paths(&self) -> &[String] {
        match self {
            Self::Include(paths) | Self::Exclude(paths) => paths,
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn reads_all_zeros_or_all_ones() {
        let check = |document: Document,
                     expected: Result<Option<ProjectResponse>, ProjectError>| {
            assert_eq!(ProjectResponse::parse(&document), expected, "{document}");
        };
        let exclude = |paths: &[&str]| {
            Ok(Some(ProjectResponse::Exclude(paths.iter().map(|p| (*p).to_owned()).collect())))
        };
        check(doc! {}, Ok(None));
        check(doc! { "cost": 0, "a::b": 0 }, exclude(&["cost", "a.b"]));
        check(doc! { "a": 1 }, Ok(Some(ProjectResponse::Include(vec!["a".into()]))));
        check(doc! { "a": 1, "b": 0 }, Err(ProjectError::Mixed));
        check(doc! { "a": 1.0 }, Err(ProjectError::Value("a".into())));
        check(doc! { "a": 0_i64 }, Err(ProjectError::Value("a".into())));
        check(doc! { "a": true }, Err(ProjectError::Value("a".into())));
        check(doc! { "a": 2 }, Err(ProjectError::Value("a".into())));
        check(doc! { "a..b": 0 }, Err(ProjectError::Path("a..b".into())));
        check(doc! { "$a": 0 }, Err(ProjectError::Path("$a".into())));
    }
}
