//! The service described for machines: AsyncAPI for what is streamed, OpenAPI for what is asked. Pure.

mod asyncapi;
mod openapi;
mod schemas;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    binding::Namespace,
    config::Mounts,
    definition::{StreamDef, StreamDefs},
    entity::{Asked, Entities, Found, Topic},
};

/// What one caller may open.
#[derive(Debug, Default)]
pub struct Served {
    /// Declared streams.
    pub streams: Vec<ServedStream>,
    /// Entity feeds.
    pub feeds: Vec<ServedFeed>,
    /// Host and port that clients connect to, when it is known.
    pub host: Option<String>,
}

/// One declared stream, where it is served.
#[derive(Debug)]
pub struct ServedStream {
    /// Its path, percent-encoded.
    pub path: String,
    /// What it is.
    pub definition: StreamDef,
}

/// One feed, where it is served.
#[derive(Debug)]
pub struct ServedFeed {
    /// Its path and query, percent-encoded.
    pub path: String,
    /// How it is asked for.
    pub asked: Asked,
    /// What it brings.
    pub found: Found,
}

impl ServedFeed {
    /// Every feed that is declared and can bring anything.
    pub fn all(entities: &Entities, prefix: &str) -> Vec<Self> {
        let feeds = entities.feeds().into_iter().map(|(asked, found)| {
            let path = match &asked {
                Asked::Entity(name) => format!("{prefix}/subscribe/{}", encode(name)),
                Asked::Topic(Topic::All) => format!("{prefix}/subscribe?topic=*"),
                Asked::Topic(Topic::Named(name)) => {
                    format!("{prefix}/subscribe?topic={}", encode(name))
                }
                Asked::Subscription(name) => format!("{prefix}/subscriptions/{}", encode(name)),
            };
            Self { path, asked, found }
        });
        feeds.collect()
    }
}

/// Characters of a path segment that need no encoding.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Served {
    /// The streams that can be opened, each under the path of the most specific mount that leads to it.
    /// Those that only a template leads to have no path that could be told.
    pub fn streams_of(
        declared: impl IntoIterator<Item = (Namespace, StreamDefs)>,
        mounts: &Mounts,
    ) -> Vec<ServedStream> {
        let mut streams = Vec::new();
        for (namespace, definitions) in declared {
            let Some(segments) = mounts.path_of(&namespace.db, &namespace.coll) else { continue };
            let collection: String =
                segments.iter().map(|segment| format!("/{}", encode(segment))).collect();
            let served = definitions.good.into_iter().map(|definition| ServedStream {
                path: format!("{collection}/_streams/{}", encode(&definition.uri)),
                definition,
            });
            streams.extend(served);
        }
        streams
    }
}

pub(crate) fn encode(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}
