//! Tailwater lets browsers and programs watch MongoDB collections over SSE and WebSocket.
//!
//! Modules in reading order, from the process down to pure data. Imports point down this list only;
//! `tests/it/layering.rs` holds the rule.
//!
//! | module | answers |
//! |---|---|
//! | [`cli`] | what the command line asks for |
//! | [`embed`] | how another axum application serves the same |
//! | [`app`] | how the parts are wired, started and drained |
//! | [`http`] | requests in, sessions and answers out |
//! | [`access`] | who is calling, and what they may read |
//! | [`catalog`] | which streams exist, and when that changes |
//! | [`hub`] | one cursor, many audiences |
//! | [`source`] | cursors on MongoDB, and what their errors mean |
//! | [`contract`] | the service described for machines |
//! | [`entity`] | entities, topics and subscriptions, as declared, and what a change is to them |
//! | [`envelope`] | an entity's event in JSON, CloudEvents and Avro |
//! | [`binding`] | what is sent to MongoDB and what is decided in process |
//! | [`definition`] | what a stream, as declared, means |
//! | [`query`] | does this document match, exactly as MongoDB would say |
//! | [`change`] | one change event: its position, its frames |
//! | [`yaml`] | what a file of declarations says, and where |
//! | [`json`] | BSON as JSON text in every `jsonMode`, and lenient Extended JSON as BSON |
//! | [`telemetry`] | what the operator sees: counters, and the record of each connection |
//! | [`config`] | what the operator wants |
//! | [`suggest`] | which word was meant |
//! | [`backoff`] | how long to wait before trying again |
//! | [`mongod`] | a local mongod for `dev` and the tests |

pub mod cli;
pub mod embed;
pub mod app;
pub mod http;
pub mod access;
pub mod catalog;
pub mod hub;
pub mod source;
pub mod contract;
pub mod entity;
pub mod envelope;
pub mod binding;
pub mod definition;
pub mod query;
pub mod change;
pub mod yaml;
pub mod json;
pub mod telemetry;
pub mod config;
pub mod suggest;
pub mod backoff;
pub mod mongod;

pub use embed::{Router, RouterBuilder};
