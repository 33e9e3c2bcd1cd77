//! What one round trip brings.

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    binding::Namespace,
    change::{ClusterTime, ResumeToken},
};

/// Events in order, and how far the server has looked.
#[derive(Debug, Default)]
pub struct Batch {
    /// The changes that passed the pipeline.
    pub events: Vec<SourceEvent>,
    /// Everything up to here has been read; moves on in empty batches too.
    pub resume: Option<ResumeToken>,
}

impl Batch {
    /// The newest position that the batch proves.
    pub fn newest(&self) -> Option<&ResumeToken> {
        self.resume.as_ref().or_else(|| self.events.last().map(|event| &event.token))
    }

    /// Whether nothing at or before an event is still to come.
    pub fn has_passed(&self, token: &ResumeToken) -> bool {
        self.newest().is_some_and(|newest| newest >= token)
            || self.has_finished(token.cluster_time())
    }

    /// Whether nothing of a cluster time is still to come. The server looks at all of a time before an
    /// empty batch stands for it, but the token of that batch sorts before the events of its time.
    pub fn has_finished(&self, time: ClusterTime) -> bool {
        let reached = self.resume.as_ref().map(ResumeToken::cluster_time);
        reached.is_some_and(|reached| reached > time || (self.events.is_empty() && reached == time))
    }

    /// Takes the events before one out of the batch.
    pub fn split_before(&mut self, token: &ResumeToken) -> Vec<SourceEvent> {
        let rest = self.events.split_off(self.events.partition_point(|e| e.token < *token));
        std::mem::replace(&mut self.events, rest)
    }
}

/// A change as MongoDB sent it.
#[derive(Debug)]
pub struct SourceEvent {
    /// The event's document, `_id` included.
    pub raw: RawDocumentBuf,
    /// Its resume token.
    pub token: ResumeToken,
}

impl SourceEvent {
    /// Takes an event out of a batch. `None`: it has no resume token, so nothing can be promised about it.
    pub fn read(document: &RawDocument) -> Option<Self> {
        let token = ResumeToken::from_document(document.get_document("_id").ok()?)?;
        Some(Self { raw: document.to_owned(), token })
    }

    /// Whether the token stands for another time than the event's own `clusterTime`.
    pub fn contradicts_its_token(&self) -> bool {
        let own = self.raw.get_timestamp("clusterTime");
        own.is_ok_and(|own| ClusterTime::from(own) != self.token.cluster_time())
    }

    /// Whether the server ends the cursor after this event.
    pub fn is_invalidate(&self) -> bool {
        self.kind() == Some("invalidate")
    }

    /// The collections that it dropped, renamed or replaced as a whole.
    pub fn replaced(&self) -> Vec<Namespace> {
        let fields: &[&str] = match self.kind() {
            Some("drop") => &["ns"],
            Some("rename") => &["ns", "to"],
            _ => return Vec::new(),
        };
        let read = |name: &&str| {
            let namespace = self.raw.get_document(name).ok()?;
            Some(Namespace::new(namespace.get_str("db").ok()?, namespace.get_str("coll").ok()?))
        };
        fields.iter().filter_map(read).collect()
    }

    fn kind(&self) -> Option<&str> {
        self.raw.get_str("operationType").ok()
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn a_collection_is_replaced_by_a_drop_and_by_either_end_of_a_rename() {
        let token = ResumeToken::before(ClusterTime::default());
        for (kind, expected) in [
            ("insert", vec![]),
            ("dropDatabase", vec![]),
            ("drop", vec![Namespace::new("d", "a")]),
            ("rename", vec![Namespace::new("d", "a"), Namespace::new("d", "b")]),
        ] {
            let raw = rawdoc! {
                "operationType": kind,
                "ns": { "db": "d", "coll": "a" },
                "to": { "db": "d", "coll": "b" },
            };
            assert_eq!(SourceEvent { raw, token: token.clone() }.replaced(), expected, "{kind}");
        }
    }
}
