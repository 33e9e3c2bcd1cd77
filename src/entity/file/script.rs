//! Conditions and filters.

use std::sync::Arc;

use super::reading::Reading;
use crate::{
    entity::Expression,
    yaml::{Kind, Node},
};

const KEYS: &[&str] = &["language", "expression"];

impl Reading<'_> {
    /// `{language: expr, expression: "…"}` under a key.
    pub(super) fn script(&mut self, node: &Node, key: &str) -> Option<Arc<Expression>> {
        let value = &node.entry(key)?.value;
        let form = format!("write `{key}: {{ language: expr, expression: \"…\" }}`");
        if matches!(&value.kind, Kind::Scalar(bare) if !bare.is_null()) {
            let reason = format!("a bare `{key}` belongs to an older dialect; {form}");
            self.refuse(value.mark, reason);
            return None;
        }
        if !self.is_map(value, &form, KEYS, &[]) {
            return None;
        }
        if self.required(value, "language").is_some() {
            self.one_of(value, "language", &[("expr", ())])?;
        }
        let (text, mark) = self.required(value, "expression")?;
        self.taken(mark, Expression::parse(text)).map(Arc::new)
    }
}
