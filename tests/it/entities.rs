//! Entity feeds over real sockets.

mod admission;
mod frames;
mod isolation;
mod shop;
