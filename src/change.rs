//! One change event: where it stands in time, and the bytes a client receives for it.
//!
//! Everything here is pure: no MongoDB driver, no HTTP.

pub mod cluster_time;
pub mod event;
pub mod frame;
pub mod memo;
pub mod position;
pub mod shape;
pub mod token;
pub mod view;

pub use cluster_time::ClusterTime;
pub use event::ChangeEvent;
pub use frame::Frame;
pub use memo::Memo;
pub use position::{Position, PositionId, PositionKey};
pub use shape::{Dialect, Reshape, Reshaping, Shape};
pub use token::ResumeToken;
pub use view::View;
