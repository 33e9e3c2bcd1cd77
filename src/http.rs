//! The surface: requests in, sessions and answers out.
//!
//! Handlers are straight lines; what can go wrong in them becomes a status in one place, [`error`].

mod admit;
mod bare_socket;
pub mod caps;
mod collections;
mod console;
mod contract;
mod cors;
mod deadline;
mod decided;
pub mod documents;
mod edition;
mod error;
mod explain;
pub mod feeds;
pub mod gate;
mod head;
mod health;
mod joined;
mod lifetime;
mod link;
mod look;
mod lookup;
mod many;
mod open;
mod opening;
mod operator;
mod outgoing;
mod plans;
mod reads;
mod record;
mod recover;
pub mod refusals;
mod request;
pub mod rights;
pub mod router;
pub mod server;
mod session;
mod sse;
pub mod state;
mod streams;
pub mod surface;
mod target;
mod tickets;
mod turn;
mod visitor;
mod websocket;

pub use plans::plan;
pub use router::{operator_router, router};
pub use server::{ServerLimits, serve};
pub use state::AppState;
#[doc(hidden)]
pub use websocket::hear;
