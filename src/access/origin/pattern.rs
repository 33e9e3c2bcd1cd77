/// An origin with `*` for any characters, dots and slashes included; everything else is literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OriginPattern {
    parts: Vec<String>,
}

impl OriginPattern {
    pub(super) fn new(pattern: &str) -> Self {
        Self { parts: pattern.split('*').map(str::to_owned).collect() }
    }

    pub(super) fn matches(&self, origin: &str) -> bool {
        let [first, middle @ .., last] = self.parts.as_slice() else {
            return self.parts.first().is_some_and(|whole| whole == origin);
        };
        let Some(mut rest) = origin.strip_prefix(first.as_str()) else { return false };
        // The earliest place for each part leaves the most for the others.
        for part in middle {
            match rest.find(part.as_str()) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
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
    }
}
