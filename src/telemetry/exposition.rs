//! The counters in the text format of Prometheus (version 0.0.4).
//!
//! Written by hand: every value is a sum that is made when somebody asks, and the client library
//! writes OpenMetrics only, whose names of counters the format's own checker refuses here.

use std::fmt::Write;

use super::{Counts, Sieve, Status, SubscriberStatus, Surface, Telemetry};

/// Most subscribers that have series of their own, the oldest: a page must not grow with the clients.
const MOST_SINGLE: usize = 100;

/// Writing to a string does not fail.
type Written = std::fmt::Result;

impl Telemetry {
    /// The media type of [`Telemetry::prometheus`].
    pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Every family, also those that count nothing yet.
    pub fn prometheus(&self) -> String {
        let mut page = Page(String::new());
        let written = self.status().write(&mut page);
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        page.0
    }
}

/// What is written so far.
struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, help: &str) -> Written {
        self.family(name, "gauge", help)
    }

    fn counter(&mut self, name: &str, help: &str) -> Written {
        self.family(name, "counter", help)
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) -> Written {
        write!(self.0, "# HELP tailwater_{name} {help}\n# TYPE tailwater_{name} {kind}\n")
    }

    /// Labels are our own words: none needs escaping.
    fn value(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        value: impl std::fmt::Display,
    ) -> Written {
        write!(self.0, "tailwater_{name}")?;
        for (place, (label, of)) in labels.iter().enumerate() {
            write!(self.0, "{}{label}=\"{of}\"", if place == 0 { '{' } else { ',' })?;
        }
        writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" })
    }

    /// A family of one value.
    fn one(
        &mut self,
        kind: &str,
        name: &str,
        help: &str,
        value: impl std::fmt::Display,
    ) -> Written {
        self.family(name, kind, help)?;
        self.value(name, &[], value)
    }
}

impl Status {
    fn write(&self, page: &mut Page) -> Written {
        page.gauge("build_info", "The version that runs.")?;
        page.value("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1)?;
        self.write_connections(page)?;
        self.write_cursors(page)?;
        self.write_events(page)?;
        self.write_subscribers(page)
    }

    fn write_connections(&self, page: &mut Page) -> Written {
        page.gauge("connections", "Open event connections.")?;
        for (transport, surface, open) in &self.connections {
            let labels = [("transport", transport.as_str()), ("surface", surface.as_str())];
            page.value("connections", &labels, open)?;
        }
        page.counter("connections_closed_total", "Ended event connections, by cause.")?;
        for (cause, count) in &self.closed {
            page.value("connections_closed_total", &[("cause", cause.as_str())], count)?;
        }
        page.counter("refused_total", "Requests turned away because a cap was reached.")?;
        for (cap, count) in &self.refused {
            page.value("refused_total", &[("cap", cap.as_str())], count)?;
        }
        Ok(())
    }

    fn write_cursors(&self, page: &mut Page) -> Written {
        page.gauge("cursors", "Open change stream cursors, without catch-ups.")?;
        for (sharing, own) in [("shared", false), ("own", true)] {
            let count = self.cursors.iter().filter(|cursor| cursor.own == own).count();
            page.value("cursors", &[("sharing", sharing)], count)?;
        }
        let degraded = self.cursors.iter().filter(|cursor| cursor.degraded).count();
        page.one("gauge", "cursors_degraded", "Cursors whose source is down.", degraded)?;
        page.one("gauge", "catch_ups", "Catch-ups that run.", self.catch_ups)?;
        let help = "How far the cursor furthest behind is from now; absent until known.";
        page.gauge("source_lag_seconds", help)?;
        match self.lag() {
            Some(lag) => page.value("source_lag_seconds", &[], lag.as_secs_f64()),
            None => Ok(()),
        }
    }

    fn write_events(&self, page: &mut Page) -> Written {
        let rows = [
            ("events_read_total", "Events read from MongoDB.", self.read),
            (
                "events_published_total",
                "Events offered to the subscribers of cursors.",
                self.published,
            ),
            (
                "entity_events_published_total",
                "Events of entities that changes became.",
                self.entity_published,
            ),
            (
                "entity_events_unowned_total",
                "Changes of entities of which it cannot be told whose they are.",
                self.entity_unowned,
            ),
        ];
        rows.into_iter().try_for_each(|(name, help, value)| page.one("counter", name, help, value))
    }

    fn write_subscribers(&self, page: &mut Page) -> Written {
        page.gauge("subscribers", "Active subscribers.")?;
        for (surface, subscribers, _) in &self.active {
            page.value("subscribers", &[("surface", surface.as_str())], subscribers)?;
        }
        page.gauge("topics", "Topics that have an active subscriber.")?;
        for (surface, _, topics) in &self.active {
            page.value("topics", &[("surface", surface.as_str())], topics)?;
        }
        let rows: [Row; 6] = [
            ("events_seen_total", "Events that subscribers were considered for.", |counts| {
                counts.seen
            }),
            ("events_delivered_total", "Events handed to connections.", |counts| counts.delivered),
            (
                "events_dropped_total",
                "Events meant for a subscriber that it could not be given.",
                |counts| counts.dropped,
            ),
            ("events_skipped_total", "Notices of events that could not be read.", |counts| {
                counts.skipped
            }),
            ("resets_total", "Notices that events were missed.", |counts| counts.resets),
            ("sent_bytes_total", "Bytes of events and notices written to connections.", |counts| {
                counts.bytes
            }),
        ];
        for (name, help, count) in rows {
            page.counter(name, help)?;
            for (surface, counts) in &self.totals {
                page.value(name, &[("surface", surface.as_str())], count(counts))?;
            }
        }
        self.write_filtered(page)?;
        self.write_single(page)
    }

    /// Each subscriber of entity feeds by its number, as far as it goes: whoever has many of them asks the
    /// status.
    fn write_single(&self, page: &mut Page) -> Written {
        let rows: [Row; 3] = [
            (
                "subscriber_delivered_total",
                "Events handed to a subscriber of entity feeds.",
                |counts| counts.delivered,
            ),
            ("subscriber_filtered_total", "Events kept from it.", Counts::filtered),
            ("subscriber_dropped_total", "Events that it could not be given.", |counts| {
                counts.dropped
            }),
        ];
        let of_entities = |it: &&SubscriberStatus| it.surface == Surface::Entities;
        let subscribers: Vec<_> =
            self.subscribers.iter().filter(of_entities).take(MOST_SINGLE).collect();
        for (name, help, count) in rows {
            page.counter(name, help)?;
            for subscriber in &subscribers {
                let sub = subscriber.sub.to_string();
                page.value(name, &[("sub", &sub)], count(&subscriber.counts))?;
            }
        }
        Ok(())
    }

    fn write_filtered(&self, page: &mut Page) -> Written {
        const NAME: &str = "events_filtered_total";
        page.counter(NAME, "Events kept from a subscriber, by what kept them.")?;
        for (surface, counts) in &self.totals {
            for sieve in Sieve::ALL.into_iter().filter(|sieve| exists(*surface, *sieve)) {
                let labels = [("surface", surface.as_str()), ("by", sieve.as_str())];
                page.value(NAME, &labels, counts.filtered[sieve as usize])?;
            }
        }
        Ok(())
    }
}

/// A counter of every surface: its name, what it counts, and where that stands.
type Row = (&'static str, &'static str, fn(&Counts) -> u64);

/// Streams have no scripts.
fn exists(surface: Surface, sieve: Sieve) -> bool {
    surface == Surface::Entities || sieve != Sieve::Script
}
