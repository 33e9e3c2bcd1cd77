use crate::config::key::{Key, Kind};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

pub(crate) const KEYS: &[Key] = &[
    Key::new(
        "streams.heartbeat",
        Kind::Duration { min: 50, max: HOUR, off: true },
        "Time between heartbeats and pings on an idle connection, jittered by a tenth; off sends none. \
         RESTHeart's `change-streams-keep-alive-ms` is the same in milliseconds.",
    )
    .default("20s"),
    Key::new(
        "streams.linger",
        Kind::Duration { min: 0, max: HOUR, off: false },
        "How long a shared cursor outlives its last client.",
    )
    .default("5s"),
    Key::new(
        "streams.cursors",
        Kind::Count { min: 1, max: 100_000, off: false },
        "Change stream cursors in all, and the size of the streams' connection pool; one more is answered `503`.",
    )
    .default("512"),
    Key::new(
        "streams.own_cursors.total",
        Kind::Count { min: 1, max: 100_000, off: false },
        "Cursors in all that serve one client's binding because it could not be shared.",
    )
    .default("384"),
    Key::new(
        "streams.own_cursors.per_stream",
        Kind::Count { min: 1, max: 100_000, off: false },
        "Unshared cursors of one stream.",
    )
    .default("320"),
    Key::new(
        "streams.own_cursors.per_principal",
        Kind::Count { min: 1, max: 100_000, off: false },
        "Unshared cursors of one principal; strangers count by their address. Not applied where authentication is off.",
    )
    .default("64"),
    Key::new(
        "streams.catch_up",
        Kind::Count { min: 1, max: 10_000, off: false },
        "Catch-up cursors open at once, each for all clients that resume at about the same time; further ones wait their turn. Together they hold as much in memory as one history.",
    )
    .default("8"),
    Key::new(
        "streams.snapshots",
        Kind::Count { min: 1, max: 10_000, off: false },
        "Snapshots (`?snapshot=true`) read at once; further ones wait their turn.",
    )
    .default("16"),
    Key::new(
        "streams.history.events",
        Kind::Count { min: 1, max: 100_000_000, off: false },
        "Recent events kept in memory for each shared cursor.",
    )
    .default("10000"),
    Key::new("streams.history.bytes", Kind::Size { min: 1 }, "The same, as bytes.")
        .default("64MiB"),
    Key::new(
        "streams.mailbox.events",
        Kind::Count { min: 1, max: 100_000_000, off: false },
        "Undelivered events held for one client before it is moved to catch-up or closed with 4408.",
    )
    .default("1024"),
    Key::new("streams.mailbox.bytes", Kind::Size { min: 1 }, "The same, as bytes.").default("8MiB"),
    Key::new(
        "streams.max_event",
        Kind::Size { min: 1024 },
        "Largest event as JSON text, or envelope; a larger one is reported as `skipped`.",
    )
    .default("48MiB"),
    Key::new(
        "streams.drain",
        Kind::Duration { min: 0, max: 10 * MINUTE, off: false },
        "Time in which connections are closed after `SIGTERM`.",
    )
    .default("10s"),
    Key::new(
        "streams.open_timeout",
        Kind::Duration { min: 100, max: 10 * MINUTE, off: false },
        "Time to open a cursor before the request is answered `503`.",
    )
    .default("10s"),
    Key::new(
        "streams.write_timeout",
        Kind::Duration { min: 100, max: HOUR, off: false },
        "Time one write to a client may take before the connection is dropped.",
    )
    .default("30s"),
    Key::new(
        "streams.await",
        Kind::Duration { min: 10, max: 5_000, off: false },
        "How long MongoDB holds a `getMore` without events, at most 5 s; it does not delay events. A MongoDB that hangs is noticed 10 s later.",
    )
    .default("1s"),
    Key::new(
        "streams.max_connection_age",
        Kind::Duration { min: 1000, max: 30 * 24 * HOUR, off: true },
        "Age at which a connection is closed with 1001, to be opened again elsewhere.",
    )
    .default("off"),
];
