//! The regular expressions whose meaning does not depend on the server's regex library: literal
//! text, anywhere or at the start.

use super::error::MatchError;
use super::raw::text;
use super::value::Value;

/// `/abc/` or `/^abc/`.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: Box<str>,
    anchored: bool,
}

const META: &[char] =
    &['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', ']', '{', '}', '\0'];

impl Pattern {
    /// Nothing when the pattern is more than literal text.
    pub(crate) fn parse(source: &str, options: &str) -> Option<Self> {
        let literal = source.strip_prefix('^').unwrap_or(source);
        let plain = options.is_empty() && !literal.is_empty() && !literal.contains(META);
        plain.then(|| Self { source: source.into(), anchored: literal.len() < source.len() })
    }

    /// Whether the text contains the literal, or the value is this very pattern.
    pub(crate) fn holds(&self, value: &Value<'_>) -> Result<bool, MatchError> {
        match value {
            Value::Text(bytes) => text(bytes).map(|text| self.found_in(text)),
            Value::Regex(pattern, options) => {
                Ok(*pattern == self.source.as_bytes() && options.is_empty())
            }
            _ => Ok(false),
        }
    }

    fn found_in(&self, text: &str) -> bool {
        match self.source.strip_prefix('^') {
            Some(literal) if self.anchored => text.starts_with(literal),
            _ => text.contains(&*self.source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: Option<bool>) {
        let holds = Pattern::parse(pattern, "").map(|pattern| pattern.found_in(text));
        assert_eq!(holds, expected, "/{pattern}/ {text:?}");
    }

    #[test]
    fn accepts_literal_text_only() {
        check("b", "abc", Some(true));
        check("^b", "abc", Some(false));
        check("^b", "a\nb", Some(false));
        check("^a", "abc", Some(true));
        check("/é-", "x/é-", Some(true));
        for refused in ["", "^", "a$", "a.b", "(?i)a", "a|b", "[a]", "\\d", "a{2}", "a*", "^^a"] {
            check(refused, "", None);
        }
        assert!(Pattern::parse("a", "i").is_none());
    }
}
