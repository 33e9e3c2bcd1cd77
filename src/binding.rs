//! The planner: a definition, its variables and the caller's scope become what is sent to MongoDB,
//! what is decided in process, and what a client is shown. Pure.

mod boundary;
pub mod cursor_spec;
pub mod cut;
mod documents;
pub mod explanation;
mod hiding;
pub mod images;
pub mod namespace;
mod oracle;
mod outfit;
pub mod plan;
pub mod scope;
pub mod secrets;
pub mod selection;
mod server_filter;
mod steps;

pub use cursor_spec::CursorSpec;
pub use cut::Cut;
pub use explanation::Explanation;
pub use images::Images;
pub use namespace::Namespace;
pub use plan::{Binding, PlanError};
pub use scope::Scope;
pub use secrets::Secrets;
pub use selection::Selection;
