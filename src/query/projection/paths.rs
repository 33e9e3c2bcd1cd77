//! `$project` and `$unset`: which paths stay or go.

use bson::spec::ElementType;

use super::elements;
use super::tree::{Node, Tree};
use crate::query::number::Number;
use crate::query::parse::{body_of, bound_depth};
use crate::query::path::{Component, Path};
use crate::query::raw::{Body, Field, Raw};
use crate::query::refusal::Refusal;
use crate::query::value::Value;

const PROJECT: &str = "$project";
const UNSET: &str = "$unset";
const ID: &str = "_id";

/// The tree, and whether its paths are the ones that stay.
pub(super) fn project(raw: Raw<'_>) -> Result<(Tree, bool), Refusal> {
    if raw.kind != ElementType::EmbeddedDocument {
        return Err(refusal(PROJECT, "", "a document is expected"));
    }
    let mut flags = Flags::default();
    flags.read(body_of(raw)?, None, 1)?;
    flags.into_tree()
}

pub(super) fn unset(raw: Raw<'_>) -> Result<Tree, Refusal> {
    let names = match raw.kind {
        ElementType::Array => elements(body_of(raw)?)?,
        _ => vec![raw],
    };
    if names.is_empty() {
        return Err(refusal(UNSET, "", "no field is named"));
    }
    let mut tree = Tree::default();
    for name in names {
        let path = Path::parse(string(name)?)?;
        insert(&mut tree, UNSET, &path)?;
    }
    Ok(tree)
}

/// What a `$project` says, flattened.
#[derive(Default)]
struct Flags {
    /// What it says about `_id` as a whole, which alone may differ from the rest.
    id: Option<bool>,
    others: Vec<(Path, bool)>,
}

impl Flags {
    fn read(&mut self, body: Body<'_>, around: Option<&Path>, depth: usize) -> Result<(), Refusal> {
        bound_depth(depth)?;
        for field in body.fields() {
            let field = field.map_err(|_| Refusal::Malformed)?;
            let path = Path::parse(field.name().map_err(|_| Refusal::Malformed)?)?;
            let path = around.map_or(Ok(path.clone()), |around| around.join(&path))?;
            self.read_field(&field, path, depth)?;
        }
        Ok(())
    }

    fn read_field(&mut self, field: &Field<'_>, path: Path, depth: usize) -> Result<(), Refusal> {
        if field.raw.kind == ElementType::EmbeddedDocument {
            let body = body_of(field.raw)?;
            if body.first().map_err(|_| Refusal::Malformed)?.is_none() {
                return Err(refusal(PROJECT, &path.to_string(), "an empty document says nothing"));
            }
            return self.read(body, Some(&path), depth + 1);
        }
        let flag = flag_of(field.raw, &path)?;
        let is_id = path.root() == ID && path.components().len() == 1;
        if is_id && self.id.replace(flag).is_none() {
            return Ok(());
        }
        self.others.push((path, flag));
        Ok(())
    }

    fn into_tree(self) -> Result<(Tree, bool), Refusal> {
        let includes = self.others.first().map(|(_, flag)| *flag).or(self.id);
        let includes = includes.ok_or_else(|| refusal(PROJECT, "", "no field is named"))?;
        let mut tree = Tree::default();
        let under_id = self.others.iter().any(|(path, _)| path.root() == ID);
        if under_id && self.id.is_some() {
            return Err(refusal(PROJECT, ID, "it collides with another path"));
        }
        let id_listed = if includes { self.id != Some(false) } else { self.id == Some(false) };
        if id_listed && !under_id {
            insert(&mut tree, PROJECT, &Path::parse(ID)?)?;
        }
        for (path, flag) in &self.others {
            if *flag != includes {
                return Err(refusal(
                    PROJECT,
                    &path.to_string(),
                    "it mixes including with excluding",
                ));
            }
            insert(&mut tree, PROJECT, path)?;
        }
        Ok((tree, includes))
    }
}

fn flag_of(raw: Raw<'_>, path: &Path) -> Result<bool, Refusal> {
    match raw.value().map_err(|_| Refusal::Malformed)? {
        Value::Bool(flag) => Ok(flag),
        Value::Number(Number::Int(number)) => Ok(number != 0),
        Value::Number(Number::Double(number)) => Ok(number != 0.0),
        _ => Err(refusal(PROJECT, &path.to_string(), "only true, false and numbers are accepted")),
    }
}

fn string(raw: Raw<'_>) -> Result<&str, Refusal> {
    let refusal = || refusal(UNSET, "", "a field name is expected");
    match raw.value().map_err(|_| Refusal::Malformed)? {
        Value::Text(bytes) if raw.kind == ElementType::String => {
            std::str::from_utf8(bytes).map_err(|_| Refusal::Malformed)
        }
        _ => Err(refusal()),
    }
}

fn insert(tree: &mut Tree, stage: &'static str, path: &Path) -> Result<(), Refusal> {
    let components: &[Component] = path.components();
    let collision = |_| refusal(stage, &path.to_string(), "it collides with another path");
    tree.insert(components, Node::Leaf).map_err(collision)
}

pub(super) fn refusal(stage: &'static str, path: &str, reason: &'static str) -> Refusal {
    Refusal::StageField { stage, path: path.to_owned(), reason }
}
