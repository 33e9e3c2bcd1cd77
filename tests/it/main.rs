//! The integration tests: one binary, real sockets, a real MongoDB.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a helper cannot do fails the test that called it"
)]

mod streams;
mod support;
