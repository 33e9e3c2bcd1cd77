//! Entity feeds: events of an entity as envelopes, by entity and by topic. Pure: no MongoDB, no
//! HTTP.

mod event_id;
pub mod expression;
mod field;
mod heartbeat;
mod operation;
mod suggest;
mod topic;

pub use event_id::{EventId, EventIdError};
pub use expression::{Expression, ExpressionError, Facts, Undecided};
pub use field::{Field, FieldError};
pub use heartbeat::{Heartbeat, HeartbeatError};
pub use operation::{Operation, Operations, OperationsError};
pub use topic::{Topic, TopicError, default_topic};
