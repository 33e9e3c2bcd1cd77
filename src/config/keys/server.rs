use crate::config::key::{Key, Kind};

pub(crate) const KEYS: &[Key] = &[
    Key::new("listen", Kind::Address, "Where clients connect; port 0 takes a free one.")
        .default("127.0.0.1:8080")
        .flag("--listen"),
    Key::new(
        "admin_listen",
        Kind::Address,
        "A listener of their own for the resources under `/_/`; metrics and status then ask for no credential.",
    )
    .example("127.0.0.1:8081"),
    Key::new("prefix", Kind::Text, "Where the entity feeds are mounted.").default("/api"),
    Key::new(
        "compat",
        Kind::Choice(&["off", "restheart"]),
        "`restheart` sends RESTHeart's frames, and besides them only what it would keep silent (`reset`, `skipped`).",
    )
    .default("off")
    .flag("--compat"),
    Key::new("entities", Kind::Path, "Folder of entity and subscription declarations.")
        .example("./entities")
        .flag("--entities"),
    Key::new(
        "position_key",
        Kind::Secret,
        "Key that signs event ids: hex or base64 of at least 16 bytes (32 recommended), the same on every replica. \
         Absent: created once in the settings collection.",
    )
    .example("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
    Key::new("position_key_file", Kind::Path, "File that holds `position_key`.")
        .example("/run/secrets/position_key"),
    Key::new(
        "trusted_proxies",
        Kind::List,
        "Addresses and networks whose `X-Forwarded-For` (or `Forwarded`) and `X-Forwarded-Proto` are believed.",
    )
    .default("[]")
    .example("[127.0.0.1, 10.0.0.0/8]"),
    Key::new(
        "mounts",
        Kind::Mounts,
        "Which databases and collections appear under which URL; `mongo-mounts` is the same.",
    )
    .default(r#"[{what: "*", where: /}]"#),
    Key::new("mongodb.uri", Kind::Secret, "Connection string of a replica set or sharded cluster.")
        .default("mongodb://127.0.0.1:27017")
        .flag("--mongodb-uri")
        .short("TAILWATER_MONGODB_URI"),
    Key::new("mongodb.uri_file", Kind::Path, "File that holds `mongodb.uri`.")
        .example("/run/secrets/mongodb_uri")
        .short("TAILWATER_MONGODB_URI_FILE"),
    Key::new(
        "mongodb.settings",
        Kind::Text,
        "Tailwater's own settings collection, as `database.collection`; no route reads it.",
    )
    .default("tailwater.settings"),
    Key::new(
        "limits.connections",
        Kind::Count { min: 1, max: 10_000_000, off: false },
        "Open connections in all, and open streams; one more is answered `503`.",
    )
    .default("100000"),
    Key::new(
        "limits.per_principal",
        Kind::Count { min: 1, max: 10_000_000, off: true },
        "Open streams of one principal; one more is answered `429`. Anonymous callers count by address.",
    )
    .default("off"),
    Key::new(
        "limits.per_address",
        Kind::Count { min: 1, max: 10_000_000, off: true },
        "Open connections of one client address, and open streams; one more is answered `429`.",
    )
    .default("off"),
    Key::new(
        "limits.refusals",
        Kind::Count { min: 1, max: 10_000_000, off: true },
        "Requests of one caller (address and credential) answered `401` or `403` within a minute; what follows in it is answered `429`.",
    )
    .default("10000"),
    Key::new(
        "limits.streams_per_connection",
        Kind::Count { min: 1, max: 10_000, off: false },
        "Streams that one multiplexed WebSocket or `/_/sse` connection may carry.",
    )
    .default("64"),
    Key::new(
        "limits.header_timeout",
        Kind::Duration { min: 100, max: 300_000, off: false },
        "Time a client has to send its request head.",
    )
    .default("10s"),
    Key::new(
        "limits.inbound_message",
        Kind::Size { min: 128 },
        "Largest WebSocket message accepted from a client; a larger one closes with 1009.",
    )
    .default("64KiB"),
    Key::new("limits.request_body", Kind::Size { min: 1024 }, "Largest request body accepted.")
        .default("1MiB"),
    Key::new(
        "documents.pagesize",
        Kind::Count { min: 1, max: 1_000_000, off: false },
        "Documents of a collection read when the caller names no `pagesize`.",
    )
    .default("100"),
    Key::new(
        "documents.max_pagesize",
        Kind::Count { min: 1, max: 1_000_000, off: false },
        "Largest `pagesize` a caller may name.",
    )
    .default("1000"),
    Key::new(
        "documents.time_limit",
        Kind::Duration { min: 10, max: 3_600_000, off: true },
        "Time MongoDB may spend on one read of documents.",
    )
    .default("30s"),
];
