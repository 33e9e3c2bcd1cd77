//! Declarations in files, read strictly: whatever would be ignored is an error with its place and
//! the remedy.
//!
//! A file is YAML or JSON with one or both of the lists `entities` and `subscriptions`:
//!
//! ```yaml
//! entities:
//!   - name: Order
//!     collection: shop.orders
//!     tenant: tenantId
//!     user: createdBy
//!     source: //shop.example/orders
//!     payload: document
//!     fieldgroups: { public: [status, total] }
//!     events:
//!       - name: order.changed
//!         operations: [create, update]
//!         topic: orders
//!         format: cloudevents
//!         exclude: [cardNumber]
//!         condition: { language: expr, expression: "data.total > 10" }
//! subscriptions:
//!   - { name: my-orders, source: orders, scope: user, fieldgroup: public }
//! ```

mod entity;
mod event;
mod link;
mod paths;
mod reading;
mod script;
mod subscription;

pub use crate::yaml::{Note, Origin};

use std::path::Path;

use super::{EntityDef, SubscriptionDef};
use crate::yaml;
use reading::Reading;

pub(super) use link::link;

/// What the files of a folder declare, before it is known whether it fits together.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    pub(super) entities: Vec<EntityDef>,
    pub(super) subscriptions: Vec<SubscriptionDef>,
    pub(super) warnings: Vec<Note>,
}

const KEYS: &[&str] = &["entities", "subscriptions"];

/// Reads one file into `declarations`. Gives everything that is wrong in it.
pub(super) fn read(file: &Path, text: &str, declarations: &mut Declarations) -> Vec<Note> {
    let mut reading = Reading::new(file);
    match yaml::parse(text) {
        Ok(root) => reading.file(&root, declarations),
        Err((mark, reason)) => reading.refuse(mark, reason),
    }
    declarations.warnings.append(&mut reading.warnings);
    reading.errors
}

impl Reading<'_> {
    fn file(&mut self, root: &yaml::Node, declarations: &mut Declarations) {
        if !self.is_map(root, "a file holds `entities`, `subscriptions`, or both", KEYS, &[]) {
            return;
        }
        for item in self.list(root, "entities").unwrap_or_default() {
            if let Some((entity, own)) = self.entity(item) {
                declarations.entities.push(entity);
                declarations.subscriptions.extend(own);
            }
        }
        for item in self.list(root, "subscriptions").unwrap_or_default() {
            declarations.subscriptions.extend(self.subscription(item, None));
        }
    }
}

#[cfg(test)]
mod tests;
