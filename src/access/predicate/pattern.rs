use fancy_regex::{Regex, RegexBuilder};

use super::error::PredicateProblem as Problem;

/// A regular expression that means here what it means to RESTHeart.
///
/// Permissions are written for Java's dialect. What the engine here would read differently is
/// translated where that is exact and refused where it is not, so that a permission never grants
/// something else than its author tried out.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    ignores_case: bool,
}

/// The engine gave up, or the text is of a kind on which the dialects differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Undecided;

/// Steps after which a match is given up: a pattern must not stall the service.
const MAX_STEPS: usize = 20_000;
/// Texts are paths and header values; longer ones are not looked at.
const MAX_TEXT: usize = 8 * 1024;
const MAX_PROGRAM: usize = 256 * 1024;

impl Pattern {
    pub(super) fn parse(java: &str, full: bool, sensitive: bool) -> Result<Self, Problem> {
        let (pattern, inline) = Translator::new(java).translate()?;
        let pattern = if full { format!(r"\A(?:{pattern})\z") } else { pattern };
        let regex = RegexBuilder::new(&pattern)
            .case_insensitive(!sensitive)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_PROGRAM)
            .max_prog_size(MAX_PROGRAM)
            .build()
            .map_err(|error| Problem::Pattern(format!("`{java}` cannot be used: {error}")))?;
        Ok(Self { regex, ignores_case: !sensitive || inline })
    }

    /// The groups of the first match, the whole match first.
    pub(super) fn captures<'t>(
        &self,
        text: &'t str,
    ) -> Result<Option<Vec<Option<&'t str>>>, Undecided> {
        // Java folds the case of ASCII letters only.
        if text.len() > MAX_TEXT || (self.ignores_case && !text.is_ascii()) {
            return Err(Undecided);
        }
        let captures = self.regex.captures(text).map_err(|_| Undecided)?;
        Ok(captures.map(|captures| {
            captures.iter().map(|group| group.map(|group| group.as_str())).collect()
        }))
    }
}

/// What ends a line in Java; `.` matches everything else.
const LINE_ENDS: &str = r"\n\r\x{85}\x{2028}\x{2029}";

struct Translator<'a> {
    java: &'a str,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// Character classes that are open.
    classes: usize,
    ignores_case: bool,
}

impl<'a> Translator<'a> {
    fn new(java: &'a str) -> Self {
        let rest = java.chars().peekable();
        Self { java, rest, out: String::new(), classes: 0, ignores_case: false }
    }

    /// The pattern for the engine here, and whether it ignores case somewhere.
    fn translate(mut self) -> Result<(String, bool), Problem> {
        while let Some(next) = self.rest.next() {
            match next {
                '\\' => self.escape()?,
                '[' => self.open_class()?,
                _ if self.classes > 0 => self.in_class(next)?,
                '(' => self.group()?,
                '.' => self.out.push_str(&format!("[^{LINE_ENDS}]")),
                '$' => self.out.push_str(&format!(r"(?=(?:\r\n|[{LINE_ENDS}])?\z)")),
                '{' if self.rest.peek() == Some(&',') => return self.refuse("{,"),
                _ => self.out.push(next),
            }
        }
        Ok((self.out, self.ignores_case))
    }

    fn escape(&mut self) -> Result<(), Problem> {
        let Some(escaped) = self.rest.next() else { return self.refuse("\\") };
        match escaped {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[a-zA-Z_0-9]"),
            'W' => self.out.push_str("[^a-zA-Z_0-9]"),
            's' => self.out.push_str(r"[ \t\n\x0B\f\r]"),
            'S' => self.out.push_str(r"[^ \t\n\x0B\f\r]"),
            't' | 'n' | 'r' | 'f' | 'a' => self.escaped(escaped),
            'b' | 'B' | 'A' | 'z' | '1'..='9' if self.classes == 0 => self.escaped(escaped),
            'k' if self.rest.peek() == Some(&'<') => self.escaped(escaped),
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            'p' | 'P' => self.property(escaped)?,
            _ if escaped.is_ascii_punctuation() => match escaped {
                // Escaped, these two are word boundaries to the engine here.
                '<' | '>' => self.out.push(escaped),
                _ => self.escaped(escaped),
            },
            _ => return self.refuse(&format!("\\{escaped}")),
        }
        Ok(())
    }

    fn escaped(&mut self, escaped: char) {
        self.out.push('\\');
        self.out.push(escaped);
    }

