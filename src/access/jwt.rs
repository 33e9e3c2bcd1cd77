//! Signed tokens: what is checked, and who they say is calling.

mod claims;
mod fetch;
mod key;
mod key_set;
#[cfg(test)]
mod samples;
mod sign;
#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "tables read better without borrows")]
mod tests;
mod verifier;

pub use self::fetch::{FetchError, KeySource};
pub(crate) use self::fetch::{HttpsClient, https_connector};
pub use self::key::{KeyError, VerifyingKey};
pub use self::sign::{SignError, sign_token};
pub use self::verifier::JwtVerifier;
pub(super) use self::verifier::looks_like_token;

/// Why a token does not prove anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenError {
    #[error("{0}")]
    Invalid(&'static str),
    /// Signed by the right key, and over: somebody came late, and guessed nothing.
    #[error("the token is expired")]
    Expired,
    /// The keys to check it with cannot be read.
    #[error("the key set cannot be read")]
    Unavailable,
}
