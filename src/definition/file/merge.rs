//! Several files, one list of streams per collection.

use std::collections::HashMap;

use super::CollectionStreams;
use super::declaration::{Declaration, Declared};
use crate::yaml::Note;

/// Declarations gathered by collection, in the order in which collections were first named.
#[derive(Debug, Default)]
pub(super) struct Gathered(Vec<Declaration>);

impl Gathered {
    pub(super) fn add(&mut self, new: Declaration) {
        let same = |known: &&mut Declaration| known.db == new.db && known.coll == new.coll;
        match self.0.iter_mut().find(same) {
            Some(known) => known.streams.extend(new.streams),
            None => self.0.push(new),
        }
    }

    /// An error for each stream that another one of the same collection already has the name of.
    pub(super) fn duplicates(&self) -> Vec<Note> {
        self.0.iter().flat_map(|declaration| repeated(&declaration.streams)).collect()
    }

    pub(super) fn finish(self) -> Vec<CollectionStreams> {
        self.0.into_iter().map(collection).collect()
    }
}

fn repeated(streams: &[Declared]) -> Vec<Note> {
    let mut first = HashMap::new();
    let mut errors = Vec::new();
    for stream in streams {
        let earlier = *first.entry(&stream.uri).or_insert(&stream.origin);
        if *earlier != stream.origin {
            let reason =
                format!("stream `{}` is declared at {earlier} already; rename one", stream.uri);
            errors.push(stream.origin.clone().note(reason));
        }
    }
    errors
}

fn collection(Declaration { db, coll, streams: declared }: Declaration) -> CollectionStreams {
    let (mut streams, mut origin, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for stream in declared {
        streams.push(stream.stored);
        origin.push(stream.origin);
        warnings.extend(stream.warnings);
    }
    CollectionStreams { db, coll, streams, origin, warnings }
}
