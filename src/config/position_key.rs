use std::fmt;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::secret::REDACTED;
use super::settings::Settings;

const KEY: &str = "position_key";
const SHORTEST: usize = 16;
const RECOMMENDED: usize = 32;

/// The key that signs event ids; the same on every replica of a deployment.
#[derive(Clone, PartialEq, Eq)]
pub struct PositionKey(Vec<u8>);

impl PositionKey {
    /// Reads hex or base64 (either alphabet, padded or not) of at least 16 bytes. What can be read
    /// as hex is hex.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bytes =
            from_hex(text).or_else(|| from_base64(text)).ok_or("is neither hex nor base64")?;
        if bytes.len() < SHORTEST {
            let length = bytes.len();
            return Err(format!(
                "holds {length} bytes; it must hold at least {SHORTEST}, better {RECOMMENDED} \
                 (`openssl rand -hex 32` makes one)"
            ));
        }
        Ok(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn read(settings: &mut Settings) -> Option<Self> {
        let secret = settings.secret(KEY)?;
        match Self::parse(secret.expose()) {
            Ok(key) => {
                key.advise(settings);
                Some(key)
            }
            Err(reason) => {
                let file = settings.is_set("position_key_file");
                settings.refuse_set(if file { "position_key_file" } else { KEY }, reason);
                None
            }
        }
    }

    fn advise(&self, settings: &mut Settings) {
        let length = self.0.len();
        if length < RECOMMENDED {
            settings.warn(format!("{KEY} holds {length} bytes; {RECOMMENDED} are recommended"));
        }
    }
}

impl fmt::Debug for PositionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.is_empty()
        || !text.len().is_multiple_of(2)
        || !text.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return None;
    }
    let byte = |start: usize| u8::from_str_radix(text.get(start..start + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    [&STANDARD, &URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, lenient).decode(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hex_and_base64() {
        let check = |text: &str, length: usize, first: u8| {
            let key = PositionKey::parse(text).unwrap();
            assert_eq!((key.as_bytes().len(), key.as_bytes()[0]), (length, first), "{text}");
        };
        check(&"0a".repeat(32), 32, 10);
        check(&"FF".repeat(16), 16, 255);
        check("AAECAwQFBgcICQoLDA0ODw==", 16, 0);
        check("AAECAwQFBgcICQoLDA0ODw", 16, 0);
        check("-_-_-_-_-_-_-_-_-_-_-w", 16, 0xfb);
        check("+/+/+/+/+/+/+/+/+/+/+w==\n", 16, 0xfb);
    }

    #[test]
    fn refuses_what_is_short_or_neither() {
        let check = |text: &str, expected: &str| {
            let reason = PositionKey::parse(text).unwrap_err();
            assert!(reason.contains(expected), "{text}: {reason}");
        };
        check("", "0 bytes");
        check("not a key!", "neither");
        check(&"0a".repeat(15), "15 bytes");
        check("c2hvcnQ=", "5 bytes");
    }

    #[test]
    fn is_never_printed() {
        assert_eq!(format!("{:?}", PositionKey::parse(&"0a".repeat(16)).unwrap()), "***");
    }
}
