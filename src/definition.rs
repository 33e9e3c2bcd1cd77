//! What a stream, as declared in a collection's metadata, means. Pure: no MongoDB, no HTTP.
//!
//! [`StreamDefs::parse`] reads the metadata's `streams` into [`StreamDef`]s; a request's
//! [`Parameters`] become [`Variables`]; both together resolve to [`ResolvedStage`]s and a
//! [`NotifyWhen`]. What a definition may contain is checked when it is declared and again after
//! its variables are filled in.

mod allowed;
mod bind;
mod bounds;
mod coerce;
mod error;
mod escape;
mod event_path;
mod fields;
pub mod file;
mod guard;
mod lookup;
pub mod names;
mod notify;
mod parameters;
mod path;
mod place;
mod read;
mod stage;
mod stream;
mod streams;
mod uses;
mod var;
mod variable_error;
mod variables;
mod violation;
mod warnings;

pub(crate) use allowed::FIELD_OPERATORS;
pub use bind::{BindError, Bound, ResolvedStage};
pub use error::DefinitionError;
pub use escape::{escape_stages, unescape};
pub use fields::{FullDocument, FullDocumentBeforeChange};
pub use notify::{NotifyEntry, NotifyTemplate, NotifyWhen};
pub use parameters::{Parameters, RESERVED};
pub use path::{FieldPath, Segment};
pub use stage::StageTemplate;
pub use stream::StreamDef;
pub use streams::{BadStream, StreamDefs};
pub use uses::VariableUse;
pub use var::VarRef;
pub use variable_error::VariableError;
pub use variables::Variables;
pub use violation::{SecurityViolation, ViolationKind};

#[cfg(test)]
mod properties;
