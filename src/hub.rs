//! Fan-out: one cursor, many audiences.
//!
//! A fan-out task reads signals of one cursor and publishes them to its feed. Subscribers read the feed;
//! the hub neither encodes nor knows a transport, and one function decides who receives an event
//! ([`Selection::judge`](crate::binding::Selection::judge)).

pub mod catch_up;
pub mod close;
pub mod ending;
mod fanout;
pub mod feed;
mod history;
pub mod item;
mod limits;
pub mod mailbox;
mod origin;
mod portion;
pub mod registry;
mod replay;
mod replays;
mod rewind;
mod routes;
mod search;
mod snapshot;
mod subscribe_error;
pub mod subscription;

pub use close::CloseReason;
pub use ending::{CloseHandle, Ending};
pub use feed::Observer;
pub use history::HistoryLimits;
pub use item::{Item, Reset, Skipped, Status, Tail};
pub use limits::{HubLimits, OwnLimits, Owner};
pub use mailbox::MailboxLimits;
pub use registry::{Hub, KeyReceiver};
pub use subscribe_error::SubscribeError;
pub use subscription::{Delivery, Resume, Subscription};

#[cfg(test)]
mod tests;
