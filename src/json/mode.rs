//! The `jsonMode` query parameter.

/// How BSON types that JSON lacks are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JsonMode {
    /// No `jsonMode` given: [`JsonMode::Relaxed`], but every date is a number of milliseconds
    /// since the epoch.
    #[default]
    Default,
    /// Extended JSON v2, relaxed: plain numbers, dates as ISO 8601 text.
    Relaxed,
    /// Extended JSON v2, canonical: every type survives, also in JavaScript.
    Extended,
    /// The legacy strict form: plain numbers except 64-bit integers.
    Strict,
    /// The shell's notation, which is not JSON.
    Shell,
}

const NAMES: [(&str, JsonMode); 4] = [
    ("STRICT", JsonMode::Strict),
    ("RELAXED", JsonMode::Relaxed),
    ("EXTENDED", JsonMode::Extended),
    ("SHELL", JsonMode::Shell),
];

impl JsonMode {
    /// The mode that the `jsonMode` query parameter asks for, in any letter case; absent means
    /// [`JsonMode::Default`].
    ///
    /// # Errors
    /// [`UnknownMode`] for any other text, the empty text included.
    pub fn from_query(given: Option<&str>) -> Result<Self, UnknownMode> {
        let Some(given) = given else { return Ok(Self::Default) };
        let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(given));
        known.map(|(_, mode)| *mode).ok_or_else(|| UnknownMode::new(given))
    }
}

/// A `jsonMode` that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown jsonMode '{given}', use STRICT, RELAXED, EXTENDED or SHELL")]
pub struct UnknownMode {
    /// What was asked for, cut to 32 characters.
    pub given: String,
}

impl UnknownMode {
    fn new(given: &str) -> Self {
        Self { given: given.chars().take(32).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_letter_case_names_a_mode() {
        let cases = [
            (None, JsonMode::Default),
            (Some("relaxed"), JsonMode::Relaxed),
            (Some("Extended"), JsonMode::Extended),
            (Some("STRICT"), JsonMode::Strict),
            (Some("sHeLL"), JsonMode::Shell),
        ];
        for (given, mode) in cases {
            assert_eq!(JsonMode::from_query(given), Ok(mode), "{given:?}");
        }
    }

    #[test]
    fn another_mode_is_refused_with_the_list() {
        for given in ["", "default", "json", " strict", "ſtrict"] {
            let message = JsonMode::from_query(Some(given)).unwrap_err().to_string();
            let wanted =
                format!("unknown jsonMode '{given}', use STRICT, RELAXED, EXTENDED or SHELL");
            assert_eq!(message, wanted);
        }
        let long = "x".repeat(1000);
        assert_eq!(JsonMode::from_query(Some(&long)).unwrap_err().given.len(), 32);
    }
}
