//! Strings in either quotes, and regular expressions between slashes.

use bson::Bson;

use super::convert;
use super::error::{JsonReadError, Problem};
use super::scan::Scanner;

impl Scanner<'_> {
    /// A string, which ends with the quote that began it.
    pub(super) fn string(&mut self) -> Result<String, JsonReadError> {
        let quote = self.bump().unwrap_or('"');
        let mut string = String::new();
        loop {
            string.push_str(self.run(|character| character != quote && character != '\\'));
            match self.bump() {
                Some('\\') => string.push(self.escape()?),
                Some(_) => return Ok(string),
                None => return Err(self.expected("a closing quote")),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, JsonReadError> {
        let character = match self.rest().chars().next() {
            Some(itself @ ('"' | '\'' | '\\' | '/')) => itself,
            Some('b') => '\u{8}',
            Some('f') => '\u{C}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(),
            _ => return Err(self.expected("an escape")),
        };
        self.bump();
        Ok(character)
    }

    /// One `\uXXXX`, or two that are a surrogate pair. BSON text cannot hold half a pair.
    fn unicode(&mut self) -> Result<char, JsonReadError> {
        let start = self.offset();
        let mut units = vec![self.code_unit()?];
        if matches!(units[..], [0xD800..=0xDBFF]) && self.rest().starts_with("\\u") {
            self.bump();
            units.push(self.code_unit()?);
        }
        let character = char::decode_utf16(units).next().and_then(Result::ok);
        let problem = || Problem::expected("a surrogate pair", "half of one");
        character.ok_or_else(|| self.error_at(start, problem()))
    }

    /// The `u` and its four digits.
    fn code_unit(&mut self) -> Result<u16, JsonReadError> {
        self.bump();
        let digits = self.rest().get(..4).unwrap_or_default();
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.expected("four hex digits"));
        }
        self.skip(digits.len());
        u16::from_str_radix(digits, 16).map_err(|_| self.expected("four hex digits"))
    }

    /// `/pattern/options`. `\/` stands for a slash; every other escape is the pattern's own.
    pub(super) fn regex(&mut self) -> Result<Bson, JsonReadError> {
        let start = self.offset();
        self.bump();
        let mut pattern = String::new();
        loop {
            pattern.push_str(self.run(|character| character != '/' && character != '\\'));
            match (self.bump(), self.rest().chars().next()) {
                (Some('/'), _) => break,
                (Some('\\'), Some(escaped)) => {
                    if escaped != '/' {
                        pattern.push('\\');
                    }
                    pattern.push(escaped);
                    self.bump();
                }
                _ => return Err(self.expected("a closing slash")),
            }
        }
        let options = self.run(|character| "imxslu".contains(character));
        self.boundary()?;
        convert::regex(&pattern, options).ok_or_else(|| self.error_at(start, Problem::Nul))
    }
}
