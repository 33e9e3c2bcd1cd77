//! Lists of fields.

use bson::{Bson, Document};

use super::reading::Reading;
use crate::{binding::Cut, entity::Field, yaml::Node};

impl Reading<'_> {
    /// The fields under a key. `None` when there are none, or when one cannot be a field.
    pub(super) fn fields(&mut self, node: &Node, key: &str) -> Option<Vec<String>> {
        let (paths, mark) = self.texts(node, key)?;
        let checked = paths.into_iter().map(|path| self.taken(mark, Field::parse(path)));
        let checked: Vec<_> = checked.collect();
        checked.into_iter().map(|field| field.map(|field| field.to_string())).collect()
    }

    /// Some fields and nothing else.
    pub(super) fn only(&mut self, node: &Node, key: &str) -> Option<Cut> {
        let fields = self.fields(node, key)?;
        let projection = fields.into_iter().map(|field| (field, Bson::Int32(1)));
        Cut::parse(&projection.collect::<Document>()).ok()
    }

    /// Everything but some fields.
    pub(super) fn all_but(&mut self, node: &Node, key: &str) -> Option<Cut> {
        let fields = self.fields(node, key)?;
        Some(Cut::excluding(fields.iter().map(String::as_str)))
    }
}
