//! Entity feeds: events of an entity as envelopes, by entity and by topic. Pure: no MongoDB, no
//! HTTP.
//!
//! An entity feed is another definition, not another engine:
//!
//! 1. [`Entities`] are declared in a folder of YAML files.
//! 2. A request names an entity, a topic or a declared subscription; [`Entities`] answers with
//!    [`Part`]s, one per entity that has to do with it, and each becomes the [`Feed`] of a caller.
//! 3. A feed plans itself as a stream does ([`Feed::plan`]): a cursor on the entity's collection
//!    that all its feeds share, and a selection in process that finds the readers of a tenant or a
//!    user through the hub's index.
//! 4. What a change means for the entity, whoever reads, is a [`Publication`]: which declared
//!    events it is, and whose.
//! 5. A [`Rendition`] is a feed's shape: of a change and its publication it makes the envelopes
//!    that one group of equal readers receives. Equal renditions make equal bytes, once ([`Print`]).
//! 6. What one reader has open is a [`Bundle`]: its feeds on one cursor, which for a topic of several
//!    collections is one on their database or deployment, so that one id says what was delivered.
//!
//! | module | answers |
//! |---|---|
//! | `entities`, `entity_def`, `event_def`, `subscription_def` | what is declared |
//! | `file` | how it is read, strictly |
//! | `operation`, `topic`, `heartbeat`, `event_id`, `asked` | what requests may say |
//! | `expression` | conditions and filters |
//! | `feed`, `audience` | what one reader asks for and may have |
//! | `publication`, `payload`, `rendition`, `print` | what a change becomes |
//! | `bundle` | several feeds on one cursor |

mod asked;
mod audience;
mod bundle;
mod entities;
mod entity_def;
mod event_def;
mod event_id;
pub mod expression;
mod feed;
mod field;
mod file;
mod heartbeat;
mod operation;
mod payload;
mod print;
mod publication;
mod rendition;
mod subscription_def;
mod topic;
#[cfg(test)]
mod fixture;

pub use asked::{Asked, Found};
pub use audience::{Audience, AudienceError, Caller};
pub use bundle::{Bundle, Kept, Planned, Told};
pub use entities::{Entities, PreImages, Texts};
pub use entity_def::EntityDef;
pub use event_def::EventDef;
pub use event_id::{EventId, EventIdError};
pub use expression::{Expression, ExpressionError, Facts, Undecided};
pub use feed::{Feed, FeedError, Part};
pub use field::{Field, FieldError};
pub use file::{Note, Origin};
pub use heartbeat::{Heartbeat, HeartbeatError};
pub use operation::{Operation, Operations, OperationsError};
pub use payload::Payload;
pub use print::{Print, Said};
pub use publication::{Publication, Published};
pub use rendition::{Rendered, RenderedEvent, Rendition, Withheld, WithheldReason};
pub use subscription_def::{Scope, SubscriptionDef, Transport, Transports};
pub use topic::{Topic, TopicError, default_topic};
