//! What a client received against what was written: nothing lost, repeated, reordered or foreign.

use std::collections::HashMap;

/// One acknowledged write. Numbers rise in the order of the writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    pub(super) n: i64,
    pub(super) tag: char,
}

/// What a client saw.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    /// A stream began without an id, or went on after a gap that the client was told of: writes from
    /// this number on are due.
    Began { due: i64 },
    /// A stream began with an id.
    Resumed,
    Event {
        n: i64,
        /// Absent where the transport has none.
        id: Option<String>,
    },
    /// Anything that has no place in a run in which MongoDB forgets nothing.
    Odd(String),
}

/// The ids of events: the same for everyone.
#[derive(Debug, Default)]
pub(super) struct Ids(HashMap<i64, String>);

/// Judges one client, which asked for writes of one tag, or for all.
///
/// # Errors
/// The first thing that is wrong, and where.
pub(super) fn judge(
    journal: &[Write],
    tag: Option<char>,
    seen: &[Seen],
    ids: &mut Ids,
) -> Result<(), String> {
    let wanted = |write: &&Write| tag.is_none_or(|tag| write.tag == tag);
    let expected: Vec<i64> = journal.iter().filter(wanted).map(|write| write.n).collect();
    let mut reader = Reader { expected: &expected, after: 0, latest: 0 };
    for (at, seen) in seen.iter().enumerate() {
        let found = match seen {
            Seen::Began { due } => reader.begin(*due),
            Seen::Resumed => Ok(()),
            Seen::Event { n, id } => reader.read(*n).and_then(|()| ids.check(*n, id.as_deref())),
            Seen::Odd(what) => Err(what.clone()),
        };
        found.map_err(|error| format!("{error} (frame {at})"))?;
    }
    reader.end()
}

/// A place in the expected numbers.
struct Reader<'a> {
    expected: &'a [i64],
    /// How many of them were seen or, at the beginning, may be missing.
    after: usize,
    /// The next one is this one at the latest; it differs from `after` only where a stream begins.
    latest: usize,
}

impl Reader<'_> {
    fn begin(&mut self, due: i64) -> Result<(), String> {
        // What was committed just before may come once more: the cursor may not have come to it.
        (self.after, self.latest) = (0, self.expected.partition_point(|n| *n < due));
        Ok(())
    }

    fn read(&mut self, n: i64) -> Result<(), String> {
        let at = self.expected.binary_search(&n).map_err(|_| format!("{n} is foreign"))?;
        if at < self.after {
            return Err(format!("{n} is repeated or out of order"));
        }
        if at > self.latest {
            return Err(format!("{} is lost: {n} came instead", self.expected[self.latest]));
        }
        (self.after, self.latest) = (at + 1, at + 1);
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        // `latest` is further on only where the last stream began after the last write.
        let missing = &self.expected[self.latest..];
        let Some(first) = missing.first() else { return Ok(()) };
        Err(format!("{first} and what follows is lost: {} writes", missing.len()))
    }
}

impl Ids {
    fn check(&mut self, n: i64, id: Option<&str>) -> Result<(), String> {
        let Some(id) = id else { return Ok(()) };
        let known = self.0.entry(n).or_insert_with(|| id.to_owned());
        if known == id { Ok(()) } else { Err(format!("{n} has the ids {known} and {id}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes 1 to 6, of which the even ones have the tag `e`.
    #[track_caller]
    fn check(tag: Option<char>, seen: &[Seen], verdict: Result<(), &str>) {
        let tag_of = |n: i64| if n % 2 == 0 { 'e' } else { 'o' };
        let journal: Vec<_> = (1..=6).map(|n| Write { n, tag: tag_of(n) }).collect();
        let found = judge(&journal, tag, seen, &mut Ids::default());
        match (found, verdict) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{found}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    fn events(numbers: &[i64]) -> Vec<Seen> {
        let mut seen = vec![Seen::Began { due: 1 }];
        seen.extend(numbers.iter().map(|n| Seen::Event { n: *n, id: None }));
        seen
    }

    #[test]
    fn every_kind_of_loss_is_found() {
        check(None, &events(&[1, 2, 3, 4, 5, 6]), Ok(()));
        check(Some('e'), &events(&[2, 4, 6]), Ok(()));
        check(None, &events(&[1, 2, 4, 5, 6]), Err("3 is lost: 4 came instead"));
        check(None, &events(&[2, 3, 4, 5, 6]), Err("1 is lost: 2 came instead"));
        check(None, &events(&[1, 2, 3, 4]), Err("5 and what follows is lost: 2 writes"));
        check(None, &events(&[1, 2, 2, 3, 4, 5, 6]), Err("2 is repeated"));
        check(None, &events(&[1, 3, 2, 4, 5, 6]), Err("2 is lost"));
        check(Some('e'), &events(&[2, 3, 4, 6]), Err("3 is foreign"));
        check(None, &events(&[1, 2, 3, 4, 5, 6, 7]), Err("7 is foreign"));
        check(None, &[Seen::Odd("reset".to_owned())], Err("reset"));
    }

    #[test]
    fn a_gap_is_forgiven_where_a_stream_begins_and_nowhere_else() {
        let with = |middle: Seen, rest: &[i64]| {
            let mut seen = events(&[1, 2]);
            seen.push(middle);
            seen.extend(rest.iter().map(|n| Seen::Event { n: *n, id: None }));
            seen
        };
        check(None, &with(Seen::Began { due: 5 }, &[5, 6]), Ok(()));
        check(None, &with(Seen::Began { due: 5 }, &[4, 5, 6]), Ok(()));
        check(None, &with(Seen::Began { due: 5 }, &[6]), Err("5 is lost"));
        check(None, &with(Seen::Began { due: 5 }, &[2, 3, 4, 5, 6]), Ok(()));
        check(None, &with(Seen::Began { due: 5 }, &[2, 3, 5]), Err("4 is lost"));
        check(None, &with(Seen::Resumed, &[3, 4, 5, 6]), Ok(()));
        check(None, &with(Seen::Resumed, &[4, 5, 6]), Err("3 is lost"));
    }

    #[test]
    fn an_event_has_one_id() {
        let one = |id: &str| vec![Seen::Event { n: 1, id: Some(id.to_owned()) }];
        let journal = [Write { n: 1, tag: 'a' }];
        let mut ids = Ids::default();
        assert_eq!(judge(&journal, None, &one("x"), &mut ids), Ok(()));
        assert_eq!(judge(&journal, None, &one("x"), &mut ids), Ok(()));
        assert!(judge(&journal, None, &one("y"), &mut ids).is_err());
    }
}
