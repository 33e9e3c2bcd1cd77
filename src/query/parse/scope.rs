//! Where in a filter the parser stands, and what a path means there.

use super::super::options::Paths;
use super::super::path::Path;
use super::super::refusal::Refusal;

/// A document of the filter: at the top (through `$and`, `$or`, `$nor`), or inside `$elemMatch`.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    paths: Paths,
    prefix: Option<Path>,
    /// Set inside `$elemMatch`, where names are relative to an element.
    inherited: Option<bool>,
}

/// What a condition is about.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) path: Path,
    /// Whether `MinKey` and `MaxKey` may be compared here.
    pub(crate) extremes: bool,
}

/// Fields of an event that stand in the oplog entry only: the server answers them from there.
const OPLOG_ONLY: [&str; 2] = ["lsid", "txnNumber"];

/// Where `MinKey` and `MaxKey` operands are answered from the event.
const IMAGES: [&str; 2] = ["fullDocument", "fullDocumentBeforeChange"];

impl Scope {
    pub(crate) fn top(paths: Paths, prefix: Option<Path>) -> Self {
        Self { paths, prefix, inherited: None }
    }

    /// The scope of an `$elemMatch` on `target`: no prefix goes inside it.
    pub(crate) fn inside(target: &Target) -> Self {
        Self { paths: Paths::Document, prefix: None, inherited: Some(target.extremes) }
    }

    pub(crate) fn target(&self, name: &str) -> Result<Target, Refusal> {
        let path = Path::parse(name)?;
        let path = self.prefix.as_ref().map_or(Ok(path.clone()), |prefix| prefix.join(&path))?;
        if self.paths == Paths::Event && OPLOG_ONLY.contains(&path.root()) {
            return Err(Refusal::NotInEvents { path: name.to_owned() });
        }
        let extremes = self.paths == Paths::Document || IMAGES.contains(&path.root());
        Ok(Target { path, extremes: self.inherited.unwrap_or(extremes) })
    }
}

impl Target {
    /// The element itself, inside `$elemMatch: {$gt: …}`.
    pub(crate) fn itself(&self) -> Self {
        Self { path: Path::itself(), extremes: self.extremes }
    }
}
