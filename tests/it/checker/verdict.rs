//! What a client received against what was written: nothing lost, repeated, reordered or foreign.

use std::collections::HashMap;

/// One acknowledged write. Numbers rise in the order of the writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    pub(super) n: i64,
    pub(super) tag: char,
    /// A stage of the tagged streams fails on it.
    pub(super) poison: bool,
}

/// What a client is to be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wants {
    /// Writes of this tag; `None`: all, of a stream whose stages do not fail.
    pub(super) tag: Option<char>,
    /// Whether its transport has words for what was left out. A stage that fails leaves the tag unknown:
    /// everybody is told.
    pub(super) notices: bool,
    /// How many resets at most.
    pub(super) resets: usize,
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
    /// An event was left out.
    Skipped,
    /// Events may have been missed; writes from this number on had not begun when it was read.
    Reset { due: i64 },
    /// Anything else.
    Odd(String),
}

/// The ids of events: the same for everyone.
#[derive(Debug, Default)]
pub(super) struct Ids(HashMap<i64, String>);

/// Judges one client.
///
/// # Errors
/// The first thing that is wrong, and where.
pub(super) fn judge(
    journal: &[Write],
    wants: Wants,
    journey: &[Seen],
    ids: &mut Ids,
) -> Result<(), String> {
    let expected: Vec<_> = journal.iter().filter_map(|write| wants.of(write)).collect();
    let mut reader = Reader { expected: &expected, after: 0, latest: 0, resets: wants.resets };
    let mut resumed = false;
    for (at, seen) in journey.iter().enumerate() {
        let found = match seen {
            Seen::Began { due } => {
                reader.begin(*due);
                Ok(())
            }
            Seen::Resumed => Ok(()),
            Seen::Event { n, id } => reader.read(*n).and_then(|()| ids.check(*n, id.as_deref())),
            Seen::Skipped => reader.skip(),
            Seen::Reset { due } => reader.reset(*due, resumed),
            Seen::Odd(what) => Err(what.clone()),
        };
        let before = || &journey[at.saturating_sub(8)..=at];
        found.map_err(|error| format!("{error} (frame {at}: {:?})", before()))?;
        resumed = *seen == Seen::Resumed;
    }
    reader.end()
}

/// What a client is due for one write.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Due {
    Event,
    Notice,
}

impl Wants {
    fn of(self, write: &Write) -> Option<(i64, Due)> {
        let due = match self.tag {
            Some(_) if write.poison => self.notices.then_some(Due::Notice),
            Some(tag) => (write.tag == tag).then_some(Due::Event),
            None => Some(Due::Event),
        };
        Some((write.n, due?))
    }
}

/// A place in what is expected.
struct Reader<'a> {
    expected: &'a [(i64, Due)],
    /// How many of them were seen or may be missing.
    after: usize,
    /// The next one is this one at the latest; it differs from `after` only where a stream begins, at
    /// first or after a reset.
    latest: usize,
    /// How many more it may be told.
    resets: usize,
}

