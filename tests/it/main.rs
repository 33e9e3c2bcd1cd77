//! The integration tests: one binary, real sockets, a real MongoDB.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what a helper cannot do fails the test that called it"
)]

mod access;
mod layering;
mod mongod_lifecycle;
mod mql_differential;
mod mql_replay;
mod reads;
mod streams;
mod support;
