//! MongoDB's resume token. It stays inside the service: it spells the document's `_id` in the clear.

use std::{fmt, sync::Arc};

use bson::RawDocument;

use super::ClusterTime;

/// A resume token's `_data`: hexadecimal text whose order is the order of events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResumeToken(Arc<str>);

/// Tokens of every server since 4.0.7 start with the type byte of a timestamp.
const TIMESTAMP_PREFIX: &str = "82";

/// The type byte and the eight bytes of the timestamp, two digits a byte.
const TIME_DIGITS: usize = 18;

/// Longest `_data` accepted from outside. A document key of 1 KB gives about 2,500 digits; MongoDB's own word
/// has no bound but that of a document.
const MAX_DIGITS: usize = 16 * 1024;

impl ResumeToken {
    /// Reads `{_data: "<hex>"}`, the form of an event's `_id` and of a batch's token.
    pub fn from_document(document: &RawDocument) -> Option<Self> {
        Self::read(document.get_str("_data").ok()?)
    }

    /// Accepts hexadecimal text that starts as a token does, from anybody.
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() <= MAX_DIGITS { Self::read(text) } else { None }
    }

    fn read(text: &str) -> Option<Self> {
        let well_formed = text.len() >= TIME_DIGITS
            && text.starts_with(TIMESTAMP_PREFIX)
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        well_formed.then(|| Self(text.into()))
    }

    /// A token that sorts before every event of `time` and after every event before it.
    pub fn before(time: ClusterTime) -> Self {
        Self(format!("{TIMESTAMP_PREFIX}{:016X}", time.to_bits()).into())
    }

    /// A token that sorts before this one and after every event before it: tokens end with a mark of
    /// their own, so none is the beginning of another.
    pub fn just_before(&self) -> Self {
        Self(self.0.get(..self.0.len() - 1).unwrap_or_default().into())
    }

    /// The cluster time that the token starts with.
    pub fn cluster_time(&self) -> ClusterTime {
        let bits = self.0.get(2..TIME_DIGITS).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        ClusterTime::from_bits(bits.unwrap_or_default())
    }

    /// The hexadecimal text.
    pub fn as_hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResumeToken {
    /// Shows the time only: the rest spells the document's `_id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResumeToken({:?})", self.cluster_time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: u64, increment: u64) -> ClusterTime {
        ClusterTime::from_bits((seconds << 32) | increment)
    }

    #[test]
    fn a_token_tells_its_time() {
        let token = ResumeToken::from_hex("826565A1B2000000032B022C0100296E5A1004").unwrap();
        assert_eq!(token.cluster_time(), time(0x6565_A1B2, 3));
    }

    #[test]
    fn a_bound_sorts_between_the_events_of_two_times() {
        let of = |t: ClusterTime| format!("82{:016X}2B022C", t.to_bits());
        let (early, late) = (time(7, 1), time(7, 2));
        let bound = ResumeToken::before(late);
        assert!(ResumeToken::from_hex(&of(early)).unwrap() < bound);
        assert!(bound < ResumeToken::from_hex(&of(late)).unwrap());
        assert_eq!(bound.cluster_time(), late);
    }

    #[test]
    fn just_before_a_token_is_after_its_elder_sibling() {
        let of = |index: u8| {
            let hex = format!("826565A1B2000000032B02{index:02X}0100296E5A100446645F69640004");
            ResumeToken::from_hex(&hex).unwrap()
        };
        for index in 1..16 {
            let bound = of(index).just_before();
            assert!(of(index - 1) < bound && bound < of(index), "{index}");
            assert_eq!(bound.cluster_time(), of(index).cluster_time());
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in
            ["", "82", "zz6565A1B200000003", "806565A1B200000003", "826565A1B20000000\u{e9}"]
        {
            assert_eq!(ResumeToken::from_hex(text), None, "{text}");
        }
        assert_eq!(ResumeToken::from_hex(&"82".repeat(MAX_DIGITS)), None);
    }
}
