use std::time::Duration;

use super::settings::Settings;

/// Bounds on what clients may open and send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Open connections in all.
    pub connections: usize,
    /// Open streams of one principal; `None` sets no bound.
    pub per_principal: Option<usize>,
    /// Open connections of one client address; `None` sets no bound.
    pub per_address: Option<usize>,
    /// Refused requests of one caller within a minute; `None` sets no bound.
    pub refusals: Option<usize>,
    /// Streams on one multiplexed connection.
    pub streams_per_connection: usize,
    /// Time a client has to send its request head.
    pub header_timeout: Duration,
    /// Largest WebSocket message from a client, in bytes.
    pub inbound_message: usize,
    /// Largest request body, in bytes.
    pub request_body: usize,
}

/// How documents of a collection are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentsConfig {
    /// Documents of a page when the caller names no number.
    pub pagesize: usize,
    pub max_pagesize: usize,
    /// Time MongoDB may spend on one read; `None` sets no bound.
    pub time_limit: Option<Duration>,
}

impl LimitsConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        Self {
            connections: settings.count("limits.connections"),
            per_principal: settings.optional_count("limits.per_principal"),
            per_address: settings.optional_count("limits.per_address"),
            refusals: settings.optional_count("limits.refusals"),
            streams_per_connection: settings.count("limits.streams_per_connection"),
            header_timeout: settings.duration("limits.header_timeout"),
            inbound_message: settings.size("limits.inbound_message"),
            request_body: settings.size("limits.request_body"),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self::read(&mut Settings::default())
    }
}

impl DocumentsConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let documents = Self {
            pagesize: settings.count("documents.pagesize"),
            max_pagesize: settings.count("documents.max_pagesize"),
            time_limit: settings.optional_duration("documents.time_limit"),
        };
        let Self { pagesize, max_pagesize, .. } = documents;
        if pagesize > max_pagesize {
            let named =
                if settings.is_set("documents.pagesize") { "pagesize" } else { "max_pagesize" };
            let reason = format!(
                "does not fit: documents.pagesize is {pagesize}, documents.max_pagesize is {max_pagesize}"
            );
            settings.refuse_set(&format!("documents.{named}"), reason);
        }
        documents
    }
}

impl Default for DocumentsConfig {
    fn default() -> Self {
        Self::read(&mut Settings::default())
    }
}