impl Reader<'_> {
    fn begin(&mut self, due: i64) {
        // What was committed just before may come once more: the cursor may not have come to it.
        (self.after, self.latest) = (0, self.first_from(due));
    }

    /// What was seen does not come again, and what was not may. Where the reset answers an id, that one
    /// stands for nothing any more.
    fn reset(&mut self, due: i64, resumed: bool) -> Result<(), String> {
        self.resets = self.resets.checked_sub(1).ok_or("a reset although nothing was lost")?;
        if resumed {
            self.after = 0;
        }
        self.latest = self.first_from(due).max(self.latest);
        Ok(())
    }

    fn first_from(&self, due: i64) -> usize {
        self.expected.partition_point(|(n, _)| *n < due)
    }

    fn read(&mut self, n: i64) -> Result<(), String> {
        let at = self.expected.binary_search_by_key(&n, |(n, _)| *n);
        let at = at.ok().filter(|at| self.expected[*at].1 == Due::Event);
        let at = at.ok_or_else(|| format!("{n} is foreign"))?;
        if at < self.after {
            return Err(format!("{n} is repeated or out of order"));
        }
        if at > self.latest {
            return Err(format!("{} is lost: {n} came instead", self.expected[self.latest].0));
        }
        (self.after, self.latest) = (at + 1, at + 1);
        Ok(())
    }

    /// A notice does not say of which write it is: where a stream begins it may be of several.
    fn skip(&mut self) -> Result<(), String> {
        let reach = (self.latest + 1).min(self.expected.len());
        let mut notices = (self.after..reach).filter(|at| self.expected[*at].1 == Due::Notice);
        let Some(first) = notices.next() else {
            return Err(format!("a notice of nothing, after {} of what is due", self.after));
        };
        (self.after, self.latest) = (first + 1, notices.next_back().unwrap_or(first) + 1);
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        // `latest` is further on only where the last stream began after the last write.
        let missing = &self.expected[self.latest..];
        let Some((first, _)) = missing.first() else { return Ok(()) };
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

    /// Writes 1 to 6, of which the even ones have the tag `e`, and those of `poison` fail.
    fn journal(poison: &[i64]) -> Vec<Write> {
        let tag_of = |n: i64| if n % 2 == 0 { 'e' } else { 'o' };
        let write = |n| Write { n, tag: tag_of(n), poison: poison.contains(&n) };
        (1..=6).map(write).collect()
    }

    #[track_caller]
    fn check(tag: Option<char>, seen: &[Seen], verdict: Result<(), &str>) {
        compare(&journal(&[]), Wants { tag, notices: true, resets: 1 }, seen, verdict);
    }

    #[track_caller]
    fn compare(journal: &[Write], wants: Wants, seen: &[Seen], verdict: Result<(), &str>) {
        match (judge(journal, wants, seen, &mut Ids::default()), verdict) {
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
        check(None, &[Seen::Odd("odd".to_owned())], Err("odd"));
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
    fn a_reset_excuses_what_was_written_before_it_and_nothing_else() {
        let reset = |due| Seen::Reset { due };
        let after = |resets: &[Seen], rest: &[i64]| {
            let rest = rest.iter().map(|n| Seen::Event { n: *n, id: None }).collect();
            [events(&[1, 2]), resets.to_vec(), rest].concat()
        };
        check(None, &after(&[reset(5)], &[5, 6]), Ok(()));
        check(None, &after(&[reset(5)], &[3, 4, 5, 6]), Ok(()));
        check(None, &after(&[reset(7)], &[]), Ok(()));
        check(None, &after(&[reset(5)], &[6]), Err("5 is lost"));
        check(None, &after(&[reset(5)], &[4, 6]), Err("5 is lost"));
        check(None, &after(&[reset(5)], &[2, 3, 4, 5, 6]), Err("2 is repeated"));
        check(None, &after(&[reset(1)], &[4, 5, 6]), Err("3 is lost"));
        check(None, &after(&[reset(3), reset(5)], &[5, 6]), Err("a reset although"));
        check(None, &after(&[Seen::Resumed, reset(5)], &[2, 3, 4, 5, 6]), Ok(()));
        check(None, &after(&[Seen::Resumed, reset(5)], &[2, 4, 5, 6]), Err("3 is lost"));
    }

    #[test]
    fn a_notice_stands_for_the_write_that_failed() {
        let told = Wants { tag: Some('e'), notices: true, resets: 1 };
        let event = |n| Seen::Event { n, id: None };
        let began = |due| Seen::Began { due };
        let (notice, reset) = (Seen::Skipped, Seen::Reset { due: 4 });
        let check = |wants, seen: &[Seen], verdict| {
            compare(&journal(&[3, 4]), wants, seen, verdict);
        };
        let both = [began(1), event(2), notice.clone(), notice.clone(), event(6)];
        check(told, &both, Ok(()));
        check(
            told,
            &[&both[..4], &[notice.clone(), event(6)]].concat(),
            Err("a notice of nothing"),
        );
        check(told, &[began(1), event(2), notice.clone(), event(6)], Err("4 is lost"));
        check(told, &[began(1), notice.clone(), event(2)], Err("a notice of nothing"));
        check(told, &[began(1), event(2), event(4)], Err("4 is foreign"));
        // Of which of the two it is cannot be told.
        check(told, &[began(1), event(2), reset, notice.clone(), event(6)], Ok(()));
        check(told, &[began(4), notice.clone(), event(6)], Ok(()));
        check(told, &[began(3), event(6)], Err("3 is lost"));
        // A stream without the stage shows the event; a transport without words is told nothing.
        let plain = Wants { notices: false, ..told };
        check(plain, &[began(1), event(2), event(6)], Ok(()));
        check(plain, &[began(1), event(2), notice], Err("a notice of nothing"));
        let all = Wants { tag: None, ..told };
        check(all, &events(&[1, 2, 3, 4, 5, 6]), Ok(()));
    }

    #[test]
    fn an_event_has_one_id() {
        let one = |id: &str| vec![Seen::Event { n: 1, id: Some(id.to_owned()) }];
        let journal = [Write { n: 1, tag: 'a', poison: false }];
        let wants = Wants { tag: None, notices: true, resets: 0 };
        let mut ids = Ids::default();
        assert_eq!(judge(&journal, wants, &one("x"), &mut ids), Ok(()));
        assert_eq!(judge(&journal, wants, &one("x"), &mut ids), Ok(()));
        assert!(judge(&journal, wants, &one("y"), &mut ids).is_err());
    }
}
