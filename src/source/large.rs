//! An event too large for one message: MongoDB cuts it up, and it is put together again here.
//!
//! Only the one event is read this way, past the shared cursor: a server that cuts up events writes their
//! tokens differently, and the position of an event must not depend on how it was read. What the stages
//! see of it is the same: the cutting comes after the last of them.

use bson::{RawDocument, RawDocumentBuf, cstr};

use super::{ChangeSource, Fault, Open, SourceError, SourceEvent, poison::Poison};
use crate::{binding::CursorSpec, change::ResumeToken};

/// BSONObjectTooLarge: what MongoDB says of an event that exceeds 16 MB.
const TOO_LARGE: i32 = 10334;

/// Largest event that is put together, bytes. Two images of 16 MB, the fields that changed, and what
/// stages may add.
const MOST_BYTES: usize = 64 << 20;

/// Most batches read for one event: each holds a fragment at least, or says that time has moved on.
const BATCHES: usize = 256;

/// The failing event as the pipeline shows it, when it failed for its size alone. `None`: it cannot be had,
/// as the server does not cut up events (before 6.0.9) or the event exceeds the bound here too.
pub(super) async fn whole(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    poison: &Poison,
) -> Result<Option<SourceEvent>, SourceError> {
    if poison.error.code != Some(TOO_LARGE) {
        return Ok(None);
    }
    let Ok(key) = poison.event.get_document("documentKey") else { return Ok(None) };
    if !is_alone(source, spec, &poison.token, key).await? {
        return Ok(None);
    }
    let open = Open::fragments(poison.token.cluster_time(), key.to_owned());
    match fetch(source, spec, &open, &poison.token).await {
        Err(error) if error.fault == Fault::Rejected => Ok(None),
        fetched => fetched,
    }
}

/// Whether nothing else happened to the document at the time of the event, as in a transaction: which of
/// several is meant could not be told.
async fn is_alone(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    token: &ResumeToken,
    key: &RawDocument,
) -> Result<bool, SourceError> {
    let time = token.cluster_time();
    let mut cursor = source.open(&spec.stripped(), &Open::among([time])).await?;
    let mut count = 0;
    while let Some(batch) = cursor.next().await? {
        let same = |event: &&SourceEvent| {
            event.token.cluster_time() == time
                && event.raw.get_document("documentKey").is_ok_and(|k| k == key)
        };
        count += batch.events.iter().filter(same).count();
        if batch.has_finished(time) {
            break;
        }
    }
    Ok(count == 1)
}

async fn fetch(
    source: &dyn ChangeSource,
    spec: &CursorSpec,
    open: &Open,
    token: &ResumeToken,
) -> Result<Option<SourceEvent>, SourceError> {
    let mut cursor = source.open(spec, open).await?;
    let mut whole = Whole::default();
    for _ in 0..BATCHES {
        let Some(batch) = cursor.next().await? else { return Ok(None) };
        for fragment in &batch.events {
            match whole.add(fragment) {
                Some(Progress::Complete) => return Ok(Some(whole.event(token))),
                Some(Progress::More) => {}
                None => return Ok(None),
            }
        }
        if batch.has_finished(token.cluster_time()) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// What has been put together so far.
#[derive(Default)]
struct Whole {
    raw: RawDocumentBuf,
    fragments: i32,
}

enum Progress {
    More,
    Complete,
}

impl Whole {
    /// `None`: the fragment is not the next one, or too much.
    fn add(&mut self, fragment: &SourceEvent) -> Option<Progress> {
        let (number, of) = match fragment.raw.get_document("splitEvent") {
            Ok(split) => (split.get_i32("fragment").ok()?, split.get_i32("of").ok()?),
            // Small enough by now: a looked-up document has changed meanwhile.
            Err(_) => (1, 1),
        };
        let size = self.raw.as_bytes().len() + fragment.raw.as_bytes().len();
        if number != self.fragments + 1 || size > MOST_BYTES {
            return None;
        }
        self.fragments = number;
        for field in &fragment.raw {
            let (name, value) = field.ok()?;
            if name.as_str() != "splitEvent" && name.as_str() != "_id" {
                self.raw.append(name, value);
            }
        }
        Some(if number == of { Progress::Complete } else { Progress::More })
    }

    /// The event under its own token, which the fragments' tokens only begin with.
    fn event(mut self, token: &ResumeToken) -> SourceEvent {
        let mut id = RawDocumentBuf::new();
        id.append(cstr!("_data"), token.as_hex());
        self.raw.append(cstr!("_id"), id);
        SourceEvent { raw: self.raw, token: token.clone() }
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    fn token() -> ResumeToken {
        ResumeToken::from_hex("826565A1B2000000032B02").unwrap()
    }

    fn fragment(raw: RawDocumentBuf) -> SourceEvent {
        SourceEvent { raw, token: token() }
    }

    /// What comes of fragments; `None` when they do not make an event.
    #[track_caller]
    fn check(fragments: Vec<RawDocumentBuf>, expected: Option<&RawDocument>) {
        let mut whole = Whole::default();
        let mut last = None;
        for raw in fragments {
            last = whole.add(&fragment(raw));
        }
        let complete = matches!(last, Some(Progress::Complete));
        let event = complete.then(|| whole.event(&token()).raw);
        assert_eq!(event.as_deref(), expected);
    }

    #[test]
    fn fragments_make_one_event_without_a_trace_of_the_cutting() {
        let id = rawdoc! { "_data": token().as_hex() };
        let part = |n: i32, of: i32, field: &str| {
            let field = bson::raw::CString::try_from(field).unwrap();
            let mut part = rawdoc! { "_id": { "_data": "82F0" } };
            part.append(cstr!("splitEvent"), rawdoc! { "fragment": n, "of": of });
            part.append(field, n);
            part
        };
        let whole = rawdoc! { "a": 1, "b": 2, "_id": id.clone() };
        check(vec![part(1, 2, "a"), part(2, 2, "b")], Some(&whole));
        check(vec![rawdoc! { "_id": 1, "a": 1 }], Some(&rawdoc! { "a": 1, "_id": id }));
        check(vec![part(1, 2, "a")], None);
        check(vec![part(2, 2, "b")], None);
        check(vec![part(1, 3, "a"), part(3, 3, "b")], None);
    }
}
