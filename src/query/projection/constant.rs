//! `$addFields` and `$set` with constants.

use bson::spec::ElementType;

use super::elements;
use super::paths::refusal;
use super::tree::{Node, Tree};
use crate::query::check::check_value;
use crate::query::operand::Literal;
use crate::query::parse::{body_of, bound_depth};
use crate::query::path::Path;
use crate::query::raw::{Body, Raw};
use crate::query::refusal::Refusal;
use crate::query::value::Value;

pub(super) fn set(stage: &'static str, raw: Raw<'_>) -> Result<Tree, Refusal> {
    if raw.kind != ElementType::EmbeddedDocument {
        return Err(refusal(stage, "", "a document is expected"));
    }
    let mut reader = Reader { stage, tree: Tree::default() };
    reader.read(body_of(raw)?, None, 1)?;
    if reader.tree.children().is_empty() {
        return Err(refusal(stage, "", "no field is named"));
    }
    Ok(reader.tree)
}

struct Reader {
    stage: &'static str,
    tree: Tree,
}

impl Reader {
    fn read(&mut self, body: Body<'_>, around: Option<&Path>, depth: usize) -> Result<(), Refusal> {
        bound_depth(depth)?;
        for field in body.fields() {
            let field = field.map_err(|_| Refusal::Malformed)?;
            let name = field.name().map_err(|_| Refusal::Malformed)?;
            let mut path = Path::parse(name)?;
            if let Some(around) = around {
                if name.contains('.') {
                    return Err(self.refusal(&path, "a name inside a document has no dots"));
                }
                path = around.join(&path)?;
            }
            self.read_value(field.raw, &path, depth)?;
        }
        Ok(())
    }

    fn read_value(&mut self, raw: Raw<'_>, path: &Path, depth: usize) -> Result<(), Refusal> {
        if raw.kind != ElementType::EmbeddedDocument {
            self.constant(raw, path, depth)?;
            return self.insert(raw, path);
        }
        let body = body_of(raw)?;
        let first = body.first().map_err(|_| Refusal::Malformed)?;
        match first {
            None => Err(self.refusal(path, "an empty document says nothing")),
            Some(first) if first.name == b"$literal" => {
                if body.fields().count() > 1 {
                    return Err(self.refusal(path, "$literal stands alone"));
                }
                check_value(first.raw, 0).map_err(|_| Refusal::Malformed)?;
                self.insert(first.raw, path)
            }
            Some(first) if first.name.starts_with(b"$") => {
                Err(self.refusal(path, "only constants are accepted"))
            }
            Some(_) => self.read(body, Some(path), depth + 1),
        }
    }

    fn insert(&mut self, raw: Raw<'_>, path: &Path) -> Result<(), Refusal> {
        let inserted = self.tree.insert(path.components(), Node::Value(Literal::new(raw)));
        inserted.map_err(|_| self.refusal(path, "it collides with another path"))
    }

    /// A value that the server would not compute anything from.
    fn constant(&self, raw: Raw<'_>, path: &Path, depth: usize) -> Result<(), Refusal> {
        bound_depth(depth)?;
        match raw.value().map_err(|_| Refusal::Malformed)? {
            Value::Text(text) if raw.kind == ElementType::Symbol || text.starts_with(b"$") => {
                Err(self.refusal(path, "only constants are accepted"))
            }
            Value::Array(array) => elements(array)?
                .into_iter()
                .try_for_each(|item| self.constant(item, path, depth + 1)),
            Value::Object(body) => self.constant_fields(body, path, depth),
            Value::Undefined | Value::Code(_) | Value::CodeWithScope(..) | Value::DbPointer(..) => {
                Err(self.refusal(path, "the value's type is deprecated"))
            }
            _ => check_value(raw, 0).map_err(|_| Refusal::Malformed),
        }
    }

    fn constant_fields(&self, body: Body<'_>, path: &Path, depth: usize) -> Result<(), Refusal> {
        for field in body.fields() {
            let field = field.map_err(|_| Refusal::Malformed)?;
            let name = field.name().map_err(|_| Refusal::Malformed)?;
            if name.is_empty() || name.starts_with('$') || name.contains('.') {
                return Err(self.refusal(path, "only constants are accepted"));
            }
            self.constant(field.raw, path, depth + 1)?;
        }
        Ok(())
    }

    fn refusal(&self, path: &Path, reason: &'static str) -> Refusal {
        refusal(self.stage, &path.to_string(), reason)
    }
}
