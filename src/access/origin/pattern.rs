use fancy_regex::{Regex, RegexBuilder};

/// An origin as RESTHeart writes patterns: `*` stands for any characters, dots and slashes included, a dot
/// for itself, and everything else is as in regular expressions.
#[derive(Debug, Clone)]
pub(super) struct OriginPattern(Option<Regex>);

/// Steps after which a match is given up.
const MAX_STEPS: usize = 20_000;

/// Longer origins are no origins.
const MAX_TEXT: usize = 1024;

impl OriginPattern {
    /// One that cannot be read lets nothing in.
    pub(super) fn new(pattern: &str) -> Self {
        let translated: String = pattern.chars().map(translate).collect();
        let regex = RegexBuilder::new(&format!(r"\A(?:{translated})\z"))
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(1 << 20)
            .build();
        if let Err(error) = &regex {
            tracing::warn!(pattern, %error, "a pattern of `auth.origins.patterns` lets nothing in");
        }
        Self(regex.ok())
    }

    pub(super) fn matches(&self, origin: &str) -> bool {
        let Some(regex) = self.0.as_ref().filter(|_| origin.len() <= MAX_TEXT) else {
            return false;
        };
        regex.is_match(origin).unwrap_or(false)
    }
}

fn translate(c: char) -> String {
    match c {
        '*' => ".*".to_owned(),
        '.' => r"\.".to_owned(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let check = |pattern: &str, origin: &str, expected: bool| {
            assert_eq!(OriginPattern::new(pattern).matches(origin), expected, "{pattern} {origin}");
        };
        check("https://*.acme.test", "https://a.acme.test", true);
        check("https://*.acme.test", "https://a.b.acme.test", true);
        check("https://*.acme.test", "https://acme.test", false);
        check("https://*.acme.test", "https://a.acme.test.evil", false);
        check("https://*.acme.test", "https://aXacme.test", false);
        check("https://acme.test", "https://acme.test", true);
        check("https://acme.test", "https://acme.testx", false);
        check("http://localhost:*", "http://localhost:3000", true);
        check("*://a.*.b", "x://a.1.b", true);
        check("aa*aa", "aaa", false);
        check("https://(a|b).acme.test", "https://b.acme.test", true);
        check("https://(a|b).acme.test", "https://c.acme.test", false);
        check("http://localhost:[0-9]+", "http://localhost:3000", true);
        check("http://localhost:[0-9]+", "http://localhost:x", false);
        check("https://(acme.test", "https://(acme.test", false);
        check("https://acme.test|x", "x", true);
        check("https://acme.test|x", "xy", false);
    }
}
