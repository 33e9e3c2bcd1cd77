use crate::change::{Position, ResumeToken};

/// Where a member wants to begin.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// After the event that a position names; which one that is has to be found first.
    Event(Position),
    /// With the event that a position names.
    Within(Position),
    /// After a token, whether or not an event bears it.
    Token(ResumeToken),
    /// After the event that ended the collection.
    Invalidate(ResumeToken),
}

impl Origin {
    /// The position whose event has to be found.
    pub(super) fn event(&self) -> Option<Position> {
        match self {
            Self::Event(position) | Self::Within(position) => Some(*position),
            Self::Token(_) | Self::Invalidate(_) => None,
        }
    }

    /// Nothing that the member wants lies before it.
    pub(super) fn earliest(&self) -> ResumeToken {
        match self {
            Self::Event(position) | Self::Within(position) => ResumeToken::before(position.time),
            Self::Token(token) | Self::Invalidate(token) => token.clone(),
        }
    }
}