    fn hex(&mut self, digits: usize) -> Result<(), Problem> {
        let digits: String = self.rest.by_ref().take(digits).collect();
        if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return self.refuse("\\x or \\u");
        }
        self.out.push_str(&format!("\\x{{{digits}}}"));
        Ok(())
    }

    /// Only general categories, like `\p{L}` or `\p{Lu}`: names such as `\p{Alpha}` are of ASCII in
    /// one dialect and of Unicode in the other.
    fn property(&mut self, kind: char) -> Result<(), Problem> {
        let name: String = match self.rest.next_if_eq(&'{') {
            Some(_) => self.rest.by_ref().take_while(|c| *c != '}').collect(),
            None => self.rest.next().into_iter().collect(),
        };
        let mut letters = name.chars();
        let major = letters.next().is_some_and(|c| "LMNPSZC".contains(c));
        let minor = letters.next().is_none_or(|c| c.is_ascii_lowercase());
        if !major || !minor || letters.next().is_some() {
            return self.refuse(&format!("\\{kind}{{{name}}}"));
        }
        self.out.push_str(&format!("\\{kind}{{{name}}}"));
        Ok(())
    }

    fn open_class(&mut self) -> Result<(), Problem> {
        self.classes += 1;
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        match self.rest.peek() {
            Some(':') => self.refuse("[:"),
            Some(']') => self.refuse("[]"),
            _ => Ok(()),
        }
    }

    fn in_class(&mut self, next: char) -> Result<(), Problem> {
        match next {
            ']' => self.classes -= 1,
            '-' | '~' if self.rest.peek() == Some(&next) => {
                return self.refuse(&format!("{next}{next} in a class"));
            }
            _ => {}
        }
        self.out.push(next);
        Ok(())
    }

    fn group(&mut self) -> Result<(), Problem> {
        self.out.push('(');
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        let head: String = self.rest.clone().take(4).collect();
        let known = ["?:", "?=", "?!", "?>", "?<=", "?<!"].iter().any(|g| head.starts_with(g));
        let flag = ["?i)", "?i:", "?-i)", "?-i:"].iter().any(|g| head.starts_with(g));
        let name = head.strip_prefix("?<").and_then(|name| name.chars().next());
        self.ignores_case |= flag;
        match known || flag || name.is_some_and(|c| c.is_ascii_alphabetic()) {
            true => Ok(()),
            false => self.refuse(&format!("({head}")),
        }
    }

    fn refuse<T>(&self, what: &str) -> Result<T, Problem> {
        let java = self.java;
        let text = format!("`{java}` holds `{what}`, which is not supported; write it differently");
        Err(Problem::Pattern(text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Groups = Option<Vec<Option<&'static str>>>;

    fn check(pattern: &str, full: bool, text: &'static str, expected: Groups) {
        let parsed = Pattern::parse(pattern, full, true).unwrap();
        assert_eq!(parsed.captures(text), Ok(expected), "{pattern} on {text}");
    }

    #[test]
    fn finds_or_matches() {
        check("/u/(.*?)/.*", true, "/u/nora/x", Some(vec![Some("/u/nora/x"), Some("nora")]));
        check("/u/(.*?)/.*", true, "/x/u/nora/x", None);
        check("/u/(.*?)/.*", false, "/x/u/nora/x", Some(vec![Some("/u/nora/x"), Some("nora")]));
        check("(a)|(b)", false, "b", Some(vec![Some("b"), None, Some("b")]));
        check("^/a$", false, "/a", Some(vec![Some("/a")]));
        check("a|b", true, "ab", None);
    }

    #[test]
    fn reads_the_dialect_of_permissions() {
        let matched = Some(vec![Some("x7")]);
        check(r"(?<![a-z])x\d(?=$)", false, "x7", matched.clone());
        check(r"x\d", false, "x٣", None);
        check(r"[\w&&[^x]]", false, "x", None);
        check(r"[^\d]\d++", false, "x7", matched);
        check(r"(.)\1", false, "aa", Some(vec![Some("aa"), Some("a")]));
        check(r"(?<y>a)\k<y>", false, "aa", Some(vec![Some("aa"), Some("a")]));
        check(r"\p{Lu}\/\<\u0041\x41", false, "É/<AA", Some(vec![Some("É/<AA")]));
        check("a.b", false, "a\rb", None);
        check("a$", false, "a\n", Some(vec![Some("a")]));
    }

    #[test]
    fn refuses_what_reads_differently() {
        for pattern in [
            r"\p{Alpha}",
            r"\h",
            r"\v",
            r"\Qa\E",
            "[[:alpha:]]",
            "[a--b]",
            "(?s).",
            "(?x) a",
            "(?P<n>a)",
            "(?(1)a)",
            r"a\",
            "(",
            "[a",
            "a{,3}",
            r"\0101",
            r"\uZZZZ",
            "[]a]",
            r"\R",
        ] {
            assert!(Pattern::parse(pattern, false, true).is_err(), "{pattern}");
        }
    }

    #[test]
    fn gives_up_in_bounded_time() {
        let pattern = Pattern::parse(r"(a|a)*(?=b)c", false, true).unwrap();
        let text: String = "a".repeat(200);
        assert_eq!(pattern.captures(&text), Err(Undecided));
        assert_eq!(pattern.captures(&"a".repeat(MAX_TEXT + 1)), Err(Undecided));
        assert!(Pattern::parse("((a{500}){500}){500}", false, true).is_err());
    }

    #[test]
    fn any_size_is_answered() {
        for pattern in ["(".repeat(8000), "[".repeat(8000), "((?=a){1000}){1000}".to_owned()] {
            assert!(Pattern::parse(&pattern, false, true).is_err(), "{pattern:.20}");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_is_answered(pieces in prop::collection::vec(piece(), 0..12)) {
            if let Ok(pattern) = Pattern::parse(&pieces.concat(), true, true) {
                let _ = pattern.captures("/a/bb/é");
            }
        }
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a", "é", ".", "*", "+", "?", "|", "^", "$", "(", ")", "(?:", "(?=", "(?<!", "(?>",
            "(?i)", "[", "]", "[^", "-", "&&", "{2}", "{,", "\\d", "\\W", "\\b", "\\1", "\\p{L}",
            "\\", "/",
        ])
    }

    #[test]
    fn case_is_folded_for_ascii_only() {
        let pattern = Pattern::parse("/K", false, false).unwrap();
        assert_eq!(pattern.captures("/k").map(|c| c.is_some()), Ok(true));
        assert_eq!(pattern.captures("/\u{212a}"), Err(Undecided));
        let inline = Pattern::parse("(?i)/k", false, true).unwrap();
        assert_eq!(inline.captures("/\u{212a}"), Err(Undecided));
    }
}
