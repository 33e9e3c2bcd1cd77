//! The planner: a definition, its variables and the caller's scope become what is sent to MongoDB,
//! what is decided in process, and what a client is shown. Pure.

pub mod cursor_spec;
pub mod namespace;
pub mod plan;
pub mod selection;

pub use cursor_spec::CursorSpec;
pub use namespace::Namespace;
pub use plan::Binding;
pub use selection::Selection;
