//! The integration tests: one binary, real sockets, a real MongoDB.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what a helper cannot do fails the test that called it"
)]

mod access;
mod ages;
mod caps;
mod census;
mod checker;
mod cli;
mod closes;
mod compat;
mod console;
mod contract;
mod definitions;
mod doctor;
mod documents;
mod embed;
mod entities;
mod faults;
mod half_open;
mod heartbeats;
mod http2;
mod ids;
mod js_client;
mod json_modes;
mod keep_alive;
mod kinds;
mod large_documents;
mod large_events;
mod layering;
mod many_callers;
mod many_sockets;
mod many_streams;
mod metadata;
mod metadata_refusals;
mod mongod_lifecycle;
mod mounts;
mod mql_differential;
mod mql_replay;
mod negotiation;
mod notify_values;
mod notify_when;
mod odd_documents;
mod odd_requests;
mod operators;
mod order;
mod reads;
mod proxies;
mod real_clients;
mod reconnect_storm;
mod reserved;
mod restheart_streams;
mod resume;
mod resume_busy;
mod rolling;
mod security;
mod serving;
mod snapshots;
mod stalled_memory;
mod streams;
mod subscribe_race;
mod support;
mod tail;
mod unknown_ids;
mod variables;
