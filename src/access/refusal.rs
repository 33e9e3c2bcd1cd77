use std::time::Duration;

/// Why nobody is let in. The text says nothing about the credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The credential does not hold: `401`, with these values for `WWW-Authenticate`.
    #[error("the credential does not hold")]
    Unauthorized { challenges: Vec<String> },
    /// Too many failures from this address, or for this user: `429`, whatever is presented.
    #[error("too many failed attempts")]
    TooManyAttempts { retry_after: Duration },
    /// Users or keys cannot be read, or too many passwords wait to be checked: `503`.
    #[error("credentials cannot be checked now")]
    Unavailable { retry_after: Duration },
}

impl Refusal {
    pub fn status(&self) -> u16 {
        match self {
            Self::Unauthorized { .. } => 401,
            Self::TooManyAttempts { .. } => 429,
            Self::Unavailable { .. } => 503,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unauthorized { .. } => None,
            Self::TooManyAttempts { retry_after } | Self::Unavailable { retry_after } => {
                Some(*retry_after)
            }
        }
    }
}

/// Why a credential proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    Invalid,
    /// It did hold once, so nobody is guessing.
    Expired,
    TooMany(Duration),
    Unavailable,
}
