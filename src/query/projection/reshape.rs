//! A document walked beside a tree of paths.

use bson::spec::ElementType;

use super::tree::{Node, Tree};
use super::writer::Writer;
use crate::query::check::check_depth;
use crate::query::error::MatchError;
use crate::query::raw::{Body, Field, Raw};

/// What the tree's paths mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reshape {
    Include,
    Exclude,
    Set,
}

impl Reshape {
    pub(super) fn document(self, body: Body<'_>, tree: &Tree) -> Result<Vec<u8>, MatchError> {
        let mut writer = Writer::with_capacity(body.bytes().len());
        self.fields(&mut writer, Some(body), tree, 1)?;
        Ok(writer.into_bytes())
    }

    fn fields(
        self,
        writer: &mut Writer,
        body: Option<Body<'_>>,
        tree: &Tree,
        depth: usize,
    ) -> Result<(), MatchError> {
        check_depth(depth)?;
        let start = writer.open()?;
        let mut seen = vec![false; tree.children().len()];
        for field in body.iter().flat_map(|body| body.fields()) {
            let field = field?;
            let position = tree.position(field.name);
            match position.and_then(|position| Some((tree.children().get(position)?, position))) {
                None if self == Self::Include => {}
                None => writer.copy(field.name, field.raw)?,
                Some(((_, node), position)) => {
                    let again =
                        seen.get_mut(position).is_some_and(|seen| std::mem::replace(seen, true));
                    // Of a repeated name the matcher sees the first; so does the client.
                    if !again || self == Self::Exclude {
                        self.node(writer, &field, node, depth)?;
                    }
                }
            }
        }
        if self == Self::Set {
            let unseen = tree.children().iter().zip(seen).filter(|(_, seen)| !seen);
            unseen.into_iter().try_for_each(|((name, node), _)| {
                self.missing(writer, name.as_bytes(), node, depth)
            })?;
        }
        writer.close(start)
    }

    fn node(
        self,
        writer: &mut Writer,
        field: &Field<'_>,
        node: &Node,
        depth: usize,
    ) -> Result<(), MatchError> {
        match node {
            Node::Leaf if self == Self::Include => writer.copy(field.name, field.raw),
            Node::Leaf => Ok(()),
            Node::Value(value) => writer.copy(field.name, value.raw()),
            Node::Branch(tree) => self.branch(writer, field.name, field.raw, tree, depth).map(drop),
        }
    }

    /// A value on the way of a path; whether anything was written.
    fn branch(
        self,
        writer: &mut Writer,
        name: &[u8],
        raw: Raw<'_>,
        tree: &Tree,
        depth: usize,
    ) -> Result<bool, MatchError> {
        match (raw.kind, self) {
            (ElementType::EmbeddedDocument, _) => {
                writer.name(ElementType::EmbeddedDocument, name)?;
                self.fields(writer, Some(Body::new(raw.bytes)?), tree, depth + 1)?;
            }
            (ElementType::Array, _) => {
                writer.name(ElementType::Array, name)?;
                self.array(writer, Body::new(raw.bytes)?, tree, depth + 1)?;
            }
            (_, Self::Include) => return Ok(false),
            (_, Self::Exclude) => writer.copy(name, raw)?,
            (_, Self::Set) => {
                writer.name(ElementType::EmbeddedDocument, name)?;
                self.fields(writer, None, tree, depth + 1)?;
            }
        }
        Ok(true)
    }

    /// Every element is reshaped, arrays in arrays too; positions are counted anew.
    fn array(
        self,
        writer: &mut Writer,
        array: Body<'_>,
        tree: &Tree,
        depth: usize,
    ) -> Result<(), MatchError> {
        check_depth(depth)?;
        let start = writer.open()?;
        let mut position = 0_usize;
        for field in array.fields() {
            let name = position.to_string();
            position +=
                usize::from(self.branch(writer, name.as_bytes(), field?.raw, tree, depth)?);
        }
        writer.close(start)
    }

    fn missing(
        self,
        writer: &mut Writer,
        name: &[u8],
        node: &Node,
        depth: usize,
    ) -> Result<(), MatchError> {
        match node {
            Node::Leaf => Ok(()),
            Node::Value(value) => writer.copy(name, value.raw()),
            Node::Branch(tree) => {
                writer.name(ElementType::EmbeddedDocument, name)?;
                self.fields(writer, None, tree, depth + 1)
            }
        }
    }
}
