use std::time::Duration;

use super::settings::Settings;

/// Timing and bounds of streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsConfig {
    /// Time between heartbeats; `None` sends none.
    pub heartbeat: Option<Duration>,
    /// How long a shared cursor outlives its last client.
    pub linger: Duration,
    /// Change stream cursors in all, shared and unshared.
    pub cursors: usize,
    pub own_cursors: OwnCursors,
    /// Catch-up cursors open at once, besides `cursors`.
    pub catch_up: usize,
    /// Snapshots read at once.
    pub snapshots: usize,
    /// Recent events kept for each shared cursor.
    pub history: Bounds,
    /// Undelivered events held for one client.
    pub mailbox: Bounds,
    /// Largest event as JSON text, in bytes.
    pub max_event: usize,
    /// Time in which connections are closed at shutdown.
    pub drain: Duration,
    /// Time to open a cursor.
    pub open_timeout: Duration,
    /// Time one write to a client may take.
    pub write_timeout: Duration,
    /// How long MongoDB holds a `getMore` without events (the setting `streams.await`).
    pub await_time: Duration,
    /// Age at which a connection is closed with 1001.
    pub max_connection_age: Option<Duration>,
}

/// Caps of cursors that serve a single binding because it could not be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCursors {
    pub total: usize,
    pub per_stream: usize,
    pub per_principal: usize,
}

/// A bound in number and in bytes; whichever is reached first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub events: usize,
    pub bytes: usize,
}

impl StreamsConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let streams = Self {
            heartbeat: settings.optional_duration("streams.heartbeat"),
            linger: settings.duration("streams.linger"),
            cursors: settings.count("streams.cursors"),
            own_cursors: OwnCursors::read(settings),
            catch_up: settings.count("streams.catch_up"),
            snapshots: settings.count("streams.snapshots"),
            history: Bounds::read(settings, "streams.history.events", "streams.history.bytes"),
            mailbox: Bounds::read(settings, "streams.mailbox.events", "streams.mailbox.bytes"),
            max_event: settings.size("streams.max_event"),
            drain: settings.duration("streams.drain"),
            open_timeout: settings.duration("streams.open_timeout"),
            write_timeout: settings.duration("streams.write_timeout"),
            await_time: settings.duration("streams.await"),
            max_connection_age: settings.optional_duration("streams.max_connection_age"),
        };
        streams.validate(settings);
        streams
    }

    /// A cap above the cap around it would never be reached: whoever set it was mistaken. A default
    /// that exceeds a lowered cap does no harm.
    fn validate(&self, settings: &mut Settings) {
        let OwnCursors { total, per_stream, per_principal } = self.own_cursors;
        let pairs = [
            ("streams.own_cursors.total", total, "streams.cursors", self.cursors),
            ("streams.own_cursors.per_stream", per_stream, "streams.own_cursors.total", total),
            (
                "streams.own_cursors.per_principal",
                per_principal,
                "streams.own_cursors.total",
                total,
            ),
        ];
        for (inner, cap, outer, around) in pairs {
            if cap > around && settings.is_set(inner) {
                settings
                    .refuse_set(inner, format!("is {cap}, more than {outer}, which is {around}"));
            }
        }
    }
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self::read(&mut Settings::default())
    }
}

impl OwnCursors {
    fn read(settings: &mut Settings) -> Self {
        Self {
            total: settings.count("streams.own_cursors.total"),
            per_stream: settings.count("streams.own_cursors.per_stream"),
            per_principal: settings.count("streams.own_cursors.per_principal"),
        }
    }
}

impl Bounds {
    fn read(settings: &mut Settings, events: &str, bytes: &str) -> Self {
        Self { events: settings.count(events), bytes: settings.size(bytes) }
    }
}
