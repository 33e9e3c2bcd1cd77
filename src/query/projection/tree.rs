//! The paths of a stage, merged into a tree of names.

use crate::query::operand::Literal;
use crate::query::path::Component;

/// Names in the order in which the stage first mentions them.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    children: Vec<(Box<str>, Node)>,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    /// The path ends here: the whole value is included or excluded.
    Leaf,
    /// The path ends here: the value becomes this.
    Value(Literal),
    Branch(Tree),
}

/// A path that is, or leads through, another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Collision;

impl Tree {
    pub(super) fn insert(&mut self, path: &[Component], end: Node) -> Result<(), Collision> {
        let Some((first, rest)) = path.split_first() else { return Err(Collision) };
        let position = self.position(first.name.as_bytes());
        match position.and_then(|position| self.children.get_mut(position)) {
            Some((_, Node::Branch(tree))) if !rest.is_empty() => tree.insert(rest, end),
            Some(_) => Err(Collision),
            None if rest.is_empty() => {
                self.children.push((first.name.clone(), end));
                Ok(())
            }
            None => {
                let mut tree = Self::default();
                tree.insert(rest, end)?;
                self.children.push((first.name.clone(), Node::Branch(tree)));
                Ok(())
            }
        }
    }

    pub(super) fn position(&self, name: &[u8]) -> Option<usize> {
        self.children.iter().position(|(known, _)| known.as_bytes() == name)
    }

    pub(super) fn children(&self) -> &[(Box<str>, Node)] {
        &self.children
    }

    pub(super) fn mentions(&self, name: &str) -> bool {
        self.position(name.as_bytes()).is_some()
    }

    pub(super) fn has_leaf(&self, name: &str) -> bool {
        let position = self.position(name.as_bytes());
        position
            .is_some_and(|position| matches!(self.children.get(position), Some((_, Node::Leaf))))
    }
}
