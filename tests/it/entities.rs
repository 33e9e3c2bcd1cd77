//! Entity feeds over real sockets.

mod admission;
mod cli;
mod counted;
mod described;
mod faults;
mod formats;
mod frames;
mod isolation;
mod payloads;
mod reload;
mod resume;
mod shop;
mod slow;
mod subscriptions;
mod topics;
