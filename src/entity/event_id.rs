//! Ids of entity events: `evt-<position>`, and `evt-<position>~1`, … when one change is several
//! events.

use std::fmt;

/// The id of an entity event, taken apart. The position is as opaque here as it is to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId<'a> {
    /// The id of the change's position, see [`PositionId`](crate::change::PositionId).
    pub position: &'a str,
    /// Which of the change's events, from zero. A client that comes back with it has those up to
    /// here, and is still owed the later ones of the same change.
    pub ordinal: u32,
}

/// Text that is no id of an entity event. Answered with `reset`, as every id that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event id is malformed")]
pub struct EventIdError;

/// Longest position that is looked at; whether it is one is for its key to say.
const MAX_POSITION: usize = 64;

impl<'a> EventId<'a> {
    /// Takes an id apart.
    ///
    /// # Errors
    /// It does not have the form of one.
    pub fn parse(id: &'a str) -> Result<Self, EventIdError> {
        let rest = id.strip_prefix("evt-").ok_or(EventIdError)?;
        let (position, ordinal) = match rest.split_once('~') {
            None => (rest, 0),
            Some((position, digits)) => (position, ordinal(digits).ok_or(EventIdError)?),
        };
        let letters = position.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let well_formed = (1..=MAX_POSITION).contains(&position.len()) && letters;
        if well_formed { Ok(Self { position, ordinal }) } else { Err(EventIdError) }
    }
}

impl fmt::Display for EventId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "evt-{}", self.position)?;
        match self.ordinal {
            0 => Ok(()),
            ordinal => write!(f, "~{ordinal}"),
        }
    }
}

/// Written as we write it: no sign, no leading zero, and never `~0`.
fn ordinal(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    if plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_apart_and_written_the_same() {
        for (id, position, ordinal) in [
            ("evt-AZ09_-x", "AZ09_-x", 0),
            ("evt-evt-x", "evt-x", 0),
            ("evt-x~1", "x", 1),
            ("evt-x~4294967295", "x", u32::MAX),
        ] {
            assert_eq!(EventId::parse(id), Ok(EventId { position, ordinal }), "{id}");
            assert_eq!(EventId { position, ordinal }.to_string(), id);
        }
    }

    #[test]
    fn other_text_is_no_id() {
        let long = format!("evt-{}", "x".repeat(65));
        for id in [
            "",
            "evt",
            "evt-",
            "evt-~1",
            "x",
            "EVT-x",
            "evt-x~",
            "evt-x~0",
            "evt-x~01",
            "evt-x~+1",
            "evt-x~-1",
            "evt-x~1~2",
            "evt-x~4294967296",
            "evt-x y",
            "evt-caf\u{e9}",
            "evt-x\n",
            "evt-1749728461000000000.5",
            long.as_str(),
        ] {
            assert_eq!(EventId::parse(id), Err(EventIdError), "{id}");
        }
    }
}
