//! All streams of a collection.

use std::collections::HashSet;

use bson::Bson;

use super::error::DefinitionError;
use super::path::At;
use super::stream::StreamDef;

/// The `streams` field of a collection's metadata. A bad element does not disturb its siblings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamDefs {
    /// The streams that can be opened, in order, each `uri` once.
    pub good: Vec<StreamDef>,
    /// The elements that cannot, in order.
    pub bad: Vec<BadStream>,
}

/// An element of `streams` that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct BadStream {
    /// Its position in the array, from zero.
    pub index: usize,
    /// Its `uri`, when it has one: opening that stream is answered with the error.
    pub uri: Option<String>,
    /// The path starts with `streams[index]`.
    pub error: DefinitionError,
}

impl StreamDefs {
    /// Reads the field as stored. Of two streams with one `uri` the first one wins.
    pub fn parse(streams: &Bson) -> Self {
        let Some(elements) = streams.as_array() else {
            return Self { good: Vec::new(), bad: vec![not_an_array()] };
        };
        let mut defs = Self::default();
        let mut seen = HashSet::new();
        for (index, element) in elements.iter().enumerate() {
            let parsed = StreamDef::parse(element).and_then(|def| unique(def, &mut seen));
            match parsed.at(index).at("streams") {
                Ok(def) => defs.good.push(def),
                Err(error) => defs.bad.push(BadStream { index, uri: uri_of(element), error }),
            }
        }
        defs
    }

    /// The stream of this name; names are compared exactly.
    pub fn find(&self, uri: &str) -> Option<&StreamDef> {
        self.good.iter().find(|def| def.uri == uri)
    }

    /// Why the stream of this name cannot be opened, when it is declared but bad.
    pub fn find_bad(&self, uri: &str) -> Option<&BadStream> {
        self.bad.iter().find(|bad| bad.uri.as_deref() == Some(uri))
    }
}

fn not_an_array() -> BadStream {
    let mut error = DefinitionError::new("it must be an array of stream definitions");
    error.path = error.path.inside("streams");
    BadStream { index: 0, uri: None, error }
}

fn unique(def: StreamDef, seen: &mut HashSet<String>) -> Result<StreamDef, DefinitionError> {
    if seen.insert(def.uri.clone()) {
        return Ok(def);
    }
    let reason = format!("an earlier stream has the uri `{}` already; rename this one", def.uri);
    Err(DefinitionError::new(reason)).at("uri")
}

fn uri_of(element: &Bson) -> Option<String> {
    element.as_document()?.get_str("uri").ok().map(str::to_owned)
}
